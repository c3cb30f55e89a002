import type { QueryRunner } from 'typeorm'
import { MigrationsLocked } from '../../errors.js'
import { retry } from '../../retry.js'
import type { Lock } from '../engines/engine.js'
import { engineOf } from '../engines/engines.js'

/** How long a process waits for another one that migrates. */
const MINUTES = 10

/**
 * Does something that one process alone may do with a database at a time: on PostgreSQL and MariaDB with a lock of this
 * connection, which the server releases when the process dies. On SQLite the transaction that follows is the lock.
 *
 * @throws MigrationsLocked when another process does it for too long
 */
export async function withMigrationLock<T>(runner: QueryRunner, work: () => Promise<T>): Promise<T> {
  const lock = engineOf(runner.dataSource).migrationLock
  if (!lock) return work()

  await take(runner, lock)
  try {
    return await work()
  } finally {
    // A connection that is lost has lost its lock, too.
    await runner.query(`SELECT ${lock.release}`).catch(() => undefined)
  }
}

/** Polls: a server that is asked to wait would do so no longer than its timeouts allow. */
async function take(runner: QueryRunner, lock: Lock): Promise<void> {
  const attempt = async (): Promise<void> => {
    const [row]: { taken: unknown }[] = await runner.query(`SELECT ${lock.take} AS taken`)
    // PostgreSQL returns a boolean, MariaDB a number, which is text when it is large.
    if (row?.taken !== true && Number(row?.taken) !== 1) throw new MigrationsLocked(MINUTES)
  }
  const isTemporary = (error: unknown): boolean => error instanceof MigrationsLocked
  await retry(attempt, { isTemporary, deadline: performance.now() + MINUTES * 60_000, first: 10, max: 500 })
}
