import { ValidationErrors } from '../../errors.js'
import { hasTransformMetadata, toPlainObject } from '../../data/attributes/transform-metadata.js'

/** Prepares a value for JSON and XML. class-transformer's `@Exclude` and `@Expose` apply, also to nested values. */
export function toPlain(value: unknown): unknown {
  if (value instanceof ValidationErrors) return value.messages
  return idFirst(needsTransform(value) ? toPlainObject(value) : value)
}

/** Moves the id and the timestamps to the front, so that a record that was just created has the same order as one that was read. */
function idFirst(value: unknown): unknown {
  if (Array.isArray(value)) return value.some(isOutOfOrder) ? value.map(idFirst) : value
  if (!isOutOfOrder(value)) return value
  const { id, created_at, updated_at, ...rest }: Record<string, unknown> = { ...value }
  return { id, created_at, updated_at, ...rest }
}

function isOutOfOrder(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || !('id' in value && 'created_at' in value)) return false
  // A copy would lose the method, which may hide attributes.
  if ('toJSON' in value) return false
  // Only the first property is compared.
  for (const first in value) return first !== 'id'
  return false
}

/**
 * Whether the class of a value, or of a value within it, has rules of class-transformer. Other values are serialized unchanged.
 *
 * @param ancestors the objects around the value, to stop at a circular reference
 */
function needsTransform(value: unknown, ancestors: readonly object[] = []): value is object {
  if (!isTree(value)) return false
  if (ancestors.includes(value)) return false
  if (hasTransformMetadata(value.constructor, 'toPlain')) return true
  let path: readonly object[] | undefined
  for (const name in value) {
    const inner = value[name]
    if (
      isTree(inner) &&
      Object.hasOwn(value, name) &&
      needsTransform(inner, (path ??= [...ancestors, value]))
    )
      return true
  }
  return false
}

/** Whether a value can contain other values. */
function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !(value instanceof Date)
}
