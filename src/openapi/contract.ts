import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'
import type { DocumentedRoutes } from '../extension.js'
import { DeclarationError, type App, type Context, type Middleware } from '../index.js'
import { buildDocument, documentsOf, type OpenApiDocument } from './document.js'
import type { Schema } from './values.js'

/** A request of a spec and its response. */
interface Exchange {
  /** The JSON body of the request; undefined if it had none. */
  json: unknown
  /** The `Accept` header. */
  accept: string
  status: number
  headers: Headers
  text: string
}

/** A response, or a handler, differs from the OpenAPI document. */
export class ContractError extends Error {
  override name = 'ContractError'
}

/** The statuses of the framework that `default` describes, and 304, which has no description. */
const ofFramework = [304, 400, 403, 405, 406, 413, 415, 500, 503]

/** An operation of a document, as the contract compares it. */
interface Contracted {
  content: Operation
  document: OpenApiDocument
  /** The path of the document, for messages. */
  path: string
}

/** The members of an operation that the contract reads. */
interface Operation {
  operationId: string
  requestBody?: { content: Content }
  responses: Record<string, { content?: Content; headers?: Record<string, { required?: boolean }> }>
}

type Content = Record<string, { schema?: Schema }>

/** The request that an application has handled, and the lists that its handler has bound. */
interface Handled {
  ctx: Context
  listed: boolean
}

/** Compares the responses of an application with its OpenAPI documents. */
export class Contract {
  private readonly operations = new Map<unknown, Record<string, Contracted>>()
  private readonly handled = new Map<string, Handled>()
  private readonly validators = new Map<string, ValidateFunction>()
  private readonly ajv: Ajv2020

  /**
   * @throws DeclarationError when a document cannot be built, or when Ajv is not installed
   */
  constructor(app: App) {
    this.ajv = createAjv()
    this.add(app.documented)
    app.use(this.observer())
  }

  /**
   * Checks a response of the application.
   *
   * @throws ContractError when it differs from the document
   */
  check(exchange: Exchange): void {
    const id = exchange.headers.get('x-request-id') ?? ''
    const handled = this.handled.get(id)
    this.handled.delete(id)
    if (!handled || isForPages(exchange)) return
    const operation = this.operations.get(handled.ctx.route)?.[handled.ctx.method]
    if (!operation) return
    this.checkHandler(operation, handled)
    this.checkStatus(operation, exchange)
    this.checkHeaders(operation, exchange)
    this.checkBody(operation, exchange)
    this.checkRequest(operation, exchange)
  }

  private add(application: DocumentedRoutes): void {
    for (const declared of documentsOf(application, { title: 'Application', version: '0' })) {
      const { document, operations } = buildDocument(application, declared)
      const path = `kit:${declared.path}${declared.host ?? ''}`
      this.ajv.addSchema({ $id: path, components: closed(document.components) })
      for (const operation of operations) {
        const known = this.operations.get(operation.route) ?? {}
        known[operation.method] = { content: operation.toJSON() as unknown as Operation, document, path }
        this.operations.set(operation.route, known)
      }
    }
  }

  /** A middleware that runs for no route. It remembers the context of each request by its id. */
  private observer(): Middleware {
    const { handled } = this
    const observe: Middleware = (_ctx, next) => next()
    observe.begin = (ctx) => {
      // Requests of other clients are never checked.
      if (handled.size > 1000) handled.clear()
      const request: Handled = { ctx, listed: false }
      handled.set(ctx.requestId, request)
      const { bind } = ctx
      ctx.bind = function (record, only) {
        const { model, fields } = this.route?.resource ?? {}
        if (only && model && !fields && record instanceof model) request.listed = true
        return bind.call(this, record, only as never) as typeof record
      }
    }
    return observe
  }

  private checkHandler({ content }: Contracted, { ctx, listed }: Handled): void {
    if (!listed) return
    fail(
      content,
      `calls ctx.bind with a list, but ${ctx.route.handlerName.split('.')[0]} has no fields, so the document lists every ` +
        'attribute. Move the list to the "fields" option of @Resource.',
    )
  }

  private checkStatus({ content, path }: Contracted, { status, accept }: Exchange): void {
    const types = Object.values(content.responses).flatMap((one) => Object.keys(one.content ?? {}))
    if (status === 406 && types.includes(accept))
      fail(
        content,
        `returned 406 for ${accept}, which ${shown(path)} lists. Offer it, or describe the responses.`,
      )
    if (content.responses[status] || ofFramework.includes(status)) return
    const body = status < 400 ? 'Post' : "'problem'"
    fail(
      content,
      `returned ${status}, which ${shown(path)} does not list. Correct the handler, or describe the response: responses: { ${status}: ${body} }.`,
    )
  }

  private checkHeaders({ content, path }: Contracted, { status, headers }: Exchange): void {
    for (const [name, { required }] of Object.entries(content.responses[status]?.headers ?? {})) {
      if (!required || headers.has(name)) continue
      fail(
        content,
        `returned ${status} without the ${name} header, which ${shown(path)} requires. Set it, or describe the response.`,
      )
    }
  }

