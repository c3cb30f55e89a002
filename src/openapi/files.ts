import { filesOf, filesOfLines, type FileAttribute } from '../extension.js'
import type { DeclaredRoute } from '../index.js'
import { listSchema, nullable, type Schema } from './values.js'

/** The schema of a stored file in responses: the component `StoredFile`. */
export const STORED_FILE: Schema = objectOf({
  id: { type: 'string', format: 'uuid' },
  filename: { type: 'string' },
  content_type: { type: 'string' },
  byte_size: { type: 'integer' },
  width: nullable({ type: 'integer' }),
  height: nullable({ type: 'integer' }),
  url: nullable({ type: 'string' }),
})

function objectOf(properties: Record<string, Schema>): Schema {
  const variants = { type: 'object', additionalProperties: nullable({ type: 'string' }) }
  return { type: 'object', properties: { ...properties, variants }, required: Object.keys(properties) }
}

/** The schema of an attribute with files in responses: a file's token or id, or the object of a response. */
export function fileBody({ name, isList, maxCount }: FileAttribute): Schema {
  const object = { type: 'object', properties: { id: { type: 'string', format: 'uuid' } }, required: ['id'] }
  const value = { anyOf: [{ type: 'string' }, object] }
  return isList ? listSchema(name, value, { maxItems: maxCount }) : value
}

/** The attributes with files that the requests of a resource can set. */
export function filesOfRoute({ resource }: DeclaredRoute): readonly FileAttribute[] {
  const { model, fields, action = '' } = resource ?? {}
  if (!model || !fields || !['create', 'update'].includes(action)) return []
  return filesOf(model).filter(({ name }) => fields.includes(name))
}

/** The patterns of the parts with files of lines that the requests of a resource can have. */
export function partsOfLines({ resource }: DeclaredRoute): string[] {
  const isWritten = ['create', 'update'].includes(resource?.action ?? '')
  return isWritten ? filesOfLines(resource?.model, resource?.fields).map(({ part }) => part) : []
}

/** The multipart form of a route: its fields, its files with the types that they accept, and the files of lines. */
export function fileForm(
  fields: Schema | undefined,
  files: readonly FileAttribute[],
  partsOfLines: readonly string[],
): Schema {
  const file = { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' }
  const properties = files.map(({ name, isList }) => {
    return [name, isList ? { type: 'array', items: file } : file] as const
  })
  const encoding = files.flatMap(({ name, types }) =>
    types.length > 0 ? [[name, { contentType: types.join(', ') }] as const] : [],
  )
  const patternProperties = Object.fromEntries(partsOfLines.map((part) => [part, file]))
  const form = {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(partsOfLines.length > 0 && { patternProperties }),
  }
  return {
    schema: fields ? { allOf: [fields, form] } : form,
    ...(encoding.length > 0 && { encoding: Object.fromEntries(encoding) }),
  }
}
