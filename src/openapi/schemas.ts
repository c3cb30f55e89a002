import { getMetadataArgsStorage } from 'typeorm'
import {
  ancestorsOf,
  attributesOf,
  collectionName,
  columnsOf,
  exposedProperties,
  filesOf,
  instanceOf,
  isEntity,
  isListProperty,
  nestedListsOf,
  plainAttributeOf,
  plainAttributesOf,
  recordName,
  transformRules,
  validatedProperties,
  versionOf,
  type Attribute,
  type NestedList,
} from '../extension.js'
import { DeclarationError } from '../index.js'
import { fileBody, STORED_FILE } from './files.js'
import { bodyName } from './names.js'
import { isOptional, rejectsNull, withRules } from './rules.js'
import {
  attributeSchema,
  columnAttribute,
  listSchema,
  nullable,
  valueSchema,
  type Direction,
  type Schema,
} from './values.js'

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
  pathKeys?: ReadonlySet<string>
  /** Whether the body creates a record, so that some attributes are required. */
  isNew?: boolean
}

/** A schema of the document, and what it was made of. */
interface Component {
  source: unknown
  direction: Direction
  /** The handler that needed it first. */
  handler: string
  schema: Schema
}

/** A property of a class, its schema, and whether JSON may lack it. */
interface Property {
  name: string
  schema(): Schema
  isMissable?: boolean | undefined
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
    return this.add(model.name, model, handler, () =>
      objectSchema(model, 'toPlain', this.shown(model, handler), recordName(model.name)),
    )
  }

  /** The schema of a list of records. */
  list(model: Function, handler: string): Schema {
    const items = this.response(model, handler)
    return { type: 'array', items, xml: { name: collectionName(recordName(model.name)), wrapped: true } }
  }

  /**
   * The schema of a body that sets attributes of a class.
   *
   * @param source the route if no other route has the same body, or else the class
   */
  body(name: string, source: object, model: Function, options: BodyOptions, handler: string): Schema {
    const part = (type: Function, lines?: NestedList) =>
      lines ? this.lineOf(lines, handler) : this.bodyOf(type, handler)
    const make = () =>
      objectSchema(model, 'toClass', bodyProperties(model, options, part), recordName(model.name))
    return this.add(name, source, handler, make, 'body')
  }

  /** The schema of a body, or of the objects in one, of a class that is not a model. All routes share it. */
  bodyOf(type: Function, handler: string): Schema {
    return this.body(bodyName(type.name), type, type, { isNew: true }, handler)
  }

  /** The schema of an entry of a `@Nested` list: with the id of a line it changes it, else creates one. */
  private lineOf({ line, fields }: NestedList, handler: string): Schema {
    const id: Property = { name: 'id', schema: () => valueSchema({ kind: 'uuid' }, 'body'), isMissable: true }
    const part = (type: Function) => this.bodyOf(type, handler)
    const own = () => bodyProperties(line, { fields }, part).filter(({ name }) => fields.includes(name))
    const make = () => objectSchema(line, 'toClass', [id, ...own()], recordName(line.name))
    return this.add(bodyName(line.name), line, handler, make, 'body')
  }

  /** @throws DeclarationError when another class or route has the name, or a class has no attributes */
  add(
    name: string,
    source: unknown,
    handler: string,
    make: () => Schema,
    direction: Direction = 'response',
  ): Schema {
    const known = this.components.get(name)
    if (known && known.source === source && known.direction !== direction) {
      throw new DeclarationError(
        `${name} is the class of a body and of a response in the document ${this.document}, whose schemas differ: ` +
          `${known.handler} and ${handler}. Describe the response with another class, or rename ${name}, so that its name does not ` +
          'end with Body, Request or Input.',
      )
    }
    if (known && known.source !== source) {
      throw new DeclarationError(
        `Two schemas of the document ${this.document} are named "${name}": those of ${known.handler} and ${handler}. Rename one ` +
          'of the classes, or describe one of the handlers in another way.',
      )
    }
    if (!known) {
      // The component is stored before its schema is made, because a class can refer to itself.
      const component: Component = { source, direction, handler, schema: {} }
      this.components.set(name, component)
      component.schema = make()
      const isEmpty = Object.keys(Object(component.schema['properties'])).length === 0
      if (isEmpty && typeof source === 'function' && !isEntity(source)) {
        throw new DeclarationError(
          `${source.name}, which ${handler} describes, has no attributes. Add decorators of class-validator to its properties, for ` +
            'example @Allow(), or pass another class.',
        )
      }
    }
    return { $ref: `#/components/schemas/${name}` }
  }

  /** The properties that JSON and XML show of a class. If it is not a model, its rules name them. */
  private shown(model: Function, handler: string): Property[] {
    const columns = columnsOf(model).map(({ propertyName }) => propertyName)
    const lists = attributesOf(model).filter(({ isList, file, lines }) => isList && !file && !lines)
    const others = [...(isEntity(model) ? [] : validatedProperties(model)), ...exposedProperties(model)]
    const included = this.included.flatMap((one) => (one.model === model ? one.relation : []))
    const relations = new Set([...included, ...eagerRelationsOf(model)])
    return [
      ...columnProperties(model),
      ...lists.map(attributeProperty),
      ...nestedListsOf(model).map(({ name, line }) => ({
        name,
        schema: () => listSchema(name, this.response(line, handler)),
      })),
      ...filesOf(model).map(({ name, isList }) => ({ name, schema: () => this.file(name, isList, handler) })),
      ...Array.from(new Set(others), (name) => this.property(model, name, handler)).filter(
        ({ name }) => !columns.includes(name),
      ),
      // A created record lacks even its eager relations, which only a query loads.
      ...Array.from(relations, (name) => {
        return { name, schema: () => this.relation(model, name, handler), isMissable: true }
      }),
    ]
  }

  /** The schema of a stored file, or of a list of them. */
  private file(name: string, isList: boolean, handler: string): Schema {
    const file = this.add('StoredFile', STORED_FILE, handler, () => STORED_FILE)
    return isList ? listSchema(name, file) : nullable(file)
  }

  /** A property without a column: an object of `@Type`, a list of them, or a value of its type. */
  private property(model: Function, name: string, handler: string): Property {
    const attribute = plainAttributeOf(model, name)
    const type = attribute?.nested ?? transformRules(model, name, 'toPlain').type()
    const isMissable = isOptional(model, name)
    const schema = (): Schema => {
      if (!type) return attribute ? attributeSchema(attribute, 'response') : {}
      const item =
        type === Date ? valueSchema({ kind: 'datetime' }, 'response') : this.response(type, handler)
      const value = isListProperty(model, name) ? listSchema(name, item) : item
      return isMissable ? nullable(value) : value
    }
    return { name, schema, isMissable }
  }

  /** A related record, or a list of them, as one of the lists shows it, or as every query loads it. */
  private relation(model: Function, relation: string, handler: string): Schema {
    const { related, isMany } = relationOf(model, relation)
    const all = this.included.filter((one) => one.model === model && one.relation === relation)
    const references = all.map(({ name, attributes, handler: list }) => {
      if (!attributes) return this.response(related, list)
      const properties = columnProperties(related).filter((one) => attributes.includes(one.name))
      // Lists that include the same attributes share a schema.
      return this.add(name, `${name} ${attributes}`, list, () =>
        objectSchema(related, 'toPlain', properties, recordName(related.name)),
      )
    })
    if (eagerRelationsOf(model).includes(relation)) references.push(this.response(related, handler))
    const distinct = [...new Map(references.map((one) => [one['$ref'], one])).values()]
    if (isMany) return listSchema(relation, distinct.length === 1 ? distinct[0]! : { anyOf: distinct })
    return { anyOf: [...distinct, { type: 'null' }] }
  }
}

