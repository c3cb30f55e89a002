/** Measures for how long a transaction that has begun runs no statement. */
export class IdleTime {
  /** The longest time so far, in milliseconds. */
  longest = 0
  private running = 0
  private since: number | undefined

  constructor(private readonly now: () => number) {}

  /** Runs a statement, which ends the idle time. The next one begins with the end of the last statement that runs. */
  async during<T>(statement: () => Promise<T>): Promise<T> {
    this.stop()
    try {
      return await statement()
    } finally {
      this.running -= 1
      if (this.running === 0) this.since = this.now()
    }
  }

  /** Ends the idle time, and begins no other one: the transaction ends, or a stream reads rows as its reader wants them. */
  stop(): void {
    this.running += 1
    if (this.since !== undefined) this.longest = Math.max(this.longest, this.now() - this.since)
    this.since = undefined
  }
}
