import type { QueryRunner } from 'typeorm'
import { engineOf } from '../engines/engines.js'
import { retryStatement } from './table-locks.js'

/** Statements that change something. */
const CHANGES = /^\s*(create|alter|drop|rename|truncate|insert|update|delete|replace)\b/i
/** Changes of the schema. MariaDB and MySQL commit before them, and begin no transaction afterwards. */
const COMMITS = /^\s*(create|alter|drop|rename|truncate)\b/i

/**
 * Watches a migration, to report what remains of it if it fails: nothing, if its transaction is rolled back.
 * MariaDB and MySQL commit at every change of the schema, so that earlier statements remain. If a table is
 * locked, the migration therefore cannot run again from its beginning. Instead, the statement is tried again.
 *
 * @param isTransactional whether the migration runs in a transaction at all
 * @returns a function that returns the report, in full sentences
 */
export function watchRemains(runner: QueryRunner, isTransactional: boolean): () => string {
  const commits = engineOf(runner.dataSource).schemaChangesCommit
  if (isTransactional && !commits) return () => nothingRemains

  const statements: string[] = []
  let isCommitted = !isTransactional
  const { query } = runner
  const watched = async (sql: string, ...rest: unknown[]): Promise<unknown> => {
    isCommitted ||= COMMITS.test(sql)
    const run = (): Promise<unknown> => Reflect.apply(query, runner, [sql, ...rest]) as Promise<unknown>
    const result = await (commits ? retryStatement(run) : run())
    if (CHANGES.test(sql)) statements.push(sql)
    return result
  }
  // It returns the result of the wrapped method, whichever of its signatures is called.
  runner.query = watched as QueryRunner['query']
  return () => {
    const reason = isTransactional
      ? 'MariaDB and MySQL cannot roll back a change of the schema'
      : 'This migration runs without a transaction'
    return isCommitted && statements.length > 0 ? `${reason}: ${describe(statements)}` : nothingRemains
  }
}

/** The report if nothing remains. */
export const nothingRemains = 'Its changes were rolled back. Correct it, and run `kit db migrate` again.'

function describe(statements: readonly string[]): string {
  const lines = statements.map((sql) => `  ${sql.replaceAll(/\s+/g, ' ').trim().slice(0, 200)}`)
  return (
    `its changes up to the failure remain, and its state is unchanged (\`kit db status\`).\n` +
    `Statements that were run:\n${lines.join('\n')}\n` +
    'Undo them by hand, correct the migration, and run the command again.'
  )
}
