import { ValidationErrors } from '../../errors.js'
import { memoizeByObject } from '../../common/memoize.js'
import { columnsOf } from '../../models/attributes/attributes.js'
import {
  exposedName,
  hasTransformMetadata,
  toPlainObject,
} from '../../models/attributes/transform-metadata.js'

/** Prepares a value for JSON and XML. class-transformer's `@Exclude` and `@Expose` apply at any depth. */
export function toPlain(value: unknown): unknown {
  if (value instanceof ValidationErrors) return value.messages
  return inOrder(needsTransform(value) ? toPlainObject(value) : value, value)
}

/**
 * Writes the members of a record that was just created in the order of the columns, as those of a record that
 * was read, so that both have the same tag.
 *
 * @param plain a value, or what class-transformer has made of it
 */
function inOrder(plain: unknown, value: unknown): unknown {
  if (Array.isArray(plain)) {
    const values: unknown[] = Array.isArray(value) ? value : []
    return plain.some(isOutOfOrder) ? plain.map((item, index) => inOrder(item, values[index])) : plain
  }
  if (!isOutOfOrder(plain)) return plain
  const members = new Map<string, unknown>(
    Object.entries(plain).map(([name, inner]) => [
      name,
      Array.isArray(inner) ? inOrder(inner, Reflect.get(Object(value), name)) : inner,
    ]),
  )
  const { constructor }: { constructor?: unknown } = Object(value)
  const model = typeof constructor === 'function' ? constructor : Object
  const names = membersOf(model).filter((name) => members.has(name))
  return Object.fromEntries([...names.map((name) => [name, members.get(name)] as const), ...members])
}

/** The names of the columns of a class in JSON and XML, in order; for other objects, those of every model. */
const membersOf = memoizeByObject((model: Function): readonly string[] => [
  ...new Set([
    'id',
    'created_at',
    'updated_at',
    ...columnsOf(model).map(({ propertyName }) => exposedName(model, propertyName)),
  ]),
])

function isOutOfOrder(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || !('id' in value && 'created_at' in value)) return false
  // A copy would lose the method, which may hide attributes.
  if ('toJSON' in value) return false
  // Only the first property is compared.
  for (const first in value) return first !== 'id'
  return false
}

/**
 * Whether the class of a value, or of a value within it, has rules of class-transformer. Other values are
 * serialized unchanged.
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
