import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js'
import { otherSubscribers } from '../../../models/model-subscriber.js'
import { additionsOf, BEGIN, type PgConnection } from './connection.js'
import { PostgresSchemaRunner } from './schema-runner.js'

/** TypeORM's query runner, which sends the beginning of a transaction together with its first statement. */
export class PostgresRunner extends PostgresSchemaRunner {
  /** The connection, once `connect` has resolved. */
  declare protected databaseConnection: PgConnection

  override async startTransaction(isolation?: IsolationLevel): Promise<void> {
    const { options } = this.dataSource
    const hasListeners = otherSubscribers(this.dataSource).length > 0
    const isPlain = !isolation && !options.isolationLevel && !hasListeners
    if (!isPlain || this.isTransactionActive) return super.startTransaction(isolation)

    await this.connect()
    this.dataSource.logger.logQuery(BEGIN, undefined, this)
    additionsOf(this.databaseConnection).begin = BEGIN
    this.isTransactionActive = true
    this.transactionDepth = 1
  }

  /** Makes a transaction that has just begun read-only. */
  async readOnly(): Promise<void> {
    const additions = additionsOf(this.databaseConnection)
    if (additions.begin) additions.begin = `${BEGIN} READ ONLY`
    else await this.query('SET TRANSACTION READ ONLY')
  }

  /**
   * Commits. Returns false if the transaction has no statements, so that nothing is sent.
   *
   * @param note receives the position after the commit, if it could be read
   */
  async commitWithPosition(note: (position: string) => void): Promise<boolean> {
    if (this.endUnbegun()) return false
    additionsOf(this.databaseConnection).notePosition = note
    await super.commitTransaction()
    return true
  }

  override async commitTransaction(): Promise<void> {
    if (!this.endUnbegun()) await super.commitTransaction()
  }

  override async rollbackTransaction(): Promise<void> {
    if (!this.endUnbegun()) await super.rollbackTransaction()
  }

  override async release(): Promise<void> {
    await super.release()
    // V8 allocates TypeORM's callback of the connection in the old generation, where it would retain the
    // manager's request.
    Reflect.set(this, 'manager', undefined)
  }

  /** Ends a transaction without statements, whose beginning was never sent. Returns whether it was one. */
  private endUnbegun(): boolean {
    const additions = additionsOf(this.databaseConnection)
    if (this.transactionDepth !== 1 || !additions.begin) return false
    additions.begin = undefined
    this.isTransactionActive = false
    this.transactionDepth = 0
    return true
  }
}
