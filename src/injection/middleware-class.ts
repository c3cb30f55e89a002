import type { Next } from 'koa'
import type { Context, Hooks, Middleware } from '../context.js'
import { DeclarationError } from '../errors.js'

/**
 * A middleware that is a class, so that its constructor can receive dependencies. Each request has its own instance.
 *
 * @example
 * \@injectable()
 * export class Audit implements MiddlewareClass {
 *   constructor(private readonly log: AuditLog) {}
 *
 *   async handle(ctx: Context, next: Next) {
 *     await next()
 *     this.log.add(ctx.method, ctx.path)
 *   }
 * }
 *
 * app.use(Audit)
 */
export interface MiddlewareClass {
  /** Runs around the handler, which `next` calls. */
  handle(ctx: Context, next: Next): unknown
}

/** The hooks that a middleware class declares as static properties. */
export const hookNames = [
  'beforeBody',
  'guardsFiles',
  'needsSession',
  'needsSecret',
  'callsAgain',
  'setsUser',
  'recognizesKeys',
  'openapi',
  'contextMembers',
  'start',
  'checkRoutes',
  'listening',
  'check',
  'finish',
  'stop',
  'begin',
  'aroundJob',
  'background',
  'injects',
  'factory',
] as const satisfies readonly (keyof Hooks)[]

/** A class whose instances are middleware. */
// tsyringe calls the constructor with the dependencies it resolves, of any type.
// oxlint-disable-next-line no-explicit-any
export type MiddlewareConstructor = new (...dependencies: any[]) => MiddlewareClass

/** Everything that `app.use` and `@Use` accept. */
export type AnyMiddleware = Middleware | MiddlewareConstructor

/**
 * Checks the arguments of `app.use` or `@Use`.
 *
 * @param caller the name of the function, for messages: `app.use`
 * @throws DeclarationError when an argument is neither a function nor a middleware class
 */
export function checkMiddleware(
  caller: string,
  values: readonly unknown[],
): asserts values is AnyMiddleware[] {
  for (const value of values) {
    if (typeof value !== 'function') {
      throw new DeclarationError(
        `${caller} expects middleware functions or classes, not ${describeValue(value)}`,
      )
    }
    if (!isMiddlewareClass(value) || typeof value.prototype.handle === 'function') continue
    throw new DeclarationError(
      `${caller} received the class ${value.name}, which isn't middleware, because it has no method "handle". ` +
        'Pass a function or a class with the method "handle(ctx: Context, next: Next)".',
    )
  }
}

/**
 * Whether a checked middleware is a class. The `prototype` property is read-only in classes, writable in functions, and missing
 * in arrow functions and methods.
 */
export function isMiddlewareClass(middleware: Function): middleware is MiddlewareConstructor {
  return Object.getOwnPropertyDescriptor(middleware, 'prototype')?.writable === false
}

function describeValue(value: unknown): string {
  if (typeof value !== 'object' || value === null) return `${String(value)}.`
  if (!('handle' in value)) return 'an object.'
  return `an instance of ${value.constructor.name}. Pass the class itself, so that each request has an instance.`
}
