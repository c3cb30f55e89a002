import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Ajv2020, ErrorObject } from 'ajv/dist/2020.js'
import { DeclarationError, type App, type Context, type Extension } from '../index.js'
import { formatOfType } from '../extension.js'
import { buildDocument, documentsOf, servedDocuments, type OpenApiDocument } from './document.js'
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
const ofFramework = [304, 400, 403, 405, 406, 412, 413, 415, 500, 503]

/** The members of an operation that the contract reads, the path of its document, and the model's name. */
interface Contracted {
  operationId: string
  requestBody?: Content
  responses: Record<string, Content & { headers?: Record<string, { required?: boolean }> }>
  path: string
  model: string
}

interface Content {
  content?: Record<string, { schema?: Schema }>
}

/** Compares the responses of an application with its OpenAPI documents. */
export class Contract {
  /** The operations of each route, by their methods. */
  private readonly operations = new Map<unknown, Record<string, Contracted>>()
  /** The requests that the application has handled, by their ids. */
  private readonly handled = new Map<string, Context>()
  /** The requests whose handlers pass attributes to `ctx.bind`, which no document can contain. */
  private readonly withList = new WeakSet<Context>()
  private readonly ajv: Ajv2020

  /**
   * @throws DeclarationError when a document cannot be built, or when Ajv is not installed
   */
  constructor(app: App) {
    this.ajv = createAjv()
    const all = documentsOf(app.declarations, { title: 'Application', version: '0' })
    for (const [index, declared] of all.entries()) {
      const { document, operations } = buildDocument(app.declarations, declared)
      const isServed = servedDocuments(app.declarations).includes(declared)
      const path = isServed ? declared.path : 'the OpenAPI document (`kit openapi`)'
      const id = `kit:${index}`
      const { components, paths } = strictCopy(document, id)
      this.ajv.addSchema({ $id: id, components })
      for (const { route, method, key } of operations) {
        const model = route.resource?.model?.name ?? 'Post'
        const content = paths[key]?.[method.toLowerCase()] as unknown as Contracted
        this.operations.set(route, { ...this.operations.get(route), [method]: { ...content, path, model } })
      }
    }
    app.extend(this.observer())
  }

  /**
   * Checks a response of the application.
   *
   * @throws ContractError when it differs from the document
   */
  check(exchange: Exchange): void {
    const id = exchange.headers.get('x-request-id') ?? ''
    const ctx = this.handled.get(id)
    this.handled.delete(id)
    // The page of a 406 shows that the handler does not offer what the request asks for.
    if (!ctx || (exchange.status !== 406 && isForPages(exchange))) return
    const operation = this.operations.get(ctx.route)?.[ctx.method]
    const problem =
      operation &&
      (this.handlerProblem(ctx) ??
        statusProblem(operation, exchange) ??
        headerProblem(operation, exchange) ??
        this.bodyProblem(operation, exchange) ??
        this.requestProblem(operation, exchange))
    if (problem !== undefined) throw new ContractError(`${operation?.operationId} ${problem}`)
  }

  /** Remembers the context of each request. */
  private observer(): Extension {
    const { handled, withList } = this
    const begin = (ctx: Context): void => {
      // The requests of other clients are never checked, so nothing else removes them.
      if (handled.size > 1000) handled.clear()
      handled.set(ctx.requestId, ctx)
      const { bind } = ctx
      ctx.bind = function (record, only) {
        const { model, fields } = this.route?.resource ?? {}
        if (only && model && !fields && record instanceof model) withList.add(ctx)
        return bind.call(this, record, only as never) as typeof record
      }
    }
    return { name: 'contract', begin }
  }

  private handlerProblem(ctx: Context): string | undefined {
    if (!this.withList.has(ctx)) return undefined
    const [resource] = ctx.route.handlerName.split('.')
    return (
      `calls ctx.bind with a list, but ${resource} has no fields, so the document lists every attribute. Move the list to the ` +
      '"fields" option of @Resource.'
    )
  }

  private bodyProblem(operation: Contracted, { status, headers, text }: Exchange): string | undefined {
    const type = (headers.get('content-type') ?? '').split(';', 1).join()
    if (!/[/+]json$/.test(type) || text === '') return undefined
    const { path, responses } = operation
    const { content = {} } = responses[status] ?? responses['default'] ?? {}
    if (!content[type]) {
      const listed = Object.keys(content).join(', ') || 'no body'
      const advice = status === 422 ? 'Respond with the errors of ctx.save, or describe' : 'Describe'
      return `returned ${status} with ${type}, for which ${path} lists ${listed}. ${advice} the response.`
    }
    const { schema = {} } = content[type]
    const [error] = this.errorsOf(schema, JSON.parse(text)).toSorted((a, b) => weight(a) - weight(b))
    return error && `returned ${status} with a body that differs from ${path}: ${explain(error, schema)}`
  }

