import { QueryFailedError, type DataSource, type QueryRunner } from 'typeorm'
import { retry } from '../common/retry.js'
import { engineOf } from './engines/engines.js'
import { problemOf } from './engines/problems.js'

/** The framework's own table. No migration creates it, because migrations need it. */
const TABLE = 'kit_leases'

/** A database that renews its leases over a connection which nothing else uses. */
export interface LeaseDatabase extends DataSource {
  runBeside(sql: string): Promise<void>
}

/** The options of `withLease`. */
export interface LeaseOptions {
  /** The name of the lease, a constant. */
  name: string
  /** Milliseconds after which a dead process's lease ends (60,000). It is renewed three times as often. */
  duration?: number
  /** Milliseconds to wait for another holder. */
  wait: number
  /** The error after that time. */
  taken: Error
}

/**
 * Runs work that only one process at a time may do, where a lock of the server would belong to another
 * connection or to one node: the lock is a row with a holder and an end by the server's clock.
 *
 * @param runner outside of a transaction
 * @throws `taken` when others hold the lease for too long
 */
export async function withLease<T>(
  database: LeaseDatabase,
  runner: QueryRunner,
  { name, duration = 60_000, wait, taken }: LeaseOptions,
  work: () => Promise<T>,
): Promise<T> {
  const { now } = engineOf(database)
  const holder = crypto.randomUUID()
  const ownRow = `name = '${name}' AND holder = '${holder}'`
  const acquire = `UPDATE ${TABLE} SET holder = '${holder}', expires_at = ${now} + ${duration}
    WHERE name = '${name}' AND expires_at <= ${now}`
  const attempt = async (): Promise<void> => {
    const { affected } = await runner.query(acquire, [], true).catch(createTable(runner))
    if (affected === 1) return
    // The row may be missing. The next attempt acquires it.
    const row = database.createQueryBuilder(runner).insert().into(TABLE)
    await row.values({ name, holder: '', expires_at: 0 }).orIgnore().execute()
    throw taken
  }
  const isTemporary = (error: unknown): boolean => error === taken || isCollision(error)
  await retry(attempt, { isTemporary, deadline: performance.now() + wait, first: 10, max: 500 })
  // A failure is repaired by the next renewal.
  const renew = () =>
    database.runBeside(`UPDATE ${TABLE} SET expires_at = ${now} + ${duration} WHERE ${ownRow}`)
  const renewing = setInterval(() => renew().catch(() => undefined), duration / 3)
  try {
    return await work()
  } finally {
    clearInterval(renewing)
    await database.runBeside(`UPDATE ${TABLE} SET expires_at = 0 WHERE ${ownRow}`).catch(() => undefined)
  }
}

/** Creates the table after the error that it is missing. The next attempt finds it. */
function createTable(runner: QueryRunner) {
  return async (error: unknown): Promise<never> => {
    if (!(error instanceof QueryFailedError) || problemOf(error) !== 'missing') throw error
    const columns = 'name varchar(64) PRIMARY KEY, holder varchar(64) NOT NULL, expires_at bigint NOT NULL'
    await runner.query(`CREATE TABLE IF NOT EXISTS ${TABLE} (${columns})`)
    throw error
  }
}

/** Whether another process created the table or changed the row, or an attempt follows. */
function isCollision(error: unknown): boolean {
  const problem = error instanceof QueryFailedError ? problemOf(error) : undefined
  return problem === 'unique' || problem === 'conflict' || problem === 'missing'
}
