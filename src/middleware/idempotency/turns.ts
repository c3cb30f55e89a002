import { Semaphore, type Release } from '../../common/semaphore.js'
import type { LazyTransaction } from '../../database/transactions/lazy-transaction.js'
import { ServiceUnavailable } from '../../errors.js'

/** The requests of a key that may wait with a connection for the first one, which has the third. */
const maxBegun = 3

/** The requests of this process with one key. */
interface Turn {
  /** Of requests whose transactions have not begun: one runs, and the others wait without a connection. */
  readonly unbegun: Semaphore
  /** Of requests whose transactions have begun. They wait in the database, which finds deadlocks. */
  readonly begun: Semaphore
}

/** Lets this process's requests of a key run one after the other, before they take connections. */
export class Turns {
  private readonly turns = new Map<string, Turn>()

  /** @param timeout the milliseconds for which a request waits */
  constructor(private readonly timeout: number) {}

  /**
   * Waits until the transactions of earlier requests with a key have ended. The turn ends with the
   * transaction.
   *
   * @throws ServiceUnavailable (503) after the timeout, or if other requests with this key already hold
   *   connections
   */
  async take(key: string, transaction: LazyTransaction): Promise<void> {
    const turn = this.turns.get(key) ?? {
      unbegun: new Semaphore(1, this.timeout, stillRunning),
      begun: new Semaphore(maxBegun, this.timeout, stillRunning, 0),
    }
    this.turns.set(key, turn)
    const release: Release = await (transaction.isUsed ? turn.begun : turn.unbegun).acquire()
    transaction.afterEnd = () => {
      release()
      if (turn.unbegun.isIdle && turn.begun.isIdle) this.turns.delete(key)
    }
  }
}

function stillRunning(): ServiceUnavailable {
  return new ServiceUnavailable('The first request with this idempotency key is still running.')
}
