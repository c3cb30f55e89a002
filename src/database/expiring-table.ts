import { QueryFailedError, type ObjectLiteral, type QueryRunner, type Table } from 'typeorm'
import { checkNumbers } from '../common/numbers.js'
import { DeclarationError } from '../errors.js'
import type { Database } from './database.js'
import { createRunner } from './engines/mode.js'
import { problemOf } from './engines/problems.js'
import { explainMissingTable, pendingMigrations } from './migrations/pending.js'
import { retryConflicts } from './retry-conflicts.js'

/** The number of rows that a clean-up deletes. It is limited, to not delay the request. */
const batchSize = 500

/** Describes a table whose rows expire. */
export interface ExpiringTableOptions {
  name: string
  /** The public function that describes the table in migrations. Its `id` column is the primary key. */
  describe: (runner: QueryRunner, name: string) => Table
  /** The column with the time at which a row expires, in milliseconds since 1970. */
  expiresAt: string
  /** Milliseconds between two clean-ups (10 minutes). */
  cleanUpEvery?: number | undefined
  /** Returns the time in milliseconds (`Date.now`). */
  now?: (() => number) | undefined
  /** The consequence if the table is created again. */
  loss: string
}

/** A table of the framework with rows that expire, made by a migration: sessions, rate limits, keys. */
export class ExpiringTable {
  private cleanedAt = 0

  constructor(
    protected readonly database: Database,
    private readonly options: ExpiringTableOptions,
  ) {
    checkNumbers(`the table ${options.name}`, options, { cleanUpEvery: {} })
  }

  /**
   * Opens the database, and checks that the table has all columns of this version. While migrations are
   * pending, the first request reports them instead.
   *
   * @throws DeclarationError with the migration that creates the table again
   */
  async start(): Promise<void> {
    await this.database.hold()
    const { name, describe, loss } = this.options
    const runner = createRunner(this.database, 'read')
    try {
      const columns = describe(runner, name).columns.map((column) => column.name)
      const query = this.database.createQueryBuilder(runner).select(columns).from(name, name)
      await query.where('1 = 0').getRawMany()
    } catch (cause) {
      if (!(cause instanceof QueryFailedError) || problemOf(cause) !== 'missing') throw cause
      if ((await pendingMigrations(this.database)).length > 0) return
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

  stop(): Promise<void> {
    return this.database.release()
  }

  protected get table(): string {
    return this.options.name
  }

  protected now(): number {
    return (this.options.now ?? Date.now)()
  }

  /** Inserts a row. */
  async insert(row: ObjectLiteral): Promise<void> {
    const query = this.database.createQueryBuilder().insert().into(this.options.name)
    await this.run(() => query.values(row).execute())
  }

  /** Changes a row. Returns whether it exists. */
  async update(id: string, values: ObjectLiteral, tx = this.database.manager): Promise<boolean> {
    const query = tx.createQueryBuilder().update(this.options.name).set(values)
    const { affected } = await this.run(() => query.where('id = :id', { id }).execute(), tx)
    return affected !== 0
  }

  async delete(id: string, tx = this.database.manager): Promise<void> {
    const query = tx.createQueryBuilder().delete().from(this.options.name)
    await this.run(() => query.where('id = :id', { id }).execute(), tx)
  }

  /** Deletes some expired rows, unless the last clean-up is recent. A failure does not affect the request. */
  async cleanUp(): Promise<void> {
    const now = this.now()
    if (now < this.cleanedAt + (this.options.cleanUpEvery ?? 600_000)) return
    this.cleanedAt = now
    const count = await this.deleteSome(now).catch(() => 0)
    // There may be more rows, which the next call deletes.
    if (count === batchSize) this.cleanedAt = 0
  }

  /** Runs work, and repeats it after conflicts outside of a request. Explains pending migrations. */
  async run<T>(work: () => Promise<T>, tx = this.database.manager): Promise<T> {
    try {
      return await (tx === this.database.manager ? retryConflicts(work) : work())
    } catch (error) {
      throw await explainMissingTable(this.database, error)
    }
  }

  private async deleteSome(now: number): Promise<number> {
    const { name, expiresAt } = this.options
    const expired = await this.database
      .createQueryBuilder()
      .select('expired.id', 'id')
      .from(name, 'expired')
      .where(`expired.${expiresAt} <= :now`, { now })
      .limit(batchSize)
      .getRawMany<{ id: string }>()
    const ids = expired.map(({ id }) => id)
    if (ids.length === 0) return 0
    const query = this.database.createQueryBuilder().delete().from(name)
    // The condition is repeated, because another request may have renewed one of them in the meantime.
    await query.where(`id IN (:...ids) AND ${expiresAt} <= :now`, { ids, now }).execute()
    return ids.length
  }
}
