import { getMetadataArgsStorage } from 'typeorm'
import {
  ancestorsOf,
  attributesOf,
  collectionName,
  columnsOf,
  exposedProperties,
  instanceOf,
  isEntity,
  plainAttributeOf,
  plainAttributesOf,
  recordName,
  transformRules,
  validatedProperties,
  versionOf,
  type Attribute,
} from '../extension.js'
import { DeclarationError } from '../index.js'
import { isOptional, rejectsNull, withRules } from './rules.js'
import { attributeSchema, columnAttribute, listSchema, nullable, valueSchema, type Schema } from './values.js'

/** A relation that a list can include in its records. */
export interface IncludedRelation {
  model: Function
  relation: string
  /** The name of the schema of related records with a list of attributes. */
  name: string
  attributes: readonly string[] | undefined
  /** The handler of the list, for messages. */
  handler: string
}

/** The attributes that a body may set. */
export interface BodyOptions {
  fields?: readonly string[] | undefined
  /** The keys that the path sets. */
  pathKeys: ReadonlySet<string>
  /** Whether the body creates a record, so that some of them are required. */
  isNew: boolean
}

/** A schema of the document, and what it was made of. */
interface Component {
  source: unknown
  /** The handler that needed it first. */
  handler: string
  schema: Schema
}

/** The schemas of a document, by name. */
export class Schemas {
  private readonly components = new Map<string, Component>()

  /**
   * @param included the relations that lists can include
   * @param document its path, for messages
   */
  constructor(
    private readonly included: readonly IncludedRelation[],
    private readonly document: string,
  ) {}

  /** All schemas, in alphabetical order. */
  toJSON(): Record<string, Schema> {
    const sorted = [...this.components].toSorted(([a], [b]) => (a < b ? -1 : 1))
    return Object.fromEntries(sorted.map(([name, { schema }]) => [name, schema]))
  }

  /** The schema of the records of a class in a response. */
  response(model: Function, handler: string): Schema {
    return this.add(model.name, model, handler, () => {
      const properties = isEntity(model) ? this.shown(model) : this.plain(model, handler)
      return objectSchema(model, 'toPlain', properties, { handler, xml: recordName(model.name) })
    })
  }

  /** The schema of a list of records. */
  list(model: Function, handler: string): Schema {
    const items = this.response(model, handler)
    return { type: 'array', items, xml: { name: collectionName(recordName(model.name)), wrapped: true } }
  }

  /**
   * The schema of a body that sets attributes of a class.
   *
   * @param source the route that has it alone, or the class
   */
  body(name: string, source: object, model: Function, options: BodyOptions, handler: string): Schema {
    const xml = isEntity(model) ? recordName(model.name) : undefined
    return this.add(name, source, handler, () =>
      objectSchema(model, 'toClass', bodyProperties(model, options), { handler, xml }),
    )
  }

  /** @throws DeclarationError when another class or route has the name */
  add(name: string, source: unknown, handler: string, make: () => Schema): Schema {
    const known = this.components.get(name)
    if (known && known.source !== source) {
      throw new DeclarationError(
        `Two schemas of the document ${this.document} are named "${name}": those of ${known.handler} and ${handler}. Rename one ` +
          'of the classes, or describe one of the handlers in another way.',
      )
    }
    if (!known) {
      const component: Component = { source, handler, schema: {} }
      this.components.set(name, component)
      component.schema = make()
    }
    return { $ref: `#/components/schemas/${name}` }
  }

  /** The properties that JSON and XML show of a model. */
  private shown(model: Function): Property[] {
    const lists = attributesOf(model).filter(({ isList }) => isList)
    const relations = this.included.flatMap((one) => (one.model === model ? one.relation : []))
    return [
      ...columnProperties(model),
      ...lists.map((list) => ({ name: list.name, schema: () => attributeSchema(list, 'response') })),
      ...getters(model),
      ...Array.from(new Set(relations), (name) => {
        return { name, schema: () => this.relation(model, name), isMissable: true }
      }),
    ]
  }

  /** The properties of a class that is not a model: those that a decorator or their initial value tells. */
  private plain(model: Function, handler: string): Property[] {
    const typeOf = (name: string) => transformRules(model, name, 'toPlain').type()
    const typed = Object.getOwnPropertyNames(instanceOf(model)).filter(typeOf)
    const names = new Set([...validatedProperties(model), ...typed, ...exposedProperties(model)])
    return Array.from(names, (name) => {
      const type = typeOf(name)
      if (type) return { name, schema: () => this.nested(model, name, type, handler) }
      const attribute = plainAttributeOf(model, name)
      const schema = () => (attribute ? attributeSchema(attribute, 'response') : {})
      return { name, schema, isMissable: attribute?.nullable }
    })
  }

  /** A property with `@Type`: one object, or a list of them. */
  private nested(model: Function, name: string, type: Function, handler: string): Schema {
    const isList = Reflect.getMetadata('design:type', model.prototype as object, name) === Array
    const item = type === Date ? dateTime : this.response(type, handler)
    const schema = isList ? listSchema(name, item) : item
    return isOptional(model, name) ? nullable(schema) : schema
  }

  /** A related record, or a list of them, as one of the lists shows it. */
  private relation(model: Function, relation: string): Schema {
    const { related, isMany } = relationOf(model, relation)
    const all = this.included.filter((one) => one.model === model && one.relation === relation)
    const references = all.map(({ name, attributes, handler }) => {
      if (!attributes) return this.response(related, handler)
      const properties = columnProperties(related).filter((one) => attributes.includes(one.name))
      const options = { xml: recordName(related.name) }
      return this.add(name, `${name} ${attributes}`, handler, () =>
        objectSchema(related, 'toPlain', properties, options),
      )
    })
    const distinct = [...new Map(references.map((one) => [one['$ref'], one])).values()]
    if (isMany) return listSchema(relation, distinct.length === 1 ? distinct[0]! : { anyOf: distinct })
    return { anyOf: [...distinct, { type: 'null' }] }
  }
}

