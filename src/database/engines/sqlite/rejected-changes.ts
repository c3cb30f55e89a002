import { QueryFailedError } from 'typeorm'
import type { TableDefinition } from './table-definition.js'

/** SQLite reads the schema again after such a change: `error in view names after drop column: ...` */
const ERROR_IN = /^error in (view|index|trigger|table) (.+?)( after [a-z ]+)?: (.+)$/

/** Returns the error of ALTER TABLE with a sentence about what prevents it, or the same error. */
export function explainRejection(error: unknown, table: string): unknown {
  const [, kind = '', name = '', after, reason = ''] = ERROR_IN.exec(messageOf(error)) ?? []
  if (name === '' || kind === 'table') return error
  const cause = after
    ? `the ${kind} "${name}" uses what changes (${reason})`
    : `the ${kind} "${name}" refers to something that does not exist (${reason})`
  return new Error(
    `SQLite cannot change the table "${table}", because ${cause}. ` +
      `Drop the ${kind} before this change, and create it again afterwards if it is still needed.`,
    { cause: error },
  )
}

/** Returns the error of a column that cannot be dropped because its table uses it, or the same error. */
export function columnIsUsed(
  error: unknown,
  definition: TableDefinition,
  table: string,
  column: string,
): unknown {
  const uses = definition.usesOf(column)
  if (!messageOf(error).startsWith('error in table') || uses.length === 0) return error
  return new Error(
    `SQLite cannot drop the column "${column}" of "${table}", because these parts of the table use it: ${uses.join(', ')}. ` +
      'Drop these constraints and columns first.',
    { cause: error },
  )
}

/** Returns the error of a required column that is added to a table with rows, or the same error. */
export function needsValue(error: unknown, table: string, column: string): unknown {
  if (!messageOf(error).includes('NOT NULL column with default value NULL')) return error
  return new Error(
    `The rows that "${table}" already has need a value for the new column "${column}". ` +
      'Give the column a default, or make it nullable, and fill it.',
    { cause: error },
  )
}

function messageOf(error: unknown): string {
  return error instanceof QueryFailedError ? error.driverError.message : ''
}
