import { ValidationErrors } from '../../errors.js'
import { classTransformer, hasTransformMetadata } from '../../data/attributes/transform-metadata.js'

/** Prepares a value for JSON and XML. class-transformer's `@Exclude` and `@Expose` apply, also to nested values. */
export function toPlain(value: unknown): unknown {
  if (value instanceof ValidationErrors) return value.messages
  return idFirst(needsTransform(value) ? classTransformer().instanceToPlain(value) : value)
}

/** A record whose columns were set before its id has the same order of fields as one that was read. */
function idFirst(value: unknown): unknown {
  if (Array.isArray(value)) return value.some(isOutOfOrder) ? value.map(idFirst) : value
  if (!isOutOfOrder(value)) return value
  const { id, created_at, updated_at, ...rest }: Record<string, unknown> = { ...value }
  return { id, created_at, updated_at, ...rest }
}

function isOutOfOrder(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || !('id' in value && 'created_at' in value)) return false
  for (const first in value) return first !== 'id'
  return false
}

/** A record with plain values, of a class without such rules, is serialized unchanged. */
function needsTransform(value: unknown, above: readonly object[] = []): boolean {
  if (!isTree(value)) return false
  if (above.includes(value)) return false
  if (hasTransformMetadata(value.constructor, 'toPlain')) return true
  let path: readonly object[] | undefined
  for (const name in value) {
    const inner = value[name]
    if (isTree(inner) && Object.hasOwn(value, name) && needsTransform(inner, (path ??= [...above, value])))
      return true
  }
  return false
}

/** Whether a value contains other values. */
function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !(value instanceof Date)
}
