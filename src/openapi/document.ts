import type { DeclaredDocument, DocumentedRoutes } from '../extension.js'
import { BaseResource, DeclarationError, type DeclaredRoute, type DocumentOptions } from '../index.js'
import { isAction, operationNames } from './names.js'
import { Operation } from './operation.js'
import { Schemas, type IncludedRelation } from './schemas.js'
import type { Schema } from './values.js'

/** An OpenAPI document. */
export interface OpenApiDocument {
  openapi: string
  info: Schema
  servers: readonly Schema[]
  paths: Record<string, Record<string, Schema>>
  components: { schemas: Record<string, Schema>; securitySchemes?: Schema }
}

/** A document, and the routes of its operations. */
export interface BuiltDocument {
  document: OpenApiDocument
  operations: readonly Operation[]
}

/** The documents of an application; without `app.openapi`, one of all its routes. */
export function documentsOf(
  { documents, routes }: DocumentedRoutes,
  options: DocumentOptions,
): readonly DeclaredDocument[] {
  if (documents.length > 0) return documents
  return [{ path: '/openapi.json', options, scope: routes[0]?.scopes[0] ?? {}, host: undefined }]
}

/**
 * Builds a document from the declarations of its routes. It needs no database.
 *
 * @throws DeclarationError when two operations or two classes have one name, or a class has no attributes
 */
export function buildDocument(application: DocumentedRoutes, declared: DeclaredDocument): BuiltDocument {
  const { isApi, sessionName } = application
  const routes = routesOf(application, declared)
  const schemas = new Schemas(includedRelations(routes), declared.path)
  const operations = routes.flatMap((route) =>
    methodsOf(route).map(
      (method) => new Operation(route, method, operationNames(route, method), schemas, isApi),
    ),
  )
  const paths: OpenApiDocument['paths'] = {}
  const schemes: Schema = {}
  const ids = new Map<string, Operation>()
  schemas.add('Problem', 'Problem', 'the framework', () => PROBLEM)
  for (const operation of operations) {
    const { route, method } = operation
    const content = operation.toJSON()
    rejectTaken(String(content['operationId']), operation, ids, declared)
    const path = route.path.replaceAll(/:([A-Za-z_]\w*)/g, '{$1}')
    const item = (paths[path] ??= {})
    if (item[method.toLowerCase()]) throw twice(operation, declared)
    item[method.toLowerCase()] = { ...content, ...serverOf(route, declared) }
    Object.assign(schemes, operation.schemes(sessionName))
  }
  const { page: _page, ...info } = declared.options
  return {
    operations,
    document: {
      openapi: '3.1.0',
      info,
      servers: [{ url: '/' }],
      paths,
      components: {
        schemas: schemas.toJSON(),
        ...(Object.keys(schemes).length > 0 && { securitySchemes: schemes }),
      },
    },
  }
}

/** Whether a route is one that the application describes, or that its model describes. */
export function isDocumented(route: DeclaredRoute): boolean {
  const { resource, description, declared, method, path } = route
  if (description.isHidden || path.includes('{*') || ['HEAD', 'OPTIONS'].includes(method)) return false
  if (description.responses) return !isForm(route)
  if (!resource?.model || !isAction(resource.action)) return false
  return declared !== Reflect.get(BaseResource.prototype, resource.action)
}

/** A line for each route that a document lacks because it has no `responses`, or because it has a wildcard. */
export function undescribedRoutes({ routes }: DocumentedRoutes): string[] {
  return routes.flatMap((route) => {
    const { method, path, handlerName, description, declared, resource } = route
    const isOwn = ['redirect', 'openapi', 'openapiPage', 'openapiFile'].includes(handlerName)
    const isInherited = resource && declared === Reflect.get(BaseResource.prototype, resource.action)
    if (isDocumented(route) || isForm(route) || isOwn || isInherited || description.isHidden) return []
    if (method === 'HEAD' || method === 'OPTIONS') return []
    const why = path.includes('{*')
      ? 'has a wildcard, which OpenAPI does not express'
      : 'has no "responses", so the document lacks it'
    return [`${method} ${path} (${handlerName}) ${why}.`]
  })
}

