/** What of a request's work with the database is still under way, and what of it failed without anybody waiting for it. */
export class PendingWork {
  private count = 0
  private hasLost = false

  /** @param onLost hears of each error that nobody waits for, be it after the request's end */
  constructor(private readonly onLost: (error: unknown) => void) {}

  /** Whether something is under way, or has failed unheard: then nothing may be said to have been saved. */
  get isUnfinished(): boolean {
    return this.count > 0 || this.hasLost
  }

  /** Does a piece of work. An error of it that nobody waits for is heard of here, and does not end the process. */
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

/** Whose work an error ended. It is a member of the error: a map would keep it for longer. */
const owner = Symbol('resource-kit:owner')

let guards = 0

/**
 * Keeps the process alive when a request's work with the database fails and nobody waits for it. Any other rejection
 * that nobody handles ends the process, as ever.
 *
 * @returns what takes the guard away
 */
export function guardUnawaited(): () => void {
  if (guards === 0) process.on('unhandledRejection', hear)
  guards += 1
  let isOn = true
  return () => {
    if (!isOn) return
    isOn = false
    guards -= 1
    if (guards === 0) process.off('unhandledRejection', hear)
  }
}

function hear(reason: unknown): void {
  const work = ownerOf(reason)
  if (work) work.lose(reason)
  // With nobody else listening, Node would have thrown it.
  else if (process.listenerCount('unhandledRejection') === 1) throw reason
}

function ownerOf(error: unknown): PendingWork | undefined {
  if (!(error instanceof Error)) return undefined
  return (error as { [owner]?: PendingWork })[owner] ?? ownerOf(error.cause)
}
