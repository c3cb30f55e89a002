import { memoizeByObject } from '../common/memoize.js'
import type { Handler } from '../context.js'
import type { Queryable } from '../records/lists/declaration.js'
import { DeclarationError } from '../errors.js'
import type { AnyMiddleware } from '../injection/middleware-class.js'
import type { DescriptionOptions } from './route-description.js'

/** The HTTP method of a `@Route`. */
export type RouteMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD' | 'OPTIONS'

/** The options of a route. */
export interface RouteOptions extends DescriptionOptions {
  /** The name of the route, like `loginPath`. By default it is derived from the path. */
  name?: string
  /** Other paths with the same handler. Like the path, they are relative to the resource or group. */
  aliases?: string[]
}

/** A route that `@Route` declares. */
export interface DecoratedRoute {
  method: RouteMethod
  /** Relative to the resource: `/{post_id}/publish`. */
  path: string
  options: RouteOptions
}

/** The middleware that `@Use` registers for a class, and the handlers that it is limited to. */
export interface ClassMiddleware {
  middleware: readonly AnyMiddleware[]
  only?: readonly string[] | undefined
  except?: readonly string[] | undefined
}

/** The declarations of `@Route`, `@Use` and `@Queryable` for a method. */
export interface DecoratedMethod {
  routes: readonly DecoratedRoute[]
  middleware: readonly AnyMiddleware[]
  queryable?: Queryable | undefined
}

/** Everything that `@Route`, `@Use` and `@Queryable` record for a class, from top to bottom. */
export interface Decorations {
  classes: ClassMiddleware[]
  methods: Map<string, DecoratedMethod>
}

/** The decorations of a class by its prototype, without those of its superclasses. */
const ownDecorations = memoizeByObject((_prototype: object): Decorations => {
  return { classes: [], methods: new Map() }
})

/** A decorator of a method that is a handler. */
export type MethodDecoration = <H extends Handler>(
  target: object,
  name: string,
  descriptor: TypedPropertyDescriptor<H>,
) => void

/**
 * Returns a decorated method's name for messages: `PostsResource.publish`.
 *
 * @throws DeclarationError when the decorated member is static or is not a method
 */
export function checkMethod(
  decorator: string,
  target: object,
  name: string,
  descriptor: PropertyDescriptor | undefined,
): string {
  if (typeof target === 'function') {
    throw new DeclarationError(
      `${target.name}.${name} is static, but ${decorator} requires a method of the instances. Remove "static".`,
    )
  }
  const methodName = `${target.constructor.name}.${name}`
  if (typeof descriptor?.value === 'function') return methodName
  throw new DeclarationError(
    `${methodName} is not a method, but ${decorator} requires one. Write it as "${name}(ctx: Context) { ... }".`,
  )
}

/** Records a decorator's changes of a method. They run from bottom to top: `change` adds to the beginning. */
export function recordMethod(
  prototype: object,
  name: string,
  change: (method: DecoratedMethod) => Partial<DecoratedMethod>,
): void {
  const { methods } = ownDecorations(prototype)
  const method = methods.get(name) ?? { routes: [], middleware: [] }
  methods.set(name, { ...method, ...change(method) })
}

/** Records middleware of a class before the middleware of the decorators below. */
export function recordClassMiddleware(prototype: object, middleware: ClassMiddleware): void {
  ownDecorations(prototype).classes.unshift(middleware)
}

/**
 * The decorations of a class and the classes that it extends, the base class first. A method that the
 * subclass overrides keeps its place and its middleware. Its routes and its `@Queryable` are replaced if the
 * subclass declares them again.
 */
export function decorationsOf(prototype: object | null): Decorations {
  if (prototype === null) return { classes: [], methods: new Map() }
  const { classes, methods } = decorationsOf(Object.getPrototypeOf(prototype))
  const current = ownDecorations(prototype)
  for (const [name, { routes, middleware, queryable }] of current.methods) {
    const inherited = methods.get(name)
    methods.set(name, {
      routes: routes.length > 0 ? routes : (inherited?.routes ?? []),
      middleware: [...(inherited?.middleware ?? []), ...middleware],
      queryable: queryable ?? inherited?.queryable,
    })
  }
  return { classes: [...classes, ...current.classes], methods }
}

/** The middleware of a handler: first the middleware of its class, then its own. */
export function handlerMiddleware({ classes, methods }: Decorations, handler: string): AnyMiddleware[] {
  const matches = classes.filter(({ only, except }) => only?.includes(handler) ?? !except?.includes(handler))
  return [...matches, methods.get(handler)].flatMap((declaration) => declaration?.middleware ?? [])
}

/** The middleware of a class that also runs for what is nested. `except` excludes its handlers only. */
export function nestedMiddleware({ classes }: Decorations): AnyMiddleware[] {
  return classes.filter(({ only }) => !only).flatMap(({ middleware }) => middleware)
}

/** All middleware of a class and of its methods. */
export function middlewareOf({ classes, methods }: Decorations): AnyMiddleware[] {
  return [...classes, ...methods.values()].flatMap(({ middleware }) => middleware)
}
