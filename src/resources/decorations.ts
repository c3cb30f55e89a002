import 'reflect-metadata'
import type { AnyMiddleware } from '../injection/middleware-class.js'
import type { Queryable } from '../data/lists/declaration.js'
import type { RouteMethod, RouteOptions } from './route.js'

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

/** The routes and the middleware of one method, and the declaration of its list. */
export interface DecoratedMethod {
  routes: readonly DecoratedRoute[]
  middleware: readonly AnyMiddleware[]
  queryable?: Queryable | undefined
}

/** Everything that `@Route`, `@Use` and `@Queryable` record for a class, from top to bottom. */
export interface Decorations {
  classes: readonly ClassMiddleware[]
  methods: ReadonlyMap<string, DecoratedMethod>
}

const key = Symbol('resource-kit:decorations')
const none: Decorations = { classes: [], methods: new Map() }

/** Records what a decorator of a method changes. Decorators are evaluated from bottom to top. */
export function recordMethod(
  prototype: object,
  name: string,
  change: (method: DecoratedMethod) => Partial<DecoratedMethod>,
): void {
  const { classes, methods } = ownDecorations(prototype)
  const method = methods.get(name) ?? { routes: [], middleware: [] }
  const changed = new Map(methods).set(name, { ...method, ...change(method) })
  Reflect.defineMetadata(key, { classes, methods: changed }, prototype)
}

/** Records middleware of a class. */
export function recordClassMiddleware(prototype: object, added: ClassMiddleware): void {
  const { classes, methods } = ownDecorations(prototype)
  Reflect.defineMetadata(key, { classes: [added, ...classes], methods }, prototype)
}

/**
 * The decorations of a class and the classes it extends, the base class first. An overridden method keeps its place
 * and its middleware. Its routes and its list are replaced if the subclass declares them again.
 */
export function decorationsOf(prototype: object | null): Decorations {
  if (prototype === null) return none
  const base = decorationsOf(Object.getPrototypeOf(prototype))
  const own = ownDecorations(prototype)
  const methods = new Map(base.methods)
  for (const [name, { routes, middleware, queryable }] of own.methods) {
    const inherited = methods.get(name)
    methods.set(name, {
      routes: routes.length > 0 ? routes : (inherited?.routes ?? []),
      middleware: [...(inherited?.middleware ?? []), ...middleware],
      queryable: queryable ?? inherited?.queryable,
    })
  }
  return { classes: [...base.classes, ...own.classes], methods }
}

/** The middleware of a handler: that of its class, then its own. */
export function handlerMiddleware({ classes, methods }: Decorations, handler: string): AnyMiddleware[] {
  const ofClass = classes
    .filter(({ only, except }) => only?.includes(handler) ?? !except?.includes(handler))
    .flatMap(({ middleware }) => middleware)
  return [...ofClass, ...(methods.get(handler)?.middleware ?? [])]
}

/** The middleware of a class that also runs for everything nested in its items. */
export function nestedMiddleware({ classes }: Decorations): AnyMiddleware[] {
  return classes.filter(({ only }) => !only).flatMap(({ middleware }) => middleware)
}

/** All middleware of a class and its methods. */
export function middlewareOf({ classes, methods }: Decorations): AnyMiddleware[] {
  return [...classes, ...methods.values()].flatMap(({ middleware }) => middleware)
}

/** The decorations of a class itself: those of its superclasses are on their prototypes. */
function ownDecorations(prototype: object): Decorations {
  const own: Decorations | undefined = Reflect.getOwnMetadata(key, prototype)
  return own ?? none
}
