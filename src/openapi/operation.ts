import { STATUS_CODES } from 'node:http'
import type {
  BodyClass,
  DeclaredRoute,
  HeaderDescription,
  MiddlewareDescription,
  RouteResource,
  RouteResponse,
} from '../index.js'
import { isEntity, itemName, versionOf, type Declarations } from '../extension.js'
import { listParameters } from './lists.js'
import { capitalize, isAction, operationNames, type OperationNames } from './names.js'
import type { Schemas } from './schemas.js'
import type { Schema } from './values.js'

/** The headers of a response. */
type Headers = Readonly<Record<string, HeaderDescription>>

/** A response of an operation, before it is written. */
interface Described {
  body: RouteResponse
  headers?: Headers | undefined
  description?: string | undefined
}

/** The options of the application that its operations depend on. */
type Options = Declarations['options']

/** One operation of the document: a route, and one of its methods. */
export class Operation {
  readonly names: OperationNames
  /** Its path in the document: `/posts/{post_id}`. */
  readonly key: string
  /** The alternative ways to authenticate, by the names of their schemes. */
  readonly security: Record<string, object>
  private readonly middleware: readonly MiddlewareDescription[]

  constructor(
    readonly route: DeclaredRoute,
    readonly method: string,
    private readonly schemas: Schemas,
    options: Options,
  ) {
    this.names = operationNames(route, method)
    this.key = route.path.replaceAll(/:([A-Za-z_]\w*)/g, '{$1}')
    this.middleware = route.middleware.flatMap(({ openapi }) =>
      openapi ? [typeof openapi === 'function' ? openapi(route, method) : openapi] : [],
    )
    this.security = schemesOf(this.middleware, options)
  }

  /** The operation as an object of the document. */
  toJSON(): Schema {
    const { route, names } = this
    const { description, deprecated } = route.description
    const parameters = [...pathParameters(route), ...this.queryParameters(), ...this.headerParameters()]
    const requestBody = this.requestBody()
    return {
      operationId: names.operationId,
      summary: names.summary,
      ...(description !== undefined && { description }),
      ...(names.tag !== undefined && { tags: [names.tag] }),
      ...(deprecated && { deprecated }),
      ...(parameters.length > 0 && { parameters }),
      ...(requestBody && { requestBody }),
      responses: this.responses(),
      security: Object.keys(this.security).map((name) => ({ [name]: [] })),
    }
  }

  /** Whether it changes an item whose model has a version. */
  private get comparesVersion(): boolean {
    const { path, resource } = this.route
    if (this.method === 'GET' || resource?.action === 'create') return false
    return isVersioned(resource?.model) && path.startsWith(resource?.itemPath ?? '')
  }

  private queryParameters(): Schema[] {
    const { resource } = this.route
    if (this.method !== 'GET' || !resource) return []
    if (resource.queryable && resource.model) return listParameters(resource.model, resource.queryable)
    return resource.action === 'list' ? listParameters(Object, undefined) : []
  }

  private headerParameters(): Schema[] {
    const all = this.middleware.flatMap(({ requestHeaders = {} }) => Object.entries(requestHeaders))
    const headers = all.map(([name, header]) => ({ name, in: 'header', ...headerObject(header) }))
    return this.comparesVersion ? [IF_MATCH, ...headers] : headers
  }

  private requestBody(): Schema | undefined {
    const { description, readsBody } = this.route
    const { files = [] } = description
    const body = readsBody && description.body !== false ? this.bodySchema() : undefined
    if (!body && files.length === 0) return undefined
    return {
      content: {
        ...(body && { 'application/json': { schema: body }, 'application/xml': { schema: body } }),
        ...(files.length > 0 && { 'multipart/form-data': { schema: withFiles(body, files) } }),
      },
      required: true,
    }
  }

  private bodySchema(): Schema | undefined {
    const { route, names } = this
    const { resource, description, handlerName } = route
    const pathKeys = pathKeysOf(route)
    if (typeof description.body === 'function') {
      const model: Function = description.body
      const isModel = isEntity(model)
      const name = isModel ? capitalize(names.operationId) : model.name
      const options = { pathKeys: isModel ? pathKeys : new Set<string>(), isNew: !isModel }
      return this.schemas.body(`${name}Body`, isModel ? route : model, model, options, handlerName)
    }
    if (!resource?.model || !['create', 'update'].includes(resource.action)) return undefined
    const isNew = resource.action === 'create'
    const name = names.item + (isNew ? 'Input' : 'Changes')
    const options = { fields: resource.fields, pathKeys, isNew }
    return this.schemas.body(name, route, resource.model, options, handlerName)
  }

  private responses(): Record<string, Schema> {
    const { resource, description } = this.route
    const given = Object.entries(description.responses ?? {})
    const isReplaced = given.some(([status]) => Number(status) < 400)
    // JavaScript sorts these members, because their names are numbers.
    const all: Record<string, Described> = isReplaced ? {} : successOf(resource)
    for (const status of this.problems()) all[status] = { body: 'problem' }
    for (const { responses = {} } of this.middleware)
      for (const [status, one] of Object.entries(responses)) all[status] = { body: 'problem', ...one }
    for (const [status, body] of given) all[status] = { body }
    const described = Object.entries(all).map(([status, one]) => [status, this.response(status, one)])
    return { ...Object.fromEntries(described), default: { description: 'Another problem', content: PROBLEM } }
  }

