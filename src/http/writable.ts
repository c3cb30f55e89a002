import { attributesOf, isEntity, type Attribute } from '../data/attributes.js'
import { NotAnEntity, UnknownAttribute } from '../errors.js'

/**
 * Returns the attributes of a record that a request may set: all of its class, or those that the list names.
 *
 * @throws NotAnEntity if the class has no columns
 * @throws UnknownAttribute if the list names something else
 */
export function writableAttributes(record: object, only?: readonly string[]): readonly Attribute[] {
  const model = entityOf(record)
  const attributes = attributesOf(model)
  if (!only) return attributes
  const names = attributes.map(({ name }) => name)
  const unknown = only.find((name) => !names.includes(name))
  if (unknown !== undefined) throw new UnknownAttribute(model.name, unknown, names)
  return attributes.filter(({ name }) => only.includes(name))
}

/** The class of a record that has columns. */
function entityOf(record: object): Function {
  const { constructor }: { constructor?: unknown } = record
  if (typeof constructor === 'function' && (attributesOf(constructor).length > 0 || isEntity(constructor)))
    return constructor
  throw new NotAnEntity(typeof constructor === 'function' ? constructor.name : 'An object without a class')
}