/** Whether a route is the form of a resource. */
function isForm({ resource }: DeclaredRoute): boolean {
  return resource?.action === 'new' || resource?.action === 'edit'
}

/** The routes of a document: those whose innermost scope with a document is its own. */
function routesOf({ routes, documents }: DocumentedRoutes, { scope }: DeclaredDocument): DeclaredRoute[] {
  const scopes = new Set([scope, ...documents.map((one) => one.scope)])
  return routes.filter(
    (route) => isDocumented(route) && route.scopes.findLast((one) => scopes.has(one)) === scope,
  )
}

function methodsOf({ methods }: DeclaredRoute): string[] {
  return methods.filter((method) => method !== 'HEAD')
}

/** A route of another host is requested there. */
function serverOf({ host }: DeclaredRoute, declared: DeclaredDocument): Schema {
  if (!host || host.pattern === declared.host) return {}
  const variables = Object.fromEntries(host.params.map((name) => [name, { default: name }]))
  return { servers: [{ url: `//${host.pattern}`, ...(host.params.length > 0 && { variables }) }] }
}

function rejectTaken(
  id: string,
  operation: Operation,
  ids: Map<string, Operation>,
  { path }: DeclaredDocument,
): void {
  const taken = ids.get(id)
  ids.set(id, operation)
  if (!taken) return
  throw new DeclarationError(
    `Two operations of the document ${path} have the id "${id}": ${nameOf(taken)} and ${nameOf(operation)}. Set the ` +
      '"operationId" option of one of them.',
  )
}

function twice(operation: Operation, { path }: DeclaredDocument): DeclarationError {
  return new DeclarationError(
    `The document ${path} has ${operation.method} ${operation.route.path} twice. Declare app.openapi in the group or host of each, or leave ` +
      'one out with @Describe(false).',
  )
}

function nameOf({ method, route }: Operation): string {
  return `${method} ${route.path} (${route.handlerName})`
}

/** The relations that lists can include, by model. */
function includedRelations(routes: readonly DeclaredRoute[]): Map<Function, IncludedRelation[]> {
  const included = new Map<Function, IncludedRelation[]>()
  for (const route of routes) {
    const { model, queryable } = route.resource ?? {}
    const { include } = queryable ?? {}
    if (!model || !include) continue
    const { item } = operationNames(route, 'GET')
    const entries: [string, unknown][] = Array.isArray(include)
      ? include.map((name: string) => [name, true])
      : Object.entries(include)
    const found = entries.map(([relation, given]): IncludedRelation => {
      const attributes = Array.isArray(given) ? given : (Object(given).attributes as string[] | undefined)
      const name = item + pascal(relation)
      return { relation, name, attributes, handler: route.handlerName }
    })
    included.set(model, [...(included.get(model) ?? []), ...found])
  }
  return included
}

function pascal(name: string): string {
  return name.replaceAll(/(?:^|_)(\p{L})/gu, (_, letter: string) => letter.toUpperCase())
}

const messages: Schema = {
  type: 'object',
  additionalProperties: { type: 'array', items: { type: 'string' } },
}

/** The details of an error (RFC 9457). */
const PROBLEM: Schema = {
  type: 'object',
  description: 'An error (RFC 9457)',
  properties: {
    status: { type: 'integer' },
    title: { type: 'string' },
    request_id: { type: 'string' },
    detail: { type: 'string' },
    errors: { ...messages, description: 'The messages by field' },
    codes: { ...messages, description: 'The broken rules by field' },
  },
  required: ['status', 'title', 'request_id'],
  xml: { name: 'problem', namespace: 'urn:ietf:rfc:7807' },
}
