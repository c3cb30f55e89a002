import type { QueryRunner, ReplicationMode } from 'typeorm'
import type { Database } from '../database/database.js'
import { Semaphore } from '../common/semaphore.js'
import { createRunner } from '../database/engines/mode.js'
import { ServiceUnavailable } from '../errors.js'
import { SharedRunner } from './shared-runner.js'

/** The milliseconds for which a transaction of a test waits until another one has ended. */
const ACQUIRE_TIMEOUT = 10_000

/**
 * Isolates tests in one transaction that is never committed. All queries of the process run in it. The transactions of
 * requests become its savepoints and run one at a time.
 *
 * Changes that no transaction can roll back remain: a change of the schema on MariaDB, and changes by other processes.
 *
 * @example
 * await isolation.begin()
 * await isolation.mark()
 * await client.post('/posts', { json: { title: 'Hello' } })
 * await isolation.undo() // without the post
 * await isolation.end()
 */
export class Isolation {
  private shared: SharedRunner | undefined
  private readonly marks: number[] = []

  constructor(private readonly database: Database) {}

  /**
   * Begins the transaction.
   *
   * @throws Error when it has already begun, because the `describe` is inside another isolated one
   */
  async begin(): Promise<void> {
    if (this.shared) {
      throw new Error('The tests are already isolated. Call isolate() once, in the outermost describe.')
    }
    const { database } = this
    const runner = createRunner(database, 'write')
    await runner.startTransaction()
    const shared = new SharedRunner(
      database,
      runner,
      new Semaphore(1, ACQUIRE_TIMEOUT, () => new ServiceUnavailable(BUSY)),
    )
    this.shared = shared
    // An own member overrides that of DataSource until it is deleted.
    database.createQueryRunner = (mode?: ReplicationMode): QueryRunner => shared.createRunner(mode)
  }

  /** Sets the mark for `undo`. */
  async mark(): Promise<void> {
    this.marks.push(await this.current.mark())
  }

  /** Undoes all changes since the last mark, and removes the mark. */
  async undo(): Promise<void> {
    const mark = this.marks.pop()
    if (mark !== undefined) await this.current.undoTo(mark)
  }

  /** Rolls the transaction back and ends the isolation. */
  async end(): Promise<void> {
    const { shared } = this
    if (!shared) return
    this.shared = undefined
    this.marks.length = 0
    Reflect.deleteProperty(this.database, 'createQueryRunner')
    await shared.end()
  }

  private get current(): SharedRunner {
    if (!this.shared) throw new Error('The tests are not isolated yet. Call begin() first.')
    return this.shared
  }
}

const BUSY =
  'A transaction of this test is waiting for another one that has not ended. Isolated tests run one transaction at a time.'