  /** A body that lacks what the document requires has to fail. */
  private requestProblem({ requestBody, path }: Contracted, { json, status }: Exchange): string | undefined {
    const { schema = {} } = requestBody?.content?.['application/json'] ?? {}
    const errors = status < 400 && json !== undefined ? this.errorsOf(schema, json) : []
    const missing = errors.find(({ keyword }) => keyword === 'required')
    if (!missing) return undefined
    const name: unknown = missing.params['missingProperty']
    return (
      `returned ${status} for a body without ${missing.instancePath}/${name}, which ${ownerOf(missing, schema)} of ${path} requires. ` +
      `Give ${name} an initial value in the model, allow null, or reject the request.`
    )
  }

  private errorsOf(schema: Schema, value: unknown): ErrorObject[] {
    return this.ajv.validate(schema, value) ? [] : (this.ajv.errors ?? [])
  }
}

function statusProblem(operation: Contracted, exchange: Exchange): string | undefined {
  const { responses, path, model } = operation
  const { status, accept, text } = exchange
  const refused = status === 406 && typesOf(accept).find((type) => lists(responses, type))
  if (refused) return `returned 406 for ${refused}, which ${path} lists. Offer it, or describe the responses.`
  if (responses[status] || ofFramework.includes(status)) return undefined
  const body = text === '' ? "'empty'" : status < 400 ? model : "'problem'"
  return `returned ${status}, which ${path} does not list. Correct the handler, or describe the response: responses: { ${status}: ${body} }.`
}

/** The media types of an `Accept` header, without their parameters. */
function typesOf(accept: string): string[] {
  return accept.split(',').map((type) => type.split(';', 1).join().trim().toLowerCase())
}

/** Whether one of the responses has a media type. */
function lists(responses: Contracted['responses'], type: string): boolean {
  return Object.values(responses).some(({ content }) => content?.[type])
}

function headerProblem({ responses, path }: Contracted, { status, headers }: Exchange): string | undefined {
  const described = Object.entries(responses[status]?.headers ?? {})
  const [name] = described.find(([header, { required }]) => required && !headers.has(header)) ?? []
  return (
    name &&
    `returned ${status} without the ${name} header, which ${path} requires. Set it, or describe the response.`
  )
}

/** Pages and redirects of browsers are not in the document. */
function isForPages({ accept, headers }: Exchange): boolean {
  const type = headers.get('content-type') ?? ''
  return type.includes('html') || (accept.includes('text/html') && !formatOfType(type))
}

/** The name of a schema, or of the items of its list. */
function nameOf({ $ref, items }: Schema): string {
  const reference = String(Object(items).$ref ?? $ref ?? 'the response')
  return reference.slice(reference.lastIndexOf('/') + 1)
}

/** Copies a document, whose schemas then allow no other properties, and refer to the schemas' id. */
function strictCopy(document: OpenApiDocument, id: string): OpenApiDocument {
  return JSON.parse(JSON.stringify(document), (key, value: Schema | null) => {
    if (key === '$ref') return `${id}${value}`
    const isObject = value?.['type'] === 'object' && typeof value['properties'] === 'object'
    return isObject ? { additionalProperties: false, ...value } : value
  }) as OpenApiDocument
}

/** The order of errors, of which the first counts: deep ones first, those that reject alternatives last. */
function weight({ keyword, instancePath }: ErrorObject): number {
  const isVague = keyword === 'anyOf' || (keyword === 'type' && instancePath !== '')
  return (isVague ? 1000 : 0) - instancePath.length
}

/** The name of the schema that an error is about. */
function ownerOf({ schemaPath }: ErrorObject, schema: Schema): string {
  return /schemas\/(\w+)/.exec(schemaPath)?.[1] ?? nameOf(schema)
}

function explain(error: ErrorObject, schema: Schema): string {
  const { keyword, instancePath, message } = error
  const { additionalProperty, missingProperty } = error.params
  const name = ownerOf(error, schema)
  if (keyword === 'additionalProperties')
    return `${instancePath}/${additionalProperty} is not in ${name}. Exclude it, or describe the response.`
  if (keyword === 'required')
    return `${instancePath}/${missingProperty} is missing, but ${name} requires it. Return it, or describe the response.`
  if (keyword === 'type' && instancePath === '')
    return `the body must be ${schema['type'] === 'array' ? 'a list of' : 'one'} ${name}. Correct the handler, or describe the response.`
  return `${instancePath || 'the body'} ${message} in ${name}. Correct the value, the model, or describe the response.`
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
