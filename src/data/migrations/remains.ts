import type { QueryRunner } from 'typeorm'
import { engineOf } from '../engines/engines.js'

/** What changes something. */
const CHANGES = /^\s*(create|alter|drop|rename|truncate|insert|update|delete|replace)\b/i
/** What changes the schema: MariaDB and MySQL commit before it, and begin no other transaction after it. */
const COMMITS = /^\s*(create|alter|drop|rename|truncate)\b/i

/**
 * Watches what a migration does, to say what is left of it when it fails: nothing, where its transaction is rolled back.
 * MariaDB and MySQL end a transaction at every change of the schema, so that what was done stays.
 *
 * @param isTransactional whether the migration is run in a transaction at all
 * @returns says what is left, in whole sentences
 */
export function watchRemains(runner: QueryRunner, isTransactional: boolean): () => string {
  const isUndone = isTransactional && !engineOf(runner.dataSource).schemaChangesCommit
  if (isUndone) return () => NOTHING

  const done: string[] = []
  let isCommitted = !isTransactional
  const { query } = runner
  const watched = async (sql: string, ...rest: unknown[]): Promise<unknown> => {
    isCommitted ||= COMMITS.test(sql)
    const result: unknown = await Reflect.apply(query, runner, [sql, ...rest])
    if (CHANGES.test(sql)) done.push(sql)
    return result
  }
  // It returns what the method that it wraps returns, whichever of its signatures is called.
  runner.query = watched as QueryRunner['query']
  return () => {
    const reason = isTransactional
      ? 'MariaDB and MySQL cannot roll back a change of the schema'
      : 'This migration runs without a transaction'
    return isCommitted && done.length > 0 ? `${reason}: ${listOf(done)}` : NOTHING
  }
}

const NOTHING = 'Its changes were rolled back. Correct it, and run `kit db migrate` again.'

function listOf(done: readonly string[]): string {
  const statements = done.map((sql) => `  ${sql.replaceAll(/\s+/g, ' ').trim().slice(0, 200)}`)
  return (
    `its changes up to the failure remain, and its state is unchanged (\`kit db status\`).\n` +
    `Statements that were run:\n${statements.join('\n')}\n` +
    'Undo them by hand, correct the migration, and run the command again.'
  )
}