/** A property of a class, its schema, and whether JSON may lack it. */
interface Property {
  name: string
  schema(): Schema
  isMissable?: boolean | undefined
}

/** The element of an object in XML, and the handler that describes it, for messages. */
interface ObjectOptions {
  xml?: string | undefined
  handler?: string
}

/**
 * The schema of an object, whose properties the rules of class-transformer may exclude, rename or change.
 *
 * @throws DeclarationError when a class that is not a model has no properties
 */
function objectSchema(
  model: Function,
  direction: 'toPlain' | 'toClass',
  properties: readonly Property[],
  { xml, handler }: ObjectOptions,
): Schema {
  const shown = properties.flatMap(({ name, schema, isMissable }) => {
    const rules = transformRules(model, name, direction)
    return rules.isExcluded ? [] : [{ name: rules.name, schema: rules.isChanged ? {} : schema(), isMissable }]
  })
  if (shown.length === 0 && handler !== undefined && !isEntity(model)) {
    throw new DeclarationError(
      `${model.name}, which ${handler} describes, has no attributes. Add decorators of class-validator to its properties, for ` +
        'example @Allow(), or pass another class.',
    )
  }
  const required = shown.flatMap(({ name, isMissable }) => (isMissable ? [] : name))
  return {
    type: 'object',
    properties: Object.fromEntries(shown.map(({ name, schema }) => [name, schema])),
    ...(required.length > 0 && { required }),
    ...(xml !== undefined && { xml: { name: xml } }),
  }
}

function columnProperties(model: Function): Property[] {
  const columns = columnsOf(model).filter(
    ({ options, mode }) => options.select !== false && mode !== 'virtual',
  )
  const ancestors: unknown[] = ancestorsOf(model)
  const embedded = getMetadataArgsStorage().embeddeds.filter(
    ({ target, isArray }) => ancestors.includes(target) && !isArray,
  )
  return [
    ...columns.map((column) => ({ name: column.propertyName, schema: () => columnSchema(column) })),
    ...embedded.map(({ propertyName, type }) => {
      const part = (type as () => Function)()
      return { name: propertyName, schema: () => objectSchema(part, 'toPlain', columnProperties(part), {}) }
    }),
  ]
}

function columnSchema(column: ReturnType<typeof columnsOf>[number]): Schema {
  const { mode, options } = column
  const attribute = options.transformer ? undefined : columnAttribute(column)
  if (!attribute) return {}
  const schema = valueSchema(attribute, 'response')
  return (options.nullable ?? mode === 'deleteDate') ? nullable(schema) : schema
}

const dateTime = valueSchema({ kind: 'datetime' }, 'response')

/** The getters with `@Expose`, by the type that TypeScript has emitted. */
function getters(model: Function): Property[] {
  const columns = columnsOf(model).map(({ propertyName }) => propertyName)
  const names = exposedProperties(model).filter((name) => !columns.includes(name))
  return names.map((name) => {
    const type: unknown = Reflect.getMetadata('design:type', model.prototype as object, name)
    return { name, schema: () => EMITTED.get(type) ?? {} }
  })
}

const EMITTED = new Map<unknown, Schema>([
  [String, { type: 'string' }],
  [Number, { type: 'number' }],
  [Boolean, { type: 'boolean' }],
  [Date, dateTime],
])

function bodyProperties(model: Function, { fields, pathKeys, isNew }: BodyOptions): Property[] {
  const attributes = isEntity(model) ? attributesOf(model) : plainAttributesOf(model)
  const settable = attributes.filter(({ name }) => (fields?.includes(name) ?? true) && !pathKeys.has(name))
  const properties = settable.map((attribute): Property => {
    const { name, isList } = attribute
    const value = () => withRules(model, name, attributeSchema({ ...attribute, nullable: false }, 'body'))
    const isNullable = attribute.nullable && !rejectsNull(model, name)
    return {
      name,
      schema: () => (isNullable ? nullable(value()) : value()),
      isMissable: isList === true || !isNew || !isRequired(model, attribute),
    }
  })
  const version = isNew ? undefined : versionOf(model)
  if (version === undefined) return properties
  const schema = () => nullable(valueSchema({ kind: 'int' }, 'body'))
  return [...properties, { name: version, schema, isMissable: true }]
}

/** Whether a new record needs a value: it rejects null, and neither the model nor the column has another one. Rules run before the column's. */
function isRequired(model: Function, { name, nullable: isNullable }: Attribute): boolean {
  if (Reflect.get(instanceOf(model), name) !== undefined) return false
  if (rejectsNull(model, name)) return true
  if (isNullable) return false
  const column = columnsOf(model).find(({ propertyName }) => propertyName === name)
  return column?.options.default === undefined
}

/** The model at the other end of a relation, and whether it has several records. */
function relationOf(model: Function, name: string): { related: Function; isMany: boolean } {
  const ancestors: unknown[] = ancestorsOf(model)
  const found = getMetadataArgsStorage().relations.find(
    ({ target, propertyName }) => ancestors.includes(target) && propertyName === name,
  )
  const type: unknown = found?.type
  const related: unknown = typeof type === 'function' && type.prototype === undefined ? type() : type
  if (!found || typeof related !== 'function')
    throw new DeclarationError(`${model.name} has no relation "${name}" to a class, which a list includes.`)
  return { related, isMany: found.relationType.endsWith('to-many') }
}
