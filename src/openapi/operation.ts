import { STATUS_CODES } from 'node:http'
import type { DeclaredRoute, HeaderDescription, MiddlewareDescription, RouteResponse } from '../index.js'
import { isEntity, itemName, pathKeysOf, versionOf, type Declarations } from '../extension.js'
import { fileForm, filesOfRoute, partsOfLines } from './files.js'
import { listParameters } from './lists.js'
import { manyOperation } from './many.js'
import { ACTIONS, capitalize, operationNames } from './names.js'
import type { Schemas } from './schemas.js'
import type { Schema } from './values.js'

/** A response that a middleware, a resource or a route describes. Its body is a problem by default. */
type Described = Partial<NonNullable<MiddlewareDescription['responses']>[number]> & { body?: RouteResponse }

/** One operation of the document: a route, and one of its methods. */
export class Operation {
  /** Its path in the document: `/posts/{post_id}`. */
  readonly key: string
  /** The alternative ways to authenticate, by the names of their schemes. */
  readonly security: Record<string, object>
  private readonly middleware: readonly MiddlewareDescription[]

  constructor(
    readonly route: DeclaredRoute,
    readonly method: string,
    private readonly schemas: Schemas,
    options: Declarations['options'],
  ) {
    this.key = route.path.replaceAll(/:([A-Za-z_]\w*)/g, '{$1}')
    this.middleware = route.middleware.flatMap(({ openapi }) =>
      openapi ? [typeof openapi === 'function' ? openapi(route, method) : openapi] : [],
    )
    this.security = schemesOf(this.middleware, options)
  }

  /** The operation as an object of the document. */
  toJSON(): Schema {
    const { body: _body, responses: _responses, files = [], ...described } = this.route.description
    const { item, ...names } = operationNames(this.route, this.method)
    const many = manyOperation(this.route)
    const given = { ...names, ...described, ...many?.names }
    const parameters = [
      ...pathParameters(this.route),
      ...(many?.parameters ?? this.queryParameters()),
      ...this.headerParameters(),
    ]
    const body = many ? undefined : this.bodySchema(given.operationId, item)
    const stored = many ? [] : filesOfRoute(this.route)
    const parts = many ? [] : partsOfLines(this.route)
    const content = {
      ...(body && inFormats(body)),
      ...many?.content,
      ...(stored.length + parts.length > 0 && {
        'multipart/form-data': fileForm(this.formFields(item), stored, parts),
      }),
      ...(files.length > 0 && { 'multipart/form-data': { schema: withFiles(body, files) } }),
    }
    return {
      ...given,
      ...(parameters.length > 0 && { parameters }),
      ...(Object.keys(content).length > 0 && { requestBody: { content, required: true } }),
      responses: { ...this.responses(), ...many?.responses },
      security: Object.keys(this.security).map((name) => ({ [name]: [] })),
    }
  }

  /** Whether it changes an item whose model has a version. */
  private get comparesVersion(): boolean {
    const { path, resource } = this.route
    if (this.method === 'GET' || resource?.action === 'create') return false
    return isVersioned(resource?.model) && path.startsWith(resource?.itemPath ?? '')
  }

  /** Whether it returns a page of a list. */
  private get isPaginated(): boolean {
    const { action, queryable } = this.route.resource ?? {}
    return this.method === 'GET' && (queryable !== undefined || action === 'list')
  }

  private queryParameters(): Schema[] {
    const { model = Object, queryable } = this.route.resource ?? {}
    return this.isPaginated ? listParameters(model, queryable) : []
  }

  private headerParameters(): Schema[] {
    const all = this.middleware.flatMap(({ requestHeaders = {} }) => Object.entries(requestHeaders))
    const headers = all.map(([name, header]) => ({ name, in: 'header', ...headerObject(header) }))
    return this.comparesVersion ? [IF_MATCH, ...headers] : headers
  }

  private bodySchema(operationId: string, item: string): Schema | undefined {
    const { resource, description, handlerName, readsBody, pattern, host } = this.route
    const { body } = description
    const pathKeys = pathKeysOf([...pattern.params, ...(host?.params ?? [])], resource)
    if (!readsBody || body === false) return undefined
    if (typeof body === 'function') {
      // The path of a route sets attributes of a model, which its body then lacks. All routes share the body
      // of another class.
      return isEntity(body)
        ? this.schemas.body(`${capitalize(operationId)}Body`, this.route, body, { pathKeys }, handlerName)
        : this.schemas.bodyOf(body, handlerName)
    }
    const { model, action, fields } = resource ?? {}
    if (!model || (action !== 'create' && action !== 'update')) return undefined
    const isNew = action === 'create'
    const name = item + (isNew ? 'Input' : 'Changes')
    return this.schemas.body(name, this.route, model, { fields, pathKeys, isNew }, handlerName)
  }

  /** The fields of a multipart form beside its files. */
  private formFields(item: string): Schema | undefined {
    const { resource, handlerName, pattern, host } = this.route
    const { model, action, fields } = resource ?? {}
    const files = filesOfRoute(this.route).map(({ name }) => name)
    const others = fields?.filter((name) => !files.includes(name)) ?? []
    if (!model || others.length === 0) return undefined
    const pathKeys = pathKeysOf([...pattern.params, ...(host?.params ?? [])], resource)
    const isNew = action === 'create'
    const name = `${item}${isNew ? '' : 'Changes'}Form`
    return this.schemas.body(name, this.route, model, { fields: others, pathKeys, isNew }, handlerName)
  }