  /** The statuses of problems that the handlers of a resource have. */
  private problems(): number[] {
    const { resource, path } = this.route
    const hasPolicy = (resource?.policies ?? []).length > 0 && this.method !== 'GET'
    return [
      ...(resource?.queryable ? [400] : []),
      ...(hasPolicy ? [403] : []),
      ...(path.includes('{') || resource?.isSingular ? [404] : []),
      ...(resource?.model ? (PROBLEMS[resource.action] ?? []) : []),
      ...(this.comparesVersion ? [412] : []),
      ...(resource?.requiresMatch && ['update', 'destroy'].includes(resource.action) ? [428] : []),
    ]
  }

  private response(status: string, { body, headers, description }: Described): Schema {
    const ofAll = this.middleware.map((one) => one.headers)
    const every: Headers = Object.assign({}, ...ofAll, headers, isVersioned(body) && { ETag })
    const content = this.content(body)
    return {
      description: description ?? STATUS_CODES[Number(status)] ?? 'Response',
      ...(Object.keys(every).length > 0 && {
        headers: Object.fromEntries(Object.entries(every).map(([name, one]) => [name, headerObject(one)])),
      }),
      ...(content && { content }),
    }
  }

  private content(body: RouteResponse): Schema | undefined {
    if (body === 'empty') return undefined
    if (body === 'problem') return PROBLEM
    if (typeof body === 'string')
      return { [body]: body.startsWith('text/') ? { schema: { type: 'string' } } : {} }
    const place = this.route.handlerName
    const isList = typeof body !== 'function'
    const model: BodyClass = isList ? body[0] : body
    const schema = isList ? this.schemas.list(model, place) : this.schemas.response(model, place)
    return { 'application/json': { schema }, 'application/xml': { schema } }
  }
}

/** The security schemes of an operation. The last middleware with security decides, because it is the strictest one. */
function schemesOf(
  middleware: readonly MiddlewareDescription[],
  { api, sessionName = '_kit_session' }: Options,
): Record<string, object> {
  const known = {
    session: api ? undefined : { type: 'apiKey', in: 'cookie', name: sessionName },
    bearer: { type: 'http', scheme: 'bearer' },
  }
  const given = middleware.findLast(({ security }) => security)?.security ?? []
  const schemes = given.map((one) => (typeof one === 'string' ? [one, known[one]] : [one.name, one.scheme]))
  return Object.fromEntries(schemes.filter(([, scheme]) => scheme))
}

/** Whether a class is a model with a version. */
function isVersioned(model: unknown): boolean {
  return typeof model === 'function' && versionOf(model) !== undefined
}

/** The tag of a record, and the condition with which a client sends it. */
const ETag: HeaderDescription = { description: 'The version of the record and a digest of the body' }
const IF_MATCH: Schema = {
  name: 'If-Match',
  in: 'header',
  description: 'The ETag of the record that the client has read. Another version is 412',
  schema: { type: 'string' },
}

/** The content of an error. */
const problem = { schema: { $ref: '#/components/schemas/Problem' } }
const PROBLEM: Schema = { 'application/problem+json': problem, 'application/problem+xml': problem }

/** The problems of a handler, besides those of the path, the policy and the query. */
const PROBLEMS: Record<string, readonly number[]> = { create: [409, 422], update: [409, 422], destroy: [409] }

/** The success of one of the seven handlers that serves a model. */
function successOf({ action, model, queryable }: Partial<RouteResource> = {}): Record<string, Described> {
  if (!model || !isAction(action ?? '')) return {}
  if (action === 'create') {
    const headers = { Location: { description: 'The path of the record', required: true } }
    return { 201: { body: model, headers } }
  }
  if (action !== 'list') return { 200: { body: model } }
  const total = { 'X-Total-Count': { description: 'The number of records on all pages' } }
  const headers = {
    Link: { description: 'The first, previous, next and last page (RFC 8288)' },
    ...(queryable?.pages !== 'cursor' && total),
  }
  return { 200: { body: [model], headers } }
}

function headerObject({ description, required }: HeaderDescription): Schema {
  return { description, ...(required && { required }), schema: { type: 'string' } }
}

/** The parameters of a path. `post_id` after `/posts` is the id of a record, which is a UUID, unless a resource without a model finds it. */
function pathParameters({ pattern, path, resource }: DeclaredRoute): Schema[] {
  const segments = path.split('/')
  return pattern.params.map((name) => {
    const index = segments.findIndex((segment) => segment === `{${name}}` || segment === `:${name}`)
    const before = (segments[index - 1] ?? '').replaceAll(/[^\p{L}\p{N}]+/gu, '_')
    const hasModel = resource?.param !== name || resource.model !== undefined
    const isId = index > 0 && before !== '' && name === `${itemName(before)}_id` && hasModel
    return { name, in: 'path', required: true, schema: { type: 'string', ...(isId && { format: 'uuid' }) } }
  })
}

/** The keys of a record that its path sets, as in `ctx.bind`. */
function pathKeysOf({ pattern, host, resource }: DeclaredRoute): Set<string> {
  const keys = new Set([...pattern.params, ...(host?.params ?? []), ...(resource?.parentKeys ?? [])])
  keys.delete(resource?.param ?? '')
  return keys
}

/** Some tools know only one of the two members that mark a file. */
function withFiles(body: Schema | undefined, names: readonly string[]): Schema {
  const file = { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' }
  const files = { type: 'object', properties: Object.fromEntries(names.map((name) => [name, file])) }
  return body ? { allOf: [body, files] } : files
}
