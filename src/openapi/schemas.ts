import { getMetadataArgsStorage } from 'typeorm'
import {
  ancestorsOf,
  attributesOf,
  columnsOf,
  exposedName,
  exposedProperties,
  instanceOf,
  isEntity,
  kindOf,
  plainAttributeOf,
  plainAttributesOf,
  recordName,
  relationIdsOf,
  toAttribute,
  transformRules,
  validatedProperties,
  versionOf,
  type Attribute,
} from '../extension.js'
import { DeclarationError } from '../index.js'
import { isOptional, rejectsNull, withRules } from './rules.js'
import { collectionSchema, listSchema, nullable, valueSchema, type Direction, type Schema } from './values.js'

/** A relation that a list can include in its records. */
export interface IncludedRelation {
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
   * @param included the relations that lists can include, by model
   * @param document its path, for messages
   */
  constructor(
    private readonly included: ReadonlyMap<Function, readonly IncludedRelation[]>,
    private readonly document: string,
  ) {}

  /** All schemas, in alphabetical order. */
  toJSON(): Record<string, Schema> {
    const sorted = [...this.components].toSorted(([a], [b]) => (a < b ? -1 : 1))
    return Object.fromEntries(sorted.map(([name, { schema }]) => [name, schema]))
  }

  /** The schema of the records of a class in a response. */
  response(model: Function, handler: string): Schema {
    return this.add(model.name, model, handler, () =>
      objectSchema(recordName(model.name), this.shown(model, handler)),
    )
  }

  /** The schema of a list of records. */
  list(model: Function, handler: string): Schema {
    return collectionSchema(recordName(model.name), this.response(model, handler))
  }

