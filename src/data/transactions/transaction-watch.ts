import { channels, type TransactionMessage } from '../../common/channels.js'

/** Publishes how an attempt of a request's transaction has ended, if its first statement could run. */
export class TransactionWatch {
  private startedAt = 0
  private readyAt = 0

  constructor(private readonly attempt: number) {}

  /** The transaction begins to wait for its connection. */
  start(): void {
    this.startedAt ||= performance.now()
  }

  /** Its first statement can run. */
  ready(): void {
    this.readyAt ||= performance.now()
  }

  end(outcome: TransactionMessage['outcome']): void {
    const { attempt, startedAt, readyAt } = this
    if (readyAt === 0) return
    this.readyAt = 0
    const ms = performance.now() - readyAt
    channels.transaction.publish({ outcome, attempt, waited: readyAt - startedAt, ms })
  }
}
