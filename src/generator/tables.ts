import type { Attribute } from './arguments/attributes.js'
import type { Names } from './arguments/names.js'
import { listOf, quote } from './files/lines.js'
import { shortName } from '../naming/short-name.js'
import { itemName } from '../naming/words.js'

/** An index of a new table. */
interface Index {
  /** The name without that of the table. By default it is the first column. */
  name?: string
  columns: readonly string[]
  isUnique?: boolean
  /** A sentence about its purpose. */
  why: string
}

/**
 * Returns the variables of the migration that creates a table.
 *
 * @param belongsTo the models of the owner and of the parent, whose keys are the last columns
 * @param team the one of them with which the records are not deleted
 * @param prefixes the columns that a list finds by their beginning
 * @param hasTrash whether its unique indexes ignore trashed records
 */
export function tableLocals(
  table: string,
  attributes: readonly Attribute[],
  indices: readonly Index[],
  belongsTo: readonly Names[] = [],
  prefixes: readonly string[] = [],
  team?: Names,
  hasTrash = false,
) {
  const relations = relationsOf(attributes, belongsTo, team)
  const own = attributes.filter(({ isList }) => !isList).map(({ migration }) => migration)
  const keys = belongsTo.map(({ singular }) => `column(runner, '${singular}_id', 'uuid')`)
  const joins = joinTablesOf(table, attributes)
  const files = attributes.filter(({ file }) => file)
  const fileLists = files
    .filter(({ isList }) => isList)
    .map(({ name }) => ({ name: `${table}_${name}`, attribute: name, owner: `${itemName(table)}_id`, table }))
  const functions = [
    own.length + keys.length + joins.length + fileLists.length > 0 && 'column',
    prefixes.length > 0 && 'prefixIndex',
    'primaryKey',
    'timestamps',
    hasTrash && indices.some(({ isUnique }) => isUnique) && 'uniqueOutsideTrash',
  ]
  return {
    columns: listOf(8, 'columns', ['primaryKey(runner)', ...own, ...keys, '...timestamps(runner)']),
    relations,
    joins,
    /** The columns with the ids of files, and the tables with lists of files. */
    fileKeys: files.flatMap(({ name, isList }) => (isList ? [] : `${name}_id`)),
    fileLists,
    prefixes,
    indices: indicesOf(table, hasTrash ? indices.filter(({ isUnique }) => !isUnique) : indices),
    /** The unique indexes that ignore trashed records. */
    uniquesOutsideTrash: hasTrash
      ? indicesOf(
          table,
          indices.filter(({ isUnique }) => isUnique),
        )
      : [],
    /** The functions of the framework that the migration calls. */
    functions: functions.filter((name) => name !== false),
  }
}

/** The foreign keys of a table. */
function relationsOf(attributes: readonly Attribute[], belongsTo: readonly Names[], team?: Names) {
  const references = attributes.flatMap(({ name: column, isNullable, isList, reference }) =>
    reference && !isList
      ? [{ column, property: reference.property, names: reference.model, isNullable, cascade: false }]
      : [],
  )
  const owners = belongsTo.map((names) => ({
    column: `${names.singular}_id`,
    property: names.singular,
    names,
    isNullable: false,
    cascade: names.model !== team?.model,
  }))
  return [...references, ...owners]
}

/** The tables of the many-to-many relations of a model: `issues_labels` with the keys `issue_id` and `label_id`. */
export function joinTablesOf(table: string, attributes: readonly Attribute[]) {
  return attributes.flatMap(({ isList, reference }) => {
    if (!isList || !reference) return []
    const { property, model } = reference
    const name = indexName(table, property)
    const column = `${itemName(property)}_id`
    return {
      name,
      /** The property with the related records: `labels`. */
      property,
      model: model.model,
      keys: [
        { column: `${itemName(table)}_id`, table },
        { column, table: model.plural },
      ],
      indices: indicesOf(name, [
        {
          columns: [column],
          why: `The primary key begins with ${itemName(table)}_id. This index finds rows by ${column}.`,
        },
      ]),
    }
  })
}

/** The indexes with their whole names, and their columns as the members of a list in the source. */
function indicesOf(table: string, indices: readonly Index[]) {
  return indices.map(({ name, columns, isUnique = false, why }) => {
    return {
      name: indexName(table, name ?? columns[0] ?? ''),
      list: columns.map(quote).join(', '),
      isUnique,
      why,
    }
  })
}

/** An index of columns that are unique together, in a table with a trash only outside of it. */
export function uniqueIndex(columns: readonly string[], many: string, hasTrash = false): Index {
  return {
    name: hasTrash ? `${columns.join('_')}_unique` : columns.join('_'),
    columns,
    isUnique: true,
    why: `No two ${many}${hasTrash ? ' outside of the trash' : ''} have the same ${columns.join(' and ')}.`,
  }
}

/** Why there is an index of a column that has `index` on the command line. */
export function whyIndexed(column: string): string {
  return `Finds rows by ${column}.`
}

/** `posts_author_id`, shortened to the length that every database supports. */
export function indexName(table: string, column: string): string {
  return shortName(`${table}_${column}`)
}