/** The schema of an object, whose properties the rules of class-transformer may exclude, rename or change. */
function objectSchema(
  model: Function,
  direction: 'toPlain' | 'toClass',
  properties: readonly Property[],
  element?: string,
): Schema {
  const shown = properties.flatMap(({ name, schema, isMissable }) => {
    const rules = transformRules(model, name, direction)
    return rules.isExcluded ? [] : [{ name: rules.name, schema: rules.isChanged ? {} : schema(), isMissable }]
  })
  const required = shown.flatMap(({ name, isMissable }) => (isMissable ? [] : name))
  return {
    type: 'object',
    properties: Object.fromEntries(shown.map(({ name, schema }) => [name, schema])),
    ...(required.length > 0 && { required }),
    ...(element !== undefined && { xml: { name: element } }),
  }
}

function columnProperties(model: Function): Property[] {
  const columns = columnsOf(model).filter(
    ({ options, mode, propertyName }) =>
      options.select !== false &&
      mode !== 'virtual' &&
      !filesOf(model).some(({ column }) => column === propertyName),
  )
  const embedded = getMetadataArgsStorage().filterEmbeddeds(ancestorsOf(model))
  return [
    ...columns.map((column) => attributeProperty(columnAttribute(column))),
    ...embedded.map(({ propertyName, type }) => {
      const part = (type as () => Function)()
      return { name: propertyName, schema: () => objectSchema(part, 'toPlain', columnProperties(part)) }
    }),
  ]
}

