import type { Handler } from '../context.js'
import { DeclarationError } from '../errors.js'
import { checkMiddleware, type AnyMiddleware } from '../injection/middleware-class.js'
import { nearest } from '../naming/spelling.js'
import { actions } from './actions.js'
import { checkMethod, decorationsOf, recordClassMiddleware, recordMethod } from './decorations.js'
import type { ClassMiddleware, MethodDecoration } from './decorations.js'

/** The handlers that the middleware of a class runs for: only the named ones, or all but those. */
export type UseOptions<Name extends string = string> =
  | { only: readonly Name[]; except?: never }
  | { except: readonly Name[]; only?: never }

/** A decorator of a class that has these handlers. */
export type ClassDecoration<Name extends string> = (target: HandlerClass<Name>) => void

/** A class that has these handlers. */
// A constructor with any parameters is assignable only to one with parameters of the type any.
// oxlint-disable-next-line no-explicit-any
type HandlerClass<Name extends string> = new (...args: any[]) => Record<Name, Handler>

/**
 * Registers middleware for a resource class or for one of its methods. After the middleware of the
 * application, the middleware of the class runs, then that of the method, each from top to bottom. In both,
 * the middleware of a base class runs first.
 *
 * Middleware of a class also runs for nested resources and for routes that are declared in the item's scope,
 * unless `only` limits it to some handlers. `except` excludes only handlers of the class itself.
 *
 * @example
 * \@Resource('/posts')
 * \@Use(requireUser(), { except: ['list', 'show'] })
 * export class PostsResource extends BaseResource {
 *   \@Use(requireAdmin)
 *   async destroy(ctx: Context) {
 *     // ...
 *   }
 * }
 *
 * @throws DeclarationError when no middleware is passed, when an argument is neither a middleware function
 *   nor a middleware class, when `only` or `except` names a handler that the class lacks, when a class has
 *   both or a method has one of them, or when the decorated member is static or is not a method
 */
export function Use<Name extends string>(
  ...args: [first: AnyMiddleware, ...more: AnyMiddleware[], options: UseOptions<Name>]
): ClassDecoration<Name>
export function Use(first: AnyMiddleware, ...more: AnyMiddleware[]): ClassDecoration<never> & MethodDecoration
export function Use(...args: [AnyMiddleware, ...(AnyMiddleware | UseOptions)[]]) {
  const options = optionsOf(args.at(-1))
  const middleware = options ? args.slice(0, -1) : args
  if (middleware.length === 0) throw new DeclarationError('@Use requires at least one middleware.')
  checkMiddleware('@Use', middleware)
  return (target: object, name?: string, descriptor?: PropertyDescriptor): void => {
    if (name === undefined) return registerForClass(target as Function, middleware, options)
    const handler = checkMethod('@Use', target, name, descriptor)
    if (options) {
      throw new DeclarationError(
        `@Use of ${handler} has "only" or "except", which a class can have, but not a method. Remove the option.`,
      )
    }
    recordMethod(target, name, (method) => ({ middleware: [...middleware, ...method.middleware] }))
  }
}

function optionsOf(last: unknown): UseOptions | undefined {
  return typeof last === 'object' && last !== null && ('only' in last || 'except' in last)
    ? (last as UseOptions)
    : undefined
}

function registerForClass(
  target: Function,
  middleware: readonly AnyMiddleware[],
  { only, except }: Omit<ClassMiddleware, 'middleware'> = {},
): void {
  if (only && except) {
    throw new DeclarationError(`@Use of ${target.name} has both "only" and "except". Keep one of them.`)
  }
  const methods = [...decorationsOf(target.prototype).methods].filter(([, { routes }]) => routes.length > 0)
  const names = [...actions.map(({ handler }) => handler as string), ...methods.map(([name]) => name)]
  for (const name of only ?? except ?? []) {
    if (names.includes(name)) continue
    const suggestion = nearest(name, names)
    throw new DeclarationError(
      `@Use of ${target.name} names "${name}", which is neither one of the seven handlers nor a method with @Route.` +
        (suggestion ? ` Did you mean "${suggestion}"?` : ''),
    )
  }
  recordClassMiddleware(target.prototype, { middleware, only, except })
}
