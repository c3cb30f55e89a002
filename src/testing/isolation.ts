import type { QueryRunner, ReplicationMode } from 'typeorm'
import type { Database } from '../data/database.js'
import { Semaphore } from '../data/engines/semaphore.js'
import { SharedRunner } from './shared-runner.js'

/** Milliseconds that one transaction of a test waits for another. */
const ACQUIRE_TIMEOUT = 10_000

/**
 * Puts a database into one transaction that is never committed: whoever asks the database, asks within it. The
 * transactions of requests become savepoints of it, and take turns.
 *
 * What no transaction can undo is not undone: a change of the schema on MariaDB, what another process writes.
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
   * @throws Error when it has begun already: the `describe` is inside of another one that is isolated
   */
  async begin(): Promise<void> {
    if (this.shared) {
      throw new Error('The tests are already isolated. Call isolate() once, in the outermost describe.')
    }
    const { database } = this
    const runner = database.createQueryRunner('master')
    await runner.startTransaction()
    const shared = new SharedRunner(database, runner, new Semaphore(1, ACQUIRE_TIMEOUT, BUSY))
    this.shared = shared
    // An own member takes the place of DataSource's until it is deleted.
    database.createQueryRunner = (mode?: ReplicationMode): QueryRunner => shared.lend(mode)
  }

  /** Notes where to come back to. */
  async mark(): Promise<void> {
    this.marks.push(await this.current.mark())
  }

  /** Undoes everything since the last mark. */
  async undo(): Promise<void> {
    const mark = this.marks.pop()
    if (mark !== undefined) await this.current.undoTo(mark)
  }

  /** Rolls the transaction back, and lets the database work as ever. */
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
