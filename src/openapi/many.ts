import type { DeclaredRoute } from '../index.js'
import { capitalize, operationNames } from './names.js'
import type { Schema } from './values.js'

/** The parts of the operation of an import or of a bulk action. */
export interface ManyOperation {
  names: { operationId: string; summary: string }
  parameters: Schema[]
  /** The content of the body. */
  content: Schema
  /** The responses by status, instead of those of the handler. */
  responses: Record<string, Schema>
}

const text: Schema = { schema: { type: 'string' } }
const count: Schema = { type: 'integer', minimum: 0 }
const strings: Schema = { type: 'array', items: { type: 'string' } }

/** Describes a route for many records; undefined for any other route. */
export function manyOperation(route: DeclaredRoute): ManyOperation | undefined {
  const { resource } = route
  if (!resource?.forMany) return undefined
  const { item } = operationNames(route, 'POST')
  return resource.forMany === 'bulk' ? bulkOperation(resource.action, item) : importOperation(item)
}

function importOperation(item: string): ManyOperation {
  const properties = { created: count, updated: count, ignored: strings }
  const file = { type: 'string', format: 'binary', contentMediaType: 'text/csv' }
  return {
    names: {
      operationId: `import${item}`,
      summary: `Imports ${item} records from a CSV file: all lines, or none`,
    },
    parameters: [
      {
        name: 'check',
        in: 'query',
        description: 'Checks the file, and saves nothing',
        schema: { type: 'boolean', enum: [true] },
      },
    ],
    content: {
      'text/csv': text,
      'multipart/form-data': { schema: { type: 'object', properties: { file }, required: ['file'] } },
    },
    responses: {
      200: ok('The numbers of records', properties),
      413: problem('The file is too large', 'Problem'),
      422: problem('Some lines are not valid', 'ImportProblem'),
    },
  }
}

function bulkOperation(action: string, item: string): ManyOperation {
  const ids = { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 1000 }
  const all = {
    type: 'integer',
    minimum: 1,
    maximum: 1000,
    description: 'The number of records in the list of the query',
  }
  const schema = { type: 'object', properties: { ids, all }, additionalProperties: true }
  return {
    names: {
      operationId: `bulk${capitalize(action)}${item}`,
      summary: `Calls ${action} for the selected records: all, or none`,
    },
    parameters: [],
    content: { 'application/json': { schema }, 'application/xml': { schema } },
    responses: {
      200: ok('The number of records', { count }),
      404: problem('One of the records does not exist', 'Problem'),
      409: problem('The list has another number of records', 'Problem'),
      422: problem('Some records cannot be changed', 'BulkProblem'),
    },
  }
}

function ok(description: string, properties: Schema): Schema {
  const schema = { type: 'object', properties, required: Object.keys(properties) }
  return { description, content: { 'application/json': { schema }, 'application/xml': { schema } } }
}

function problem(description: string, name: string): Schema {
  const content = { schema: { $ref: `#/components/schemas/${name}` } }
  return { description, content: { 'application/problem+json': content, 'application/problem+xml': content } }
}

/** The schemas of the problems of these routes, which have the errors of each line or record. */
export function manyProblems(
  routes: readonly DeclaredRoute[],
  base: Schema,
): [name: string, schema: Schema][] {
  const { errors, codes } = Object(base.properties)
  const withEntries = (list: string, key: string, type: string): Schema => {
    const item = {
      type: 'object',
      properties: { [key]: { type }, errors, codes },
      required: [key, 'errors', 'codes'],
    }
    return { ...base, properties: { ...Object(base.properties), [list]: { type: 'array', items: item } } }
  }
  const has = (kind: string): boolean => routes.some(({ resource }) => resource?.forMany === kind)
  return [
    ...(has('import')
      ? [['ImportProblem', withEntries('lines', 'line', 'integer')] as [string, Schema]]
      : []),
    ...(has('bulk') ? [['BulkProblem', withEntries('records', 'id', 'string')] as [string, Schema]] : []),
  ]
}