  private responses(): Record<string, Schema> {
    const { resource, description } = this.route
    const given = Object.entries(description.responses ?? {})
    const hasSuccess = given.some(([status]) => Number(status) < 400)
    // JavaScript sorts these members, because their names are numbers.
    const all: Record<string, Described> = hasSuccess || resource?.forMany ? {} : successOf(resource)
    for (const status of this.problems()) all[status] = {}
    Object.assign(all, ...this.middleware.map(({ responses }) => responses))
    for (const [status, body] of given) {
      const isPage = this.isPaginated && Array.isArray(body)
      all[status] = { body, ...(isPage && { headers: pageHeaders(resource) }) }
    }
    const written = Object.entries(all).map(([status, one]) => [status, this.response(status, one)])
    return { ...Object.fromEntries(written), default: { description: 'Another problem', content: PROBLEM } }
  }

  /** The statuses of the problems that the framework returns for the handlers of a resource. */
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

  private response(status: string, { body = 'problem', headers, description }: Described): Schema {
    const ofMiddleware = this.middleware.map((one) => one.headers)
    const all: Record<string, HeaderDescription> = Object.assign(
      {},
      ...ofMiddleware,
      headers,
      isVersioned(body) && { ETag },
    )
    const written = Object.entries(all).map(([name, one]) => [name, headerObject(one)])
    const content = this.content(body)
    const { many, action } = this.route.resource ?? {}
    if (content && many?.csv && action === 'list' && status === '200') content['text/csv'] = CSV
    return {
      description: description ?? STATUS_CODES[Number(status)] ?? 'Response',
      ...(written.length > 0 && { headers: Object.fromEntries(written) }),
      ...(content && { content }),
    }
  }

  private content(body: RouteResponse): Schema | undefined {
    if (body === 'empty') return undefined
    if (body === 'problem') return PROBLEM
    if (typeof body === 'string')
      return { [body]: body.startsWith('text/') ? { schema: { type: 'string' } } : {} }
    const { handlerName } = this.route
    if (typeof body === 'function') return inFormats(this.schemas.response(body, handlerName))
    return inFormats(this.schemas.list(body[0], handlerName))
  }
}

/** The security schemes of an operation. The last middleware decides, because it is the strictest. */
function schemesOf(
  middleware: readonly MiddlewareDescription[],
  { api, sessionName = '_kit_session' }: Declarations['options'],
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

/** The header with the tag of a record, and the one with which a client sends the tag as a condition. */
const ETag: HeaderDescription = { description: 'The version of the record and a digest of the body' }
const IF_MATCH: Schema = {
  name: 'If-Match',
  in: 'header',
  description: 'The ETag of the record that the client has read. Another version is 412',
  schema: { type: 'string' },
}

/** The content of a response or a request with data, in each format. */
function inFormats(schema: Schema): Schema {
  return { 'application/json': { schema }, 'application/xml': { schema } }
}

const CSV: Schema = { schema: { type: 'string' } }

/** The content of a response with an error. */
const problem = { schema: { $ref: '#/components/schemas/Problem' } }
const PROBLEM: Schema = { 'application/problem+json': problem, 'application/problem+xml': problem }

/** The problems of a handler, besides those of the path, the policy and the query. */
const PROBLEMS: Record<string, readonly number[]> = { create: [409, 422], update: [409, 422], destroy: [409] }

/** The successful response of a handler that serves records of a model; empty for other handlers. */
function successOf(resource: DeclaredRoute['resource']): Record<string, Described> {
  const { action = '', model } = resource ?? {}
  if (!model || !ACTIONS.includes(action)) return {}
  const Location = { description: 'The path of the record', required: true }
  if (action === 'create') return { 201: { body: model, headers: { Location } } }
  if (action !== 'list') return { 200: { body: model } }
  return { 200: { body: [model], headers: pageHeaders(resource) } }
}

/** The headers of a response with a page of a list. */
function pageHeaders(resource: DeclaredRoute['resource']): Record<string, HeaderDescription> {
  const Link = { description: 'The first, previous, next and last page (RFC 8288)' }
  const total = { 'X-Total-Count': { description: 'The number of records on all pages' } }
  return { Link, ...(resource?.queryable?.pages !== 'cursor' && total) }
}

function headerObject({ description, required }: HeaderDescription): Schema {
  return { description, ...(required && { required }), schema: { type: 'string' } }
}

/** The parameters of a path. A `post_id` after `/posts` is a UUID, unless there is no model. */
function pathParameters({ pattern, path, resource }: DeclaredRoute): Schema[] {
  return pattern.params.map((name) => {
    const [, before = ''] = new RegExp(`([^/]+)/[{:]${name}\\b`).exec(path) ?? []
    const hasModel = resource?.param !== name || resource.model !== undefined
    const isId = hasModel && name === `${itemName(before.replaceAll(/[^\p{L}\p{N}]+/gu, '_'))}_id`
    return { name, in: 'path', required: true, schema: { type: 'string', ...(isId && { format: 'uuid' }) } }
  })
}

/** Adds files to the schema of a body. Some tools support only `format`, some only `contentMediaType`. */
function withFiles(body: Schema | undefined, names: readonly string[]): Schema {
  const file = { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' }
  const files = { type: 'object', properties: Object.fromEntries(names.map((name) => [name, file])) }
  return body ? { allOf: [body, files] } : files
}
