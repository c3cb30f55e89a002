import type { Attribute } from './arguments/attributes.js'
import { listOf } from './files/lines.js'

/**
 * Returns the columns of a new table for its migration.
 *
 * @param keys the columns that refer to a parent and to an owner
 */
export function columnsOf(attributes: readonly Attribute[], keys: readonly string[] = []): string {
  const columns = [
    'primaryKey(runner)',
    ...attributes.filter(({ isList }) => !isList).map(({ migration }) => migration),
    ...keys.map((key) => `column(runner, '${key}', 'uuid')`),
    '...timestamps(runner)',
  ]
  return listOf(8, 'columns', columns)
}

/** The functions of the framework that the migration of a new table calls. */
export function tableFunctions(columns: string, joins: readonly unknown[], prefixes: readonly string[] = []) {
  const functions = [
    (columns.includes('column(') || joins.length > 0) && 'column',
    prefixes.length > 0 && 'prefixIndex',
    'primaryKey',
    'timestamps',
  ]
  return functions.filter(Boolean).join(', ')
}

/** An index of a new table. */
export interface Index {
  /** The name without that of the table. By default it is the first column. */
  name?: string
  columns: readonly string[]
  isUnique?: boolean
}

/** Returns the indexes of a new table; empty if there are none. */
export function indicesOf(table: string, indices: readonly Index[]): string {
  const members = indices.map(({ name, columns, isUnique }) => {
    const names = columns.map((column) => `'${column}'`).join(', ')
    const unique = isUnique ? ', isUnique: true' : ''
    return `{ name: '${indexName(table, name ?? columns[0] ?? '')}', columnNames: [${names}]${unique} }`
  })
  return members.length > 0 ? listOf(8, 'indices', members, members.length > 1) : ''
}

/** `posts_author_id`, shortened to the length that every database supports. */
export function indexName(table: string, column: string): string {
  return `${table}_${column}`.slice(0, 63)
}
