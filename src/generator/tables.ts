import type { Attribute } from './attributes.js'
import { listOf } from './lines.js'

/**
 * Returns the columns of a new table for its migration.
 *
 * @param parentKey the column that refers to a parent
 */
export function columnsOf(attributes: readonly Attribute[], parentKey?: string): string {
  const columns = [
    'primaryKey(runner)',
    ...attributes.map(({ migration }) => migration),
    ...(parentKey ? [`column(runner, '${parentKey}', 'uuid')`] : []),
    '...timestamps(runner)',
  ]
  return listOf(8, 'columns', columns)
}

/** Returns the indexes of a new table, each with its columns; empty if there are none. */
export function indicesOf(table: string, indices: readonly (readonly string[])[]): string {
  const members = indices.map((columns) => {
    const names = columns.map((column) => `'${column}'`).join(', ')
    return `{ name: '${indexName(table, columns[0] ?? '')}', columnNames: [${names}] }`
  })
  return members.length > 0 ? listOf(8, 'indices', members, members.length > 1) : ''
}

/** `posts_author_id`, shortened to the length that every database supports. */
export function indexName(table: string, column: string): string {
  return `${table}_${column}`.slice(0, 63)
}
