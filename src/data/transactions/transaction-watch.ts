import { channels, type TransactionMessage } from '../../common/channels.js'
import { OutcomeUnknown, TransactionConflict } from '../../errors.js'
import { explainDatabaseError } from '../database-errors.js'

/** Publishes how an attempt of a request's transaction has ended, if its first statement could run. */
export class TransactionWatch {
  private waited = 0
  private readyAt = 0

  constructor(private readonly attempt: number) {}

  /** Waits until the first statement can run. */
  async wait(open: () => Promise<void>): Promise<void> {
    const from = performance.now()
    await open()
    if (this.readyAt === 0) this.waited = performance.now() - from
    this.readyAt ||= performance.now()
  }

  /** @param failure the error of its last statement */
  end(failure: unknown, outcome = outcomeOf(explainDatabaseError(failure))): void {
    const { attempt, waited, readyAt } = this
    if (readyAt > 0)
      channels.transaction.publish({ outcome, attempt, waited, ms: performance.now() - readyAt })
    this.readyAt = 0
  }
}

function outcomeOf(error: unknown): TransactionMessage['outcome'] {
  if (error instanceof OutcomeUnknown) return 'unknown'
  return error instanceof TransactionConflict ? 'conflict' : 'rolled back'
}