  private checkBody({ content, path }: Contracted, { status, headers, text }: Exchange): void {
    const type = (headers.get('content-type') ?? '').split(';', 1).join()
    if (!/[/+]json$/.test(type) || text === '') return
    const key = content.responses[status] ? String(status) : 'default'
    const described = content.responses[key]?.content ?? {}
    const { schema } = described[type] ?? {}
    if (described[type] && !schema) return
    if (!schema) {
      const types = Object.keys(described)
      const listed = types.length > 0 ? `lists ${types.join(', ')}` : 'lists no body'
      return fail(
        content,
        `returned ${status} with ${type}, for which ${shown(path)} ${listed}. Describe the response.`,
      )
    }
    const validate = this.validatorOf(schema, path)
    if (validate(JSON.parse(text))) return
    const [error] = (validate.errors ?? []).toSorted((a, b) => weight(a) - weight(b))
    fail(
      content,
      `returned ${status} with a body that differs from ${shown(path)}: ${error ? explain(error, schema) : 'it is invalid.'}`,
    )
  }

  /** A body that lacks what the document requires has to fail. */
  private checkRequest({ content, document, path }: Contracted, { json, status }: Exchange): void {
    if (status >= 400 || typeof json !== 'object' || json === null) return
    const reference = content.requestBody?.content['application/json']?.schema?.['$ref']
    const schema = document.components.schemas[nameOf(reference)]
    const required = (schema?.['required'] as string[] | undefined) ?? []
    const missing = required.find((name) => !Object.hasOwn(json, name))
    if (missing === undefined) return
    fail(
      content,
      `returned ${status} for a body without /${missing}, which ${nameOf(reference)} of ${shown(path)} requires. Give it an initial value in ` +
        'the model, allow null, or reject the request.',
    )
  }

  private validatorOf(schema: Schema, path: string): ValidateFunction {
    const text = JSON.stringify(closed(schema)).replaceAll('"#/components', `"${path}#/components`)
    const known = this.validators.get(text)
    if (known) return known
    const validate = this.ajv.compile(JSON.parse(text) as object)
    this.validators.set(text, validate)
    return validate
  }
}

function fail({ operationId }: Operation, problem: string): never {
  throw new ContractError(`${operationId} ${problem}`)
}

/** Pages and redirects of browsers are not in the document. */
function isForPages({ accept, headers }: Exchange): boolean {
  const type = headers.get('content-type') ?? ''
  return type.includes('html') || (accept.includes('text/html') && !/json|xml/.test(type))
}

function shown(path: string): string {
  return path.replace('kit:', '')
}

function nameOf(reference: unknown): string {
  return String(reference).split('/').at(-1) ?? ''
}

/** A copy of a schema that allows no undocumented properties. */
function closed<T>(value: T): T {
  if (Array.isArray(value)) return value.map(closed) as T
  if (typeof value !== 'object' || value === null) return value
  const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, closed(inner)]))
  const isObject = copy['type'] === 'object' && typeof copy['properties'] === 'object'
  return (
    isObject && !('additionalProperties' in copy) ? { ...copy, additionalProperties: false } : copy
  ) as T
}

/** The error of an alternative says more than that no alternative matches. */
function weight({ keyword, instancePath }: ErrorObject): number {
  const isVague = keyword === 'anyOf' || (keyword === 'type' && instancePath !== '')
  return (isVague ? 1000 : 0) - instancePath.length
}

function explain(
  { keyword, instancePath, params, message = '', schemaPath }: ErrorObject,
  schema: Schema,
): string {
  const given = /schemas\/(\w+)/.exec(schemaPath)?.[1]
  const inner = (schema['items'] as Schema | undefined)?.['$ref'] ?? schema['$ref']
  const name = given ?? (inner === undefined ? 'the response' : nameOf(inner))
  const detail: Record<string, unknown> = params
  if (keyword === 'additionalProperties')
    return `${instancePath}/${detail['additionalProperty']} is not in ${name}. Exclude it, or describe the response.`
  if (keyword === 'required')
    return `${instancePath}/${detail['missingProperty']} is missing, but ${name} requires it. Return it, or describe the response.`
  return `${instancePath || '/'} ${message} in ${name}. Correct the value, the model, or describe the response.`
}

/** Ajv is installed by the application that checks its contract. */
function createAjv(): Ajv2020 {
  const require = createRequire(join(process.cwd(), 'package.json'))
  try {
    const { Ajv2020 }: { Ajv2020: new (options: object) => Ajv2020 } = require('ajv/dist/2020.js')
    const addFormats: { default: (ajv: Ajv2020) => void } = require('ajv-formats')
    const ajv = new Ajv2020({ strict: false, allErrors: true })
    addFormats.default(ajv)
    return ajv
  } catch (cause) {
    throw new DeclarationError(
      'The "contract" option of testApplication needs Ajv. Run `npm install --save-dev ajv ajv-formats`.',
      { cause },
    )
  }
}
