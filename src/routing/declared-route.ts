import type { Context, Middleware } from '../context.js'
import type { Queryable } from '../records/lists/declaration.js'
import type { AnyManyOptions } from '../resources/many-options.js'
import type { DeclaredPolicy } from '../policies/policy.js'
import { DeclarationError } from '../errors.js'
import { BaseResource } from '../resources/resource.js'
import { checkDescription, type DescriptionOptions } from '../resources/route-description.js'
import { chain } from './chain.js'
import { HostPattern } from './host.js'
import type { PathParent } from './mount.js'
import { PathPattern, type PathArgument } from './path.js'

/** The declaration of a route. Missing properties have defaults. */
export interface RouteDeclaration
  extends
    Pick<DeclaredRoute, 'method' | 'path' | 'handlerName' | 'middleware' | 'handler'>,
    Partial<
      Pick<
        DeclaredRoute,
        'scopes' | 'parents' | 'name' | 'hasDefaultName' | 'description' | 'resource' | 'declared'
      >
    > {
  /** The virtual host that the route belongs to: `{tenant}.example.com`. */
  host?: string | undefined
  /** Other paths with the same handler. */
  aliases?: string[]
  /** Whether the route reads a body; undefined if its method decides. */
  readsBody?: boolean | undefined
  /** Whether the route also handles PATCH. */
  includesPatch?: boolean
}

/** The kinds of routes for many records at once. */
export type ForMany = 'page' | 'import' | 'bulk'

/** The resource of a route. */
export interface RouteResource {
  plural: string
  singular: string
  /** Whether it is a singular resource, which has neither a list nor an id. */
  isSingular: boolean
  /** Whether the resource has HTML pages, so that other pages link to it. */
  hasPages: boolean
  /** The path parameter of the item, none if it is singular. Others are those of its parents. */
  param: string
  /** The property of a record whose value is in the path, if it is not the id: `slug`. */
  itemKey?: string | undefined
  /** Whether a request that changes an item must contain the version that its client has seen. */
  requiresMatch?: boolean | undefined
  /** The foreign keys for the records in the path, the outermost first: `['post_id', 'comment_id']`. */
  parentKeys: readonly string[]
  /** `/posts/{post_id}`, or `/session` of a singular resource. */
  itemPath: string
  /** The path of the item that contains the resource, or of a group with parameters; else empty. */
  parentPath: string
  /** The class of the resource. */
  class: { readonly prototype: object }
  /** The name of the handler: `list`, `show`, or the name of a method with `@Route`. */
  action: string
  /** The model of `@Resource`. */
  model?: (new () => object) | undefined
  /** The attributes of the model that requests may set; undefined if `@Resource` does not list them. */
  fields?: readonly string[] | undefined
  /** The `@Queryable` of the handler. */
  queryable?: Queryable | undefined
  /** The policies of the resource and of its parents, its own last. */
  policies: readonly DeclaredPolicy[]
  /** The options for many records at once; undefined if the resource has none. */
  many?: AnyManyOptions | undefined
  /** The kind of the route, if it is for many records. It calls the handler for each, except the page. */
  forMany?: ForMany | undefined
  /** The routes of the seven handlers and of each `@Route`, by the names of the handlers. */
  routes: ReadonlyMap<string, DeclaredRoute>
}

/** The methods whose bodies are ignored, unless a route declares a body (RFC 9110, section 9.3). */
const BODILESS_METHODS = ['GET', 'HEAD', 'DELETE']

/** One row of the routing table. */
export class DeclaredRoute {
  /** The number of routes that were declared before this route. */
  readonly order: number
  readonly method: string
  readonly pattern: PathPattern
  readonly aliases: readonly PathPattern[]
  readonly host: HostPattern | undefined
  /** The application, groups and hosts in which the route is declared, the outermost first. */
  readonly scopes: readonly object[]
  /** The items in the path, the outermost first, without the resource's own. */
  readonly parents: readonly PathParent[]
  /** `postPath`; undefined if another route has the name that would be derived from the path. */
  name: string | undefined
  /** Whether the name was derived from the path. If so, a route that declares the name gets it. */
  readonly hasDefaultName: boolean
  /** `PostsResource.list` */
  readonly handlerName: string
  readonly readsBody: boolean
  /** The requests and responses of the route, as its options describe them. */
  readonly description: Readonly<DescriptionOptions>
  readonly resource: RouteResource | undefined
  /** The middleware in the order in which it runs. */
  readonly middleware: readonly Middleware[]
  /** The middleware in the order in which it was declared. */
  readonly declaredMiddleware: readonly Middleware[]
  /** Whether a middleware recognizes requests that a client sends twice, by their `Idempotency-Key`. */
  readonly recognizesKeys: boolean
  /** The middleware that runs before the body is read. */
  readonly beforeBody: readonly Middleware[]
  readonly handler: Middleware
  /** The handler as the application declared it. Tools find its file by it. */
  readonly declared: unknown
  /** The methods that the route handles: its own, with GET also HEAD, and with `includesPatch` also PATCH. */
  readonly methods: readonly string[]
  /** Runs the middleware without `beforeBody`, and then the handler. */
  readonly run: (ctx: Context) => Promise<unknown>

  /**
   * @throws DeclarationError when the path, an alias, the host or the description is malformed, or when a
   *   parameter is in the path and in the host
   * @internal
   */
  constructor(options: RouteDeclaration, order: number) {
    this.order = order
    this.method = options.method
    this.pattern = new PathPattern(options.path)
    this.aliases = (options.aliases ?? []).map((alias) => new PathPattern(alias))
    this.host = options.host === undefined ? undefined : new HostPattern(options.host)
    this.scopes = options.scopes ?? []
    this.parents = options.parents ?? []
    this.name = options.name
    this.hasDefaultName = options.hasDefaultName ?? false
    this.handlerName = options.handlerName
    this.readsBody = options.readsBody ?? !BODILESS_METHODS.includes(options.method)
    this.description = options.description ?? {}
    this.resource = options.resource
    const subject = this.resource ? this.handlerName : `${this.method} ${this.path}`
    checkDescription(this.description, subject, this.method)
    this.beforeBody = options.middleware.filter((fn) => fn.beforeBody)
    const afterBody = options.middleware.filter((fn) => !fn.beforeBody)
    this.middleware = [...this.beforeBody, ...afterBody]
    this.declaredMiddleware = options.middleware
    this.recognizesKeys = afterBody.some(({ extension }) => extension?.recognizesKeys)
    this.handler = options.handler
    this.declared = options.declared
    const { method, includesPatch } = options
    this.methods = method === 'GET' ? ['GET', 'HEAD'] : includesPatch ? [method, 'PATCH'] : [method]
    const sharedName = this.host?.params.find((name) => this.pattern.params.includes(name))
    if (sharedName) {
      throw new DeclarationError(
        `The host ${options.host} and the path ${this.path} both have the parameter "${sharedName}".`,
      )
    }
    this.run = chain([...afterBody, this.handler])
  }

  /** `/posts/{post_id}` */
  get path(): string {
    return this.pattern.path
  }

  /** Returns the path with its parameters filled in. */
  url(...args: PathArgument[]): string {
    return this.pattern.fill(args, this.name)
  }

  /** Whether the application has the handler. `BaseResource` has the others, which respond with 404. */
  get isWritten(): boolean {
    const action = this.resource?.action
    return action === undefined || this.declared !== Reflect.get(BaseResource.prototype, action)
  }

  /** Whether the route handles a method. */
  handles(method: string): boolean {
    return this.methods.includes(method)
  }
}
