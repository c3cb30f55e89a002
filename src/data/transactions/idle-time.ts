/** Measures the time in which an open transaction runs no statement. */
export class IdleTime {
  /** The longest time so far, in milliseconds. */
  longest = 0
  private running = 0
  private since: number | undefined

  constructor(private readonly now: () => number) {}

  /** Runs a statement, which ends the idle time. The next idle time begins when no statement runs any more. */
  async during<T>(statement: () => Promise<T>): Promise<T> {
    this.stop()
    try {
      return await statement()
    } finally {
      this.running -= 1
      if (this.running === 0) this.since = this.now()
    }
  }

  /** Stops measuring: the transaction ends, or a stream reads rows at the pace of its reader. */
  stop(): void {
    this.running += 1
    if (this.since !== undefined) this.longest = Math.max(this.longest, this.now() - this.since)
    this.since = undefined
  }
}
