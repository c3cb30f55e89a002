import { getMetadataArgsStorage } from 'typeorm'
import type { ColumnMetadataArgs } from 'typeorm/metadata-args/ColumnMetadataArgs.js'
import { memoizeByObject } from '../../common/memoize.js'
import { ownFiles, type FileAttribute } from './file-attributes.js'
import { kindOf, type Attribute, type AttributeKind } from './kinds.js'
import { ownNestedLists, type NestedList } from './nested-lists.js'
import { ownRelationIds, type RelationIdsProperty } from './relation-ids.js'

export { kindOf, type Attribute, type AttributeKind }

/**
 * The attributes of a model that a client may set: its regular columns, the inherited ones first. They leave
 * out the id, the datetimes that the framework sets, a version, generated columns, columns that are hidden
 * (`select: false`) or not written (`insert: false`, `update: false`), and columns whose type has no textual
 * form (a blob, an array). The lists of `@RelationIds` follow the columns, then the attributes with files,
 * instead of their columns, and then the lists of `@Nested`.
 */
export const attributesOf = memoizeByObject((model: Function): Attribute[] => [
  ...columnsOf(model)
    .filter((column) => isSettable(column) && !isOfFile(model, column))
    .flatMap(toAttribute),
  ...relationIdsOf(model).map(({ name }): Attribute => ({
    name,
    kind: 'uuid',
    nullable: false,
    isList: true,
  })),
  ...filesOf(model).map((file): Attribute => ({
    name: file.name,
    kind: 'uuid',
    nullable: !file.isList,
    ...(file.isList && { isList: true }),
    file,
  })),
  ...nestedListsOf(model).map((lines): Attribute => ({
    name: lines.name,
    kind: 'json',
    nullable: false,
    isList: true,
    nested: lines.line,
    lines,
  })),
])

/** The lists of a model with `@Nested`, the inherited ones first. */
export const nestedListsOf = memoizeByObject((model: Function): readonly NestedList[] =>
  ancestorsOf(model).flatMap(ownNestedLists),
)

/** The attributes of a line that a request may set. */
export function lineAttributes({ line, fields }: NestedList): Attribute[] {
  return attributesOf(line).filter(({ name, isList }) => fields.includes(name) && !isList)
}

/** The files that lines have, of the lists among the fields of a resource, and the pattern of their parts in a form: `lines[0][photo]`. */
export function filesOfLines(model: Function | undefined, fields: readonly string[] = []) {
  const lists = model ? nestedListsOf(model).filter(({ name }) => fields.includes(name)) : []
  return lists.flatMap((list) =>
    lineAttributes(list).flatMap(({ file }) =>
      file ? [{ list, file, part: `^${list.name}\\[\\w+\\]\\[${file.name}\\]$` }] : [],
    ),
  )
}

/** The attributes of a model that contain files, the inherited ones first. */
export const filesOf = memoizeByObject((model: Function): readonly FileAttribute[] =>
  ancestorsOf(model).flatMap(ownFiles),
)

function isOfFile(model: Function, { propertyName }: ColumnMetadataArgs): boolean {
  return filesOf(model).some(({ column }) => column === propertyName)
}

/** The properties of a model with the ids of a relation, the inherited ones first. */
export function relationIdsOf(model: Function): RelationIdsProperty[] {
  return ancestorsOf(model).flatMap(ownRelationIds)
}

/** The property of a model with the `@VersionColumn` decorator; undefined if it has none. */
export const versionOf = memoizeByObject(
  (model: Function): string | undefined =>
    columnsOf(model).find(({ mode }) => mode === 'version')?.propertyName,
)

/** The version of a record; undefined if its model has none, or if the value is not a record. */
export function versionIn(value: unknown): unknown {
  const model: unknown = typeof value === 'object' && value !== null ? value.constructor : undefined
  const property = typeof model === 'function' ? versionOf(model) : undefined
  return property === undefined ? undefined : (Reflect.get(Object(value), property) ?? undefined)
}

/** Whether a class, or a class that it extends, is marked with `@Entity`. */
export function isEntity(model: Function): boolean {
  const ancestors: unknown[] = ancestorsOf(model)
  return getMetadataArgsStorage().tables.some(({ target }) => ancestors.includes(target))
}

/** The columns of a class and its ancestors. If a class redeclares a column, its declaration counts. */
export function columnsOf(model: Function): ColumnMetadataArgs[] {
  const ancestors = ancestorsOf(model)
  const { columns } = getMetadataArgsStorage()
  const byName = new Map<string, ColumnMetadataArgs>()
  for (const ancestor of ancestors) {
    for (const column of columns) if (column.target === ancestor) byName.set(column.propertyName, column)
  }
  return [...byName.values()]
}

/** A class and its ancestors, the most general one first. */
export function ancestorsOf(model: Function): Function[] {
  const parent: unknown = Object.getPrototypeOf(model)
  return typeof parent === 'function' && parent !== Function.prototype
    ? [...ancestorsOf(parent), model]
    : [model]
}

function isSettable({ target, propertyName, mode, options }: ColumnMetadataArgs): boolean {
  const isGenerated = getMetadataArgsStorage().generations.some(
    (generation) => generation.target === target && generation.propertyName === propertyName,
  )
  const isWritten = options.insert !== false && options.update !== false && !options.asExpression
  return mode === 'regular' && !options.primary && !isGenerated && isWritten && options.select !== false
}

/** The attribute of a column, in a list that is empty if the column's type has no textual form. */
export function toAttribute({ propertyName, options }: ColumnMetadataArgs): Attribute[] {
  const kind = options.array ? undefined : kindOf(options.type)
  if (!kind) return []
  return [
    {
      name: propertyName,
      kind,
      nullable: options.nullable ?? false,
      ...(options.enum && { values: valuesOf(options.enum) }),
      ...(options.length && { length: Number(options.length) }),
      ...(typeof options.precision === 'number' && { precision: options.precision }),
      ...(options.scale !== undefined && { scale: options.scale }),
    },
  ]
}

/** The values of an enum. A numeric TypeScript enum also maps numbers to names: those are left out. */
function valuesOf(enumeration: object): Array<string | number> {
  if (Array.isArray(enumeration)) return enumeration
  return Object.entries(enumeration)
    .filter(([key]) => Number.isNaN(Number(key)))
    .map(([, value]) => value)
}
