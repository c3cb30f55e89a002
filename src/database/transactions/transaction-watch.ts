import { channels, type TransactionMessage } from '../../common/channels.js'
import { OutcomeUnknown } from '../../errors.js'
import { wordOf } from '../queries/publish.js'

/** Publishes how an attempt of a request's transaction has ended, if its first statement could run. */
export class TransactionWatch {
  /** The milliseconds until the first statement could run. */
  private waited = 0
  /** The time at which the first statement could run; 0 before that, and once the end is published. */
  private readyAt = 0

  constructor(private readonly attempt: number) {}

  /** Waits until a statement can run, and measures the first such wait. */
  async wait(open: () => Promise<void>): Promise<void> {
    const from = performance.now()
    await open()
    if (this.readyAt > 0) return
    this.readyAt = performance.now()
    this.waited = this.readyAt - from
  }

  /**
   * Publishes the end, once.
   *
   * @param failure the error of the last statement that failed
   */
  end(failure: unknown, outcome = outcomeOf(failure)): void {
    const { attempt, waited, readyAt } = this
    const ms = performance.now() - readyAt
    if (readyAt > 0) channels.transaction.publish({ outcome, attempt, waited, ms })
    this.readyAt = 0
  }
}

function outcomeOf(failure: unknown): TransactionMessage['outcome'] {
  if (failure instanceof OutcomeUnknown) return 'unknown'
  return wordOf(failure) === 'conflict' ? 'conflict' : 'rolled back'
}
