import { attributesOf, isEntity, versionOf, type Attribute } from '../data/attributes/attributes.js'
import { plainAttributesOf } from '../data/attributes/plain-attributes.js'
import { DeclarationError, NoAttributes, UnknownAttribute, UnlistedField } from '../errors.js'
import type { DeclaredRoute } from '../routing/declared-route.js'

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

/** The parts of a route that tell which fields its requests may set. */
type ServingRoute = Pick<DeclaredRoute, 'resource' | 'handlerName'>

/**
 * Returns the names of the attributes that a handler may bind: those that it lists, else the fields of its resource.
 *
 * @throws UnlistedField (500) when the handler lists an attribute that is not one of the fields
 */
export function listedFields(
  record: object,
  only: readonly string[] | undefined,
  { resource, handlerName }: ServingRoute,
): readonly string[] | undefined {
  const { fields, model } = resource ?? {}
  if (!fields || !model || !(record instanceof model)) return only
  const unlisted = only?.find((name) => !fields.includes(name))
  if (unlisted !== undefined) throw new UnlistedField(handlerName, unlisted)
  return only ?? fields
}

/**
 * Checks the `fields` and `requireMatch` options of the resources that have routes.
 *
 * @throws DeclarationError when one of the fields is not an attribute that a request can set, or when there is no model with a
 *   version that requests could match
 */
export function checkOptions(routes: readonly ServingRoute[]): void {
  for (const { resource, handlerName } of routes) {
    const { model, fields, requiresMatch } = resource ?? {}
    const [owner] = handlerName.split('.')
    if (requiresMatch && (!model || versionOf(model) === undefined)) {
      const reason = model ? `${model.name} has no property with @VersionColumn().` : 'no model.'
      throw new DeclarationError(`${owner} has the option requireMatch, but ${reason}`)
    }
    if (!model || !fields) continue
    const known = attributesOf(model).map(({ name }) => name)
    const unknown = fields.find((name) => !known.includes(name))
    if (unknown === undefined) continue
    const reason = new UnknownAttribute(model.name, unknown, known).message
    throw new DeclarationError(`${owner} has the field "${unknown}", but ${reason}`)
  }
}
