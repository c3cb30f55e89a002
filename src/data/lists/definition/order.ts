import { DeclarationError } from '../../../errors.js'
import type { ListColumn, ListDefinition, SortKey } from './definition.js'
import { listColumn } from './list-model.js'

/**
 * The order of a handler as sort keys.
 *
 * @throws DeclarationError when it has something else than columns with a direction
 */
export function sortKeysOf(definition: ListDefinition, order: object, list: string): SortKey[] {
  return Object.entries(order).map(([name, direction]) => {
    const metadata = definition.metadata.findColumnWithPropertyPathStrict(name)
    const text = String(direction).toUpperCase()
    const isDescending = text === 'DESC' || text === '-1'
    if (!metadata || (!isDescending && text !== 'ASC' && text !== '1')) {
      throw new DeclarationError(
        `${list} has the order "${name}". Use columns with the direction ASC or DESC, or remove the order.`,
      )
    }
    const column = listColumn(metadata)
    if (definition.hasCursors) rejectWithoutCursor(column, list)
    return { column, isDescending }
  })
}

/**
 * A cursor contains the value of each column of the order, which must be the same in the database and in JavaScript.
 *
 * @throws DeclarationError when it isn't for a column
 */
export function rejectWithoutCursor({ name, kind, metadata }: ListColumn, list: string): void {
  const why =
    kind === 'enum' || kind === 'float'
      ? `has the kind ${kind}`
      : metadata.isNullable
        ? 'can be null'
        : undefined
  if (why === undefined) return
  throw new DeclarationError(
    `${list} has cursor pages and sorts by "${name}", which ${why}. Remove it from the order, or use pages: 'numbers'.`,
  )
}
