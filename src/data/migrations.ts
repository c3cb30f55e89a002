import { MigrationExecutor } from 'typeorm'
import type { Migration, QueryRunner } from 'typeorm'
import { RdbmsSchemaBuilder } from 'typeorm/schema-builder/RdbmsSchemaBuilder.js'
import { DeclarationError } from '../errors.js'
import type { Database } from './database.js'

/** A migration, and whether it has been run. */
export interface MigrationState {
  name: string
  /** The number in its name: when it was written. */
  timestamp: number
  executed: boolean
  /** It has been run, but its file is gone. */
  missing: boolean
}

/**
 * Runs the migrations that have not been run yet, oldest first, each in a transaction of its own. Processes that
 * migrate at the same time take turns.
 *
 * @returns the names of the migrations that were run
 */
export async function migrate(database: Database): Promise<string[]> {
  return repeat(database, async (runner, history) => {
    const executed = await history.executed(runner)
    const next = history.all().find((migration) => !executed.has(migration.name))
    if (!next) return undefined

    await instanceOf(next).up(runner)
    await history.add(runner, next)
    return next.name
  })
}

/**
 * Undoes the migrations that were run last, each in a transaction of its own.
 *
 * @returns the names of the migrations that were undone
 * @throws DeclarationError when the file of one is gone
 */
export async function rollback(database: Database, steps = 1): Promise<string[]> {
  return repeat(
    database,
    async (runner, history) => {
      const last = [...(await history.executed(runner))].at(-1)
      if (last === undefined) return undefined

      const migration = history.all().find(({ name }) => name === last)
      if (!migration) {
        throw new DeclarationError(
          `The migration "${last}" has been run, but its file is gone: it can not be undone.`,
        )
      }
      await instanceOf(migration).down(runner)
      await history.remove(runner, migration)
      return migration.name
    },
    steps,
  )
}

/** Which migrations there are, oldest first, and which of them have been run. */
export async function migrationStatus(database: Database): Promise<MigrationState[]> {
  const history = new History(database)
  const executed = await history.getExecutedMigrations()
  const names = new Set(executed.map(({ name }) => name))
  const all = history.all()
  const gone = executed.filter(({ name }) => !all.some((migration) => migration.name === name))
  return [...all, ...gone]
    .toSorted((a, b) => a.timestamp - b.timestamp)
    .map((migration) => ({
      name: migration.name,
      timestamp: migration.timestamp,
      executed: names.has(migration.name),
      missing: gone.includes(migration),
    }))
}

/** One step of migrating: returns the name of the migration that it has run or undone, if there was one. */
type Step = (runner: QueryRunner, history: History) => Promise<string | undefined>

async function repeat(database: Database, step: Step, limit = Infinity): Promise<string[]> {
  const history = new History(database)
  const names: string[] = []
  while (names.length < limit) {
    const name = await inTransaction(database, (runner) => step(runner, history))
    if (name === undefined) break
    names.push(name)
  }
  return names
}

/**
 * Runs a step with the lock of the migrations, foreign keys off on SQLite. They must be off before the transaction
 * begins, where the setting is ignored: rebuilding a table with them on would delete the rows that refer to it.
 */
async function inTransaction<T>(database: Database, step: (runner: QueryRunner) => Promise<T>): Promise<T> {
  const runner = database.createQueryRunner()
  const engine = ENGINES[database.options.type] ?? {}
  try {
    await runner.beforeMigration()
    await engine.lock?.(runner)
    await runner.startTransaction()
    try {
      const broken = await brokenReferences(runner)
      const result = await step(runner)
      await refuseBrokenReferences(runner, broken.length)
      await runner.commitTransaction()
      return result
    } catch (error) {
      if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined)
      throw error
    } finally {
      await engine.unlock?.(runner)
    }
  } finally {
    await runner.release()
  }
}

/** How an engine lets only one process migrate. SQLite's transaction is the lock, before anything is read. */
interface Engine {
  lock?(runner: QueryRunner): Promise<unknown>
  unlock?(runner: QueryRunner): Promise<unknown>
}

const LOCK = 7_231_903

const ENGINES: Record<string, Engine> = {
  postgres: {
    lock: (runner) => runner.query(`SELECT pg_advisory_lock(${LOCK})`),
    unlock: (runner) => runner.query(`SELECT pg_advisory_unlock(${LOCK})`),
  },
  mysql: {
    lock: (runner) => runner.query(`SELECT GET_LOCK('migrations-${LOCK}', 600)`),
    unlock: (runner) => runner.query(`SELECT RELEASE_LOCK('migrations-${LOCK}')`),
  },
  mariadb: {
    lock: (runner) => runner.query(`SELECT GET_LOCK('migrations-${LOCK}', 600)`),
    unlock: (runner) => runner.query(`SELECT RELEASE_LOCK('migrations-${LOCK}')`),
  },
}

/** The rows that refer to rows which do not exist. Only SQLite lets a migration leave such. */
async function brokenReferences(runner: QueryRunner): Promise<{ table: string; parent: string }[]> {
  if (runner.dataSource.options.type !== 'better-sqlite3') return []
  return runner.query('PRAGMA foreign_key_check')
}

async function refuseBrokenReferences(runner: QueryRunner, before: number): Promise<void> {
  const broken = await brokenReferences(runner)
  if (broken.length <= before) return
  const pairs = new Set(broken.map(({ table, parent }) => `${table} to ${parent}`))
  throw new Error(`the migration leaves references to rows that do not exist: ${[...pairs].join(', ')}`)
}

function instanceOf(migration: Migration) {
  if (!migration.instance) throw new DeclarationError(`The migration "${migration.name}" has no up and down.`)
  return migration.instance
}

/** TypeORM's table of the migrations that have been run. */
class History extends MigrationExecutor {
  /** The migrations that the application has, oldest first. */
  all(): Migration[] {
    return this.getMigrations()
  }

  /** The names of those that have been run, in the order in which they were. */
  async executed(runner: QueryRunner): Promise<Set<string>> {
    await this.createMigrationsTableIfNotExist(runner)
    await new RdbmsSchemaBuilder(this.dataSource).createMetadataTableIfNecessary(runner)
    const executed = await this.loadExecutedMigrations(runner)
    return new Set(executed.toReversed().map(({ name }) => name))
  }

  add(runner: QueryRunner, migration: Migration): Promise<void> {
    return this.insertExecutedMigration(runner, migration)
  }

  remove(runner: QueryRunner, migration: Migration): Promise<void> {
    return this.deleteExecutedMigration(runner, migration)
  }
}
