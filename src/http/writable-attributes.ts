import { attributesOf, isEntity, versionOf, type Attribute } from '../models/attributes/attributes.js'
import { plainAttributesOf } from '../models/attributes/plain-attributes.js'
import { DeclarationError, NoAttributes, UnknownAttribute, UnlistedField } from '../errors.js'
import type { DeclaredRoute } from '../routing/declared-route.js'

/**
 * Returns the attributes of a record that a request may set: those that the handler lists, else the `fields`
 * of its resource if the record belongs to the model, else all attributes of its class.
 *
 * @param only the attributes that the handler lists
 * @throws NoAttributes, UntypedAttribute if the class does not describe its attributes
 * @throws UnlistedField (500) if the handler lists an attribute of the model that is not one of the fields
 * @throws UnknownAttribute if the handler lists something else
 */
export function writableAttributes(
  record: object,
  only: readonly string[] | undefined,
  { resource, handlerName }: Pick<DeclaredRoute, 'resource' | 'handlerName'>,
): readonly Attribute[] {
  const { constructor }: { constructor?: unknown } = record
  if (typeof constructor !== 'function') throw new NoAttributes('An object without a class')
  const attributes = declaredAttributes(constructor, only)
  const { model, fields } = resource ?? {}
  const modelFields = fields && model && record instanceof model ? fields : undefined
  const listed = only ?? modelFields
  if (!listed) return attributes
  const unlisted = modelFields && only?.find((name) => !modelFields.includes(name))
  if (unlisted !== undefined) throw new UnlistedField(handlerName, unlisted)
  const names = attributes.map(({ name }) => name)
  const unknown = listed.find((name) => !names.includes(name))
  if (unknown !== undefined) throw new UnknownAttribute(constructor.name, unknown, names)
  return attributes.filter(({ name }) => listed.includes(name))
}

/**
 * The attributes that the path of a request sets, so that its content cannot: the parameters of the path, and
 * the foreign keys of the parents. A record may change its own parameter, such as `slug`.
 */
export function pathKeysOf(
  params: Iterable<string>,
  resource: DeclaredRoute['resource'],
): ReadonlySet<string> {
  const keys = new Set(params)
  keys.delete(resource?.param ?? '')
  // In a tree, the own parameter and the key of the parent have the same name:
  // `/categories/{slug}/categories/{category_id}`.
  for (const key of resource?.parentKeys ?? []) keys.add(key)
  return keys
}

/** @throws NoAttributes, UntypedAttribute if a class that isn't an entity has no described properties */
function declaredAttributes(model: Function, only: readonly string[] | undefined): readonly Attribute[] {
  const columns = attributesOf(model)
  if (columns.length > 0 || isEntity(model)) return columns
  const properties = plainAttributesOf(model, only)
  if (properties.length === 0) throw new NoAttributes(model.name)
  return properties
}

/**
 * Checks the `fields` and `requireMatch` options of the resources that have routes.
 *
 * @throws DeclarationError when one of the `fields` is not an attribute that a request can set, or when
 *   `requireMatch` is set and the resource has no model with a version
 */
export function checkOptions(routes: readonly DeclaredRoute[]): void {
  for (const { resource, handlerName, middleware } of routes) {
    const { model, fields, requiresMatch } = resource ?? {}
    const [owner] = handlerName.split('.')
    if (requiresMatch && (!model || versionOf(model) === undefined)) {
      const reason = model ? `${model.name} has no property with @VersionColumn().` : 'no model.'
      throw new DeclarationError(`${owner} has the option requireMatch, but ${reason}`)
    }
    if (!model || !fields) continue
    const attributes = attributesOf(model)
    const file = attributes.find((attribute) => attribute.file && fields.includes(attribute.name))
    if (file && !middleware.some((fn) => fn.extension?.storesFiles))
      throw new DeclarationError(
        `${owner} has the field "${file.name}", whose files nothing stores. Declare the resource below app.extend(files), ` +
          'where `files` is storedFiles(database) of resource-kit/files.',
      )
    const known = attributes.map(({ name }) => name)
    const unknown = fields.find((name) => !known.includes(name))
    if (unknown === undefined) continue
    const reason = new UnknownAttribute(model.name, unknown, known).message
    throw new DeclarationError(`${owner} has the field "${unknown}", but ${reason}`)
  }
}
