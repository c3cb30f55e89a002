/** Tracks a request's database work: whether any of it is still running, or has failed without being awaited. */
export class PendingWork {
  private count = 0
  private hasLost = false

  /** @param onLost receives each error that is not awaited, even after the end of the request */
  constructor(private readonly onLost: (error: unknown) => void) {}

  /** Whether work is still running, or has failed without being awaited. Then the response must not report success. */
  get isUnfinished(): boolean {
    return this.count > 0 || this.hasLost
  }

  /** Runs a piece of work. If its error is not awaited, `onLost` receives it, and the process goes on. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    this.count += 1
    try {
      return await work()
    } catch (error) {
      if (error instanceof Error) Reflect.defineProperty(error, owner, { value: this, configurable: true })
      throw error
    } finally {
      this.count -= 1
    }
  }

  lose(error: unknown): void {
    this.hasLost = true
    this.onLost(error)
  }
}

/** The work in which an error occurred. It is a property of the error, because a map would keep it for longer. */
const owner = Symbol('resource-kit:owner')

let guards = 0

/**
 * Keeps the process running when a request's database work fails without being awaited. Any other unhandled rejection
 * still ends the process.
 *
 * @returns a function that removes this guard
 */
export function guardUnawaited(): () => void {
  if (guards === 0) process.on('unhandledRejection', receiveRejection)
  guards += 1
  let isOn = true
  return () => {
    if (!isOn) return
    isOn = false
    guards -= 1
    if (guards === 0) process.off('unhandledRejection', receiveRejection)
  }
}

function receiveRejection(reason: unknown): void {
  const work = ownerOf(reason)
  if (work) work.lose(reason)
  // Without other listeners, Node would have thrown it.
  else if (process.listenerCount('unhandledRejection') === 1) throw reason
}

function ownerOf(error: unknown): PendingWork | undefined {
  if (!(error instanceof Error)) return undefined
  return (error as { [owner]?: PendingWork })[owner] ?? ownerOf(error.cause)
}
