import { attributesOf, isEntity, type Attribute } from '../data/attributes/attributes.js'
import { plainAttributesOf } from '../data/attributes/plain-attributes.js'
import { NoAttributes, UnknownAttribute } from '../errors.js'

/**
 * Returns the attributes of a record that a request may set: all of its class, or those that the list names.
 *
 * @throws NoAttributes, UntypedAttribute if the class does not describe them
 * @throws UnknownAttribute if the list names something else
 */
export function writableAttributes(record: object, only?: readonly string[]): readonly Attribute[] {
  const { constructor }: { constructor?: unknown } = record
  if (typeof constructor !== 'function') throw new NoAttributes('An object without a class')
  const attributes = declaredAttributes(constructor)
  if (!only) return attributes
  const names = attributes.map(({ name }) => name)
  const unknown = only.find((name) => !names.includes(name))
  if (unknown !== undefined) throw new UnknownAttribute(constructor.name, unknown, names)
  return attributes.filter(({ name }) => only.includes(name))
}

/** The columns of an entity, or the decorated properties of another class. */
function declaredAttributes(model: Function): readonly Attribute[] {
  const columns = attributesOf(model)
  if (columns.length > 0 || isEntity(model)) return columns
  const properties = plainAttributesOf(model)
  if (properties.length === 0) throw new NoAttributes(model.name)
  return properties
}
