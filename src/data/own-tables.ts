import { QueryFailedError, type QueryRunner, type Table } from 'typeorm'
import { DeclarationError } from '../errors.js'
import type { Database } from './database.js'
import { problemOf } from './engines/problems.js'
import { pendingMigrations } from './migrations/pending.js'

/**
 * Checks that a table of the framework, which a migration of the application has created, has all columns of this version.
 * While migrations are pending, the first request reports them instead.
 *
 * @param describe the public function that describes the table in migrations
 * @param loss the consequence if the table is created again
 * @throws DeclarationError with the migration that creates the table again
 */
export async function checkOwnTable(
  database: Database,
  describe: (runner: QueryRunner, name: string) => Table,
  name: string,
  loss: string,
): Promise<void> {
  const runner = database.createQueryRunner('slave')
  try {
    const columns = describe(runner, name).columns.map((column) => column.name)
    const query = database.createQueryBuilder(runner).select(columns).from(name, name)
    await query.where('1 = 0').getRawMany()
  } catch (cause) {
    if (!(cause instanceof QueryFailedError) || problemOf(cause) !== 'missing') throw cause
    if ((await pendingMigrations(database)).length > 0) return
    throw new DeclarationError(
      `The database has no table "${name}", or one of an earlier version of resource-kit. Generate a migration ` +
        `(\`npx kit generate migration create_${name}_again\`), and write this into its method up: ` +
        `\`await runner.dropTable('${name}', true)\` and \`await runner.createTable(${describe.name}(runner, '${name}'))\`. ${loss}`,
      { cause },
    )
  } finally {
    await runner.release()
  }
}