  /**
   * The schema of a body that sets attributes of a class.
   *
   * @param source the route that has it alone, or the class
   */
  body(name: string, source: object, model: Function, options: BodyOptions, handler: string): Schema {
    return this.add(name, source, handler, () => bodySchema(model, options))
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

  /** The properties that JSON and XML show of the records of a class. */
  private shown(model: Function, handler: string): Property[] {
    if (!isEntity(model)) return this.plainProperties(model, handler)
    const lists = relationIdsOf(model).map(({ name }): Property => [name, idsSchema(name)])
    const included = this.included.get(model) ?? []
    const relations = [...new Set(included.map(({ relation }) => relation))].map((name): Property => {
      const all = included.filter(({ relation }) => relation === name)
      return [name, this.relationSchema(model, name, all), true]
    })
    return [...columnProperties(model), ...lists, ...getters(model), ...relations]
  }

  private plainProperties(model: Function, handler: string): Property[] {
    const typed = Object.getOwnPropertyNames(instanceOf(model)).filter((name) =>
      transformRules(model, name, 'toPlain').type(),
    )
    const names = new Set([...validatedProperties(model), ...typed, ...exposedProperties(model)])
    const properties = [...names].flatMap((name) => {
      const type = transformRules(model, name, 'toPlain').type()
      if (type) return property(model, name, 'toPlain', () => this.nested(model, name, type, handler))
      const attribute = plainAttributeOf(model, name)
      const schema = () => attributeSchema(attribute, 'response')
      return property(model, name, 'toPlain', schema, attribute?.nullable)
    })
    if (properties.length > 0) return properties
    throw new DeclarationError(
      `${model.name}, which ${handler} describes, has no attributes. Add decorators of class-validator to its properties, for ` +
        'example @Allow(), or pass another class.',
    )
  }

  /** A property with `@Type`: one object, or a list of them. */
  private nested(model: Function, name: string, type: Function, handler: string): Schema {
    const isList = Reflect.getMetadata('design:type', model.prototype as object, name) === Array
    if (type === Date) return isList ? listSchema(name, dateTime) : dateTime
    const item = this.response(type, handler)
    const schema = isList ? listSchema(name, item) : item
    return isOptional(model, name) ? nullable(schema) : schema
  }

  private relationSchema(model: Function, relation: string, all: readonly IncludedRelation[]): Schema {
    const { related, isMany } = relationOf(model, relation)
    const references = all.map(({ name, attributes, handler }) =>
      attributes
        ? this.add(name, `${name} ${attributes}`, handler, () => this.partial(related, attributes))
        : this.response(related, handler),
    )
    const distinct = [...new Map(references.map((one) => [one['$ref'], one])).values()]
    if (isMany) return listSchema(relation, distinct.length === 1 ? distinct[0]! : { anyOf: distinct })
    return { anyOf: [...distinct, { type: 'null' }] }
  }

  /** A related record with the attributes of a list. */
  private partial(related: Function, attributes: readonly string[]): Schema {
    const names = attributes.map((name) => transformRules(related, name, 'toPlain').name)
    const shown = columnProperties(related).filter(([name]) => names.includes(name))
    return objectSchema(recordName(related.name), shown)
  }
}

/** A property of an object: its name, its schema, and whether it may be missing. */
type Property = [name: string, schema: Schema, isOptional?: boolean | undefined]

/** A property as the rules of class-transformer leave it: none, one of another name, or one of any value. */
function property(
  model: Function,
  name: string,
  direction: 'toPlain' | 'toClass',
  schema: () => Schema,
  isMissable?: boolean,
): Property[] {
  const { isExcluded, isChanged, name: shown } = transformRules(model, name, direction)
  return isExcluded ? [] : [[shown, isChanged ? {} : schema(), isMissable]]
}

const dateTime: Schema = { type: 'string', format: 'date-time' }

function objectSchema(xmlName: string | undefined, properties: readonly Property[]): Schema {
  const required = properties.filter(([, , optional]) => !optional).map(([name]) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(properties.map(([name, schema]) => [name, schema])),
    ...(required.length > 0 && { required }),
    ...(xmlName !== undefined && { xml: { name: xmlName } }),
  }
}

function columnProperties(model: Function): Property[] {
  const columns = columnsOf(model)
    .filter(({ options, mode }) => options.select !== false && mode !== 'virtual')
    .flatMap((column) => property(model, column.propertyName, 'toPlain', () => columnSchema(column)))
  const ancestors: unknown[] = ancestorsOf(model)
  const embedded = getMetadataArgsStorage()
    .embeddeds.filter(({ target, isArray }) => ancestors.includes(target) && !isArray)
    .flatMap(({ propertyName, type }) => {
      const schema = () => objectSchema(undefined, columnProperties((type as () => Function)()))
      return property(model, propertyName, 'toPlain', schema)
    })
  return [...columns, ...embedded]
}

type Column = ReturnType<typeof columnsOf>[number]

/** The kinds of the columns that TypeORM writes. */
const WRITTEN: Partial<Record<Column['mode'], Attribute['kind']>> = {
  createDate: 'datetime',
  updateDate: 'datetime',
  deleteDate: 'datetime',
  version: 'int',
  treeLevel: 'int',
}

function columnSchema(column: Column): Schema {
  const { mode, options } = column
  const kind = options.array || options.transformer ? undefined : (kindOf(options.type) ?? WRITTEN[mode])
  if (!kind) return {}
  const [attribute] = toAttribute(column)
  const schema = valueSchema(attribute ?? { kind }, 'response')
  return (options.nullable ?? mode === 'deleteDate') ? nullable(schema) : schema
}

/** The getters with `@Expose`, by the type that TypeScript has emitted. */
function getters(model: Function): Property[] {
  const columns = columnsOf(model).map(({ propertyName }) => propertyName)
  return exposedProperties(model)
    .filter((name) => !columns.includes(name))
    .flatMap((name) => {
      const type: unknown = Reflect.getMetadata('design:type', model.prototype as object, name)
      return property(model, name, 'toPlain', () => EMITTED.get(type) ?? {})
    })
}

const EMITTED = new Map<unknown, Schema>([
  [String, { type: 'string' }],
  [Number, { type: 'number' }],
  [Boolean, { type: 'boolean' }],
  [Date, dateTime],
])

function idsSchema(name: string): Schema {
  return listSchema(name, { type: 'string', format: 'uuid' }, { uniqueItems: true })
}

function attributeSchema(attribute: Attribute | undefined, direction: Direction): Schema {
  if (!attribute) return {}
  const value = valueSchema(attribute, direction)
  if (attribute.isList) return listSchema(attribute.name, value)
  return attribute.nullable ? nullable(value) : value
}

function bodySchema(model: Function, { fields, pathKeys, isNew }: BodyOptions): Schema {
  const isModel = isEntity(model)
  const attributes = isModel ? attributesOf(model) : plainAttributesOf(model)
  if (attributes.length === 0 && !isModel) {
    throw new DeclarationError(
      `${model.name} describes a body, but has no attributes. Add decorators of class-validator to its properties, or pass another class.`,
    )
  }
  const properties = attributes
    .filter(({ name }) => (fields?.includes(name) ?? true) && !pathKeys.has(name))
    .flatMap((attribute) => {
      const { name, isList } = attribute
      const isNullable = attribute.nullable && !rejectsNull(model, name)
      const schema = () => {
        const isIds = isList && isModel
        const value = isIds ? idsSchema(name) : attributeSchema({ ...attribute, nullable: false }, 'body')
        return isNullable ? nullable(withRules(model, name, value)) : withRules(model, name, value)
      }
      const isMissable = isList === true || !isNew || !isRequired(model, attribute, isModel)
      return property(model, name, 'toClass', schema, isMissable)
    })
  const version = isNew ? undefined : versionOf(model)
  if (version !== undefined)
    properties.push([exposedName(model, version), nullable(valueSchema({ kind: 'int' }, 'body')), true])
  return objectSchema(isModel ? recordName(model.name) : undefined, properties)
}

/** Whether a new record needs a value: it rejects null, and neither the model nor the column has another one. Rules run before the column's. */
function isRequired(model: Function, { name, nullable: isNullable }: Attribute, isModel: boolean): boolean {
  if (Reflect.get(instanceOf(model), name) !== undefined) return false
  if (rejectsNull(model, name)) return true
  if (isNullable) return false
  const column = isModel ? columnsOf(model).find(({ propertyName }) => propertyName === name) : undefined
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