function attributeProperty(attribute: Attribute): Property {
  return { name: attribute.name, schema: () => attributeSchema(attribute, 'response') }
}

/** @param part returns the schema of the objects of a class in the body */
function bodyProperties(
  model: Function,
  { fields, pathKeys, isNew = false }: BodyOptions,
  part: (type: Function, lines?: NestedList) => Schema,
): Property[] {
  const attributes = isEntity(model) ? attributesOf(model) : plainAttributesOf(model)
  const settable = attributes.filter(({ name }) => (fields?.includes(name) ?? true) && !pathKeys?.has(name))
  const properties = settable.map((attribute): Property => {
    const { name, isList, nested, file, lines } = attribute
    const value = () => {
      if (file) return fileBody(file)
      if (lines) {
        const limits = { ...(lines.min > 0 && { minItems: lines.min }), maxItems: lines.max }
        return listSchema(name, part(lines.line, lines), limits)
      }
      if (!nested) return withRules(model, name, attributeSchema({ ...attribute, nullable: false }, 'body'))
      return isList ? withRules(model, name, listSchema(name, part(nested))) : part(nested)
    }
    const isNullable = attribute.nullable && !rejectsNull(model, name)
    return {
      name,
      schema: () => (isNullable ? nullable(value()) : value()),
      isMissable: (isList && !nested) || !isNew || (lines ? lines.min === 0 : !isRequired(model, attribute)),
    }
  })
  const version = isNew ? undefined : versionOf(model)
  if (version === undefined) return properties
  const schema = () => nullable(valueSchema({ kind: 'int' }, 'body'))
  return [...properties, { name: version, schema, isMissable: true }]
}

/**
 * Whether a new record needs a value: it rejects null, and has no initial value in the model. The default of
 * a column is enough only if no rule rejects null, because the rules run before the INSERT.
 */
function isRequired(model: Function, { name, nullable: isNullable }: Attribute): boolean {
  if (Reflect.get(instanceOf(model), name) !== undefined) return false
  if (rejectsNull(model, name)) return true
  if (isNullable) return false
  const column = columnsOf(model).find(({ propertyName }) => propertyName === name)
  return column?.options.default === undefined
}

/** The relations of a model that every query loads. */
function eagerRelationsOf(model: Function): string[] {
  const relations = getMetadataArgsStorage().filterRelations(ancestorsOf(model))
  return relations.flatMap(({ propertyName, options }) => (options.eager ? propertyName : []))
}

/** The model at the other end of a relation, and whether it has several records. */
function relationOf(model: Function, name: string): { related: Function; isMany: boolean } {
  const relations = getMetadataArgsStorage().filterRelations(ancestorsOf(model))
  const found = relations.find(({ propertyName }) => propertyName === name)
  // The type is a class, or an arrow function that returns a class.
  const type: unknown = found?.type
  const related: unknown = typeof type === 'function' && type.prototype === undefined ? type() : type
  if (!found || typeof related !== 'function')
    throw new DeclarationError(`${model.name} has no relation "${name}" to a class, which a list includes.`)
  return { related, isMany: found.relationType.endsWith('to-many') }
}
