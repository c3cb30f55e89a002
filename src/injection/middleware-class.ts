import type { Next } from 'koa'
import type { Context, Extension, Middleware, MiddlewareOptions } from '../context.js'
import { DeclarationError } from '../errors.js'

/**
 * A middleware that is a class, so that its constructor can receive dependencies. Each request has its own
 * instance.
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

/** The properties that a middleware class declares as static members. */
export const middlewareOptions = [
  'beforeBody',
  'guardsFiles',
  'needsSession',
  'callsAgain',
  'openapi',
  'extension',
] as const satisfies readonly (keyof MiddlewareOptions)[]

/** The classes of the functions that `Injector.toFunction` has made. */
export const classOfMiddleware = new WeakMap<Middleware, Function>()

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
 * Checks an argument of `app.extend`.
 *
 * @throws DeclarationError when it is not an object with a name
 */
export function checkExtension(value: unknown): asserts value is Extension {
  if (typeof value === 'function')
    throw new DeclarationError(
      `app.extend received the function ${value.name || 'anonymous'}. Register middleware with app.use(), and ` +
        'pass the object that the function of an extension returns.',
    )
  if (!isExtension(value))
    throw new DeclarationError(
      `app.extend expects extensions, which are objects with a name, not ${String(value)}.`,
    )
}

function isExtension(value: unknown): value is Extension {
  return typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string'
}

/**
 * Whether a checked middleware is a class. The `prototype` property is read-only in classes, writable in
 * functions, and missing in arrow functions and methods.
 */
export function isMiddlewareClass(middleware: Function): middleware is MiddlewareConstructor {
  return Object.getOwnPropertyDescriptor(middleware, 'prototype')?.writable === false
}

function describeValue(value: unknown): string {
  if (typeof value !== 'object' || value === null) return `${String(value)}.`
  if (isExtension(value)) return `the extension ${value.name}. Register it with app.extend().`
  if (!('handle' in value)) return 'an object.'
  return `an instance of ${value.constructor.name}. Pass the class itself, so that each request has an instance.`
}
