import { descriptionOf, type Declarations } from '../extension.js'
import { DeclarationError, type DeclaredRoute } from '../index.js'
import { DeclaredDocument, type DocumentOptions } from './declared-document.js'
import { manyProblems } from './many.js'
import { ACTIONS, capitalize, operationNames } from './names.js'
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

/** The documents that an application serves. */
export function servedDocuments({ extensions }: Declarations): DeclaredDocument[] {
  return [...extensions.keys()].filter((it) => it instanceof DeclaredDocument)
}

/** The documents of an application; else one of all its routes, which share the outermost scope. */
export function documentsOf(
  declarations: Declarations,
  options: DocumentOptions,
): readonly DeclaredDocument[] {
  const served = servedDocuments(declarations)
  if (served.length > 0) return served
  const document = new DeclaredDocument('/openapi.json', options)
  document.scope = declarations.table.routes[0]?.scopes[0]
  return [document]
}

/**
 * Builds a document from the declarations of its routes. It needs no database.
 *
 * @throws DeclarationError when it is the second one of its scope, when an operation has no name, when two
 *   operations or two classes have the same name, or when a class has no attributes
 */
export function buildDocument(declarations: Declarations, declared: DeclaredDocument): BuiltDocument {
  const [first, second] = servedDocuments(declarations).filter(({ scope }) => scope === declared.scope)
  if (second) {
    throw new DeclarationError(
      `The OpenAPI documents ${first?.path} and ${second.path} describe the same routes. Remove one of them, or declare it in a group.`,
    )
  }
  const routes = routesOf(declarations, declared)
  const schemas = new Schemas(includedRelations(routes), declared.path)
  schemas.add('Problem', 'Problem', 'the framework', () => PROBLEM)
  for (const [name, schema] of manyProblems(routes, PROBLEM))
    schemas.add(name, name, 'the framework', () => schema)
  const operations = routes.flatMap((route) => {
    const methods = route.methods.filter((method) => method !== 'HEAD')
    return methods.map((method) => new Operation(route, method, schemas, declarations.options))
  })
  const paths: OpenApiDocument['paths'] = {}
  const taken = new Map<string, Operation>()
  for (const operation of operations) {
    const { route, method, key } = operation
    const content = { ...operation.toJSON(), ...serverOf(route, declared) }
    for (const name of [`route ${method} ${key}`, `id "${content.operationId}"`]) {
      const other = taken.get(name)
      if (other) throw sameName(name, [other, operation], declared)
      taken.set(name, operation)
    }
    paths[key] = { ...paths[key], [method.toLowerCase()]: content }
  }
  const { page: _page, ...info } = declared.options
  const securitySchemes = Object.assign({}, ...operations.map(({ security }) => security)) as Schema
  const hasSecurity = Object.keys(securitySchemes).length > 0
  const components = { schemas: schemas.toJSON(), ...(hasSecurity && { securitySchemes }) }
  return { operations, document: { openapi: '3.1.0', info, servers: [{ url: '/' }], paths, components } }
}

/** Why a document lacks a possible route; undefined if the application, or a model, describes it. */
function gapOf({ resource, description, path }: DeclaredRoute): string | undefined {
  if (path.includes('{*')) return 'has a wildcard, which OpenAPI does not express'
  if (resource?.forMany) return undefined
  const hasModel = resource?.model !== undefined && ACTIONS.includes(resource.action)
  return description.responses || hasModel ? undefined : 'has no "responses", so the document lacks it'
}

/** Whether a document may contain a route: neither a form nor a handler of `BaseResource` (404). */
function isDescribable({ resource, description, isWritten, method }: DeclaredRoute): boolean {
  if (['HEAD', 'OPTIONS'].includes(method)) return false
  if (!resource) return true
  const { action, class: owner, forMany } = resource
  if (forMany === 'page') return false
  if (['new', 'edit'].includes(action) || descriptionOf(owner.prototype, action) === false) return false
  return isWritten || description.responses !== undefined
}

/** A line for each route that a document lacks because it has no `responses`, or has a wildcard. */
export function undescribedRoutes({ table }: Declarations): string[] {
  return table.routes.filter(isDescribable).flatMap((route) => {
    const { method, path, handlerName } = route
    const isOfFramework = ['redirect', 'openapi'].includes(handlerName) || path.startsWith('/kit/')
    const gap = isOfFramework ? undefined : gapOf(route)
    return gap === undefined ? [] : `${method} ${path} (${handlerName}) ${gap}.`
  })
}

/** The routes of a document: those whose innermost scope with a document is the scope of this document. */
function routesOf(declarations: Declarations, { scope }: DeclaredDocument): DeclaredRoute[] {
  const scopes = new Set([scope, ...servedDocuments(declarations).map((one) => one.scope)])
  const own = declarations.table.routes.filter(
    (route) => route.scopes.findLast((one) => scopes.has(one)) === scope,
  )
  return own.filter((route) => isDescribable(route) && gapOf(route) === undefined)
}

/** Adds the server of a route that has another host than the document. */
function serverOf({ host }: DeclaredRoute, declared: DeclaredDocument): Schema {
  if (!host || host.pattern === declared.host) return {}
  const variables = Object.fromEntries(host.params.map((name) => [name, { default: name }]))
  return { servers: [{ url: `//${host.pattern}`, ...(host.params.length > 0 && { variables }) }] }
}

function sameName(name: string, both: readonly Operation[], { path }: DeclaredDocument): DeclarationError {
  const places = both.map(({ method, route }) => `${method} ${route.path} (${route.handlerName})`)
  return new DeclarationError(
    `Two operations of the document ${path} have the ${name}: ${places.join(' and ')}. Set the "operationId" option of one of them, ` +
      'or extend the group or host of each with openapi().',
  )
}

/** The relations that lists can include. */
function includedRelations(routes: readonly DeclaredRoute[]): IncludedRelation[] {
  return routes.flatMap((route) => {
    const { model, queryable: { include = [] } = {} } = route.resource ?? {}
    if (!model) return []
    const relations: readonly string[] = Array.isArray(include) ? include : Object.keys(include)
    return relations.map((relation) => {
      const name = operationNames(route, 'GET').item + relation.split('_').map(capitalize).join('')
      const given = Object(Reflect.get(include, relation))
      const attributes: string[] | undefined = Array.isArray(given) ? given : given.attributes
      return { model, relation, name, attributes, handler: route.handlerName }
    })
  })
}

const messages: Schema = {
  type: 'object',
  additionalProperties: { type: 'array', items: { type: 'string' } },
}

/** The details of an error (RFC 9457, whose XML keeps the namespace of RFC 7807). */
const PROBLEM: Schema = {
  type: 'object',
  description: 'An error (RFC 9457)',
  properties: {
    type: { type: 'string', description: 'What happened, if the status says too little' },
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
