import type { QueryRunner } from 'typeorm'
import { MigrationsLocked } from '../../errors.js'
import { retry } from '../../common/retry.js'
import type { Lock } from '../engines/engine.js'
import { engineOf } from '../engines/engines.js'
import { withLease, type LeaseDatabase } from '../named-leases.js'

/** The maximum time in minutes that a process waits for another one that migrates. */
const MINUTES = 10

/**
 * Runs work that only one process at a time may do with a database. PostgreSQL and MariaDB have a lock of the
 * connection, which the server releases if the process dies; behind a pooler and on a cluster, the lock is a
 * lease. On SQLite the transaction that follows is the lock.
 *
 * @throws MigrationsLocked when another process still holds the lock after ten minutes
 */
export async function withMigrationLock<T>(
  database: LeaseDatabase,
  runner: QueryRunner,
  work: () => Promise<T>,
): Promise<T> {
  const { migrationLock: lock } = engineOf(database)
  if (!lock) return work()
  if (lock.isPartial(database)) {
    const taken = new MigrationsLocked(MINUTES)
    return withLease(database, runner, { name: 'migrations', wait: MINUTES * 60_000, taken }, work)
  }

  await acquire(runner, lock)
  try {
    return await work()
  } finally {
    // A lost connection has already released its lock.
    await runner.query(`SELECT ${lock.release}`).catch(() => undefined)
  }
}

/** Polls, because a statement that waits on the server would be canceled by its timeouts. */
async function acquire(runner: QueryRunner, lock: Lock): Promise<void> {
  const attempt = async (): Promise<void> => {
    const [row]: { acquired: unknown }[] = await runner.query(`SELECT ${lock.acquire} AS acquired`)
    // PostgreSQL returns a boolean. MariaDB returns a number, or text if it is large.
    if (row?.acquired !== true && Number(row?.acquired) !== 1) throw new MigrationsLocked(MINUTES)
  }
  const isTemporary = (error: unknown): boolean => error instanceof MigrationsLocked
  await retry(attempt, { isTemporary, deadline: performance.now() + MINUTES * 60_000, first: 10, max: 500 })
}
