import { channels, type TransactionMessage } from '../../common/channels.js'
import { OutcomeUnknown } from '../../errors.js'
import { wordOf } from '../queries/publish.js'

/** Publishes how an attempt of a request's transaction has ended, if its first statement could run. */
export class TransactionWatch {
  private waited = 0
  private readyAt = 0

  constructor(private readonly attempt: number) {}

  /** Waits until the first statement can run. */
  async wait(open: () => Promise<void>): Promise<void> {
    const from = performance.now()
    await open()
    if (this.readyAt > 0) return
    this.readyAt = performance.now()
    this.waited = this.readyAt - from
  }

  /** @param failure the error of the last statement */
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
