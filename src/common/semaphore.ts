/** Releases the permit. Further calls do nothing. */
export type Release = () => void

/** Limits how many permits are held at a time. Others wait in order, until the timeout. */
export class Semaphore {
  private readonly waiting = new Set<Waiting>()
  private free: number
  private closed: Error | undefined

  /**
   * @param permits the number of permits
   * @param timeout the maximum time in milliseconds that `acquire` waits; `Infinity` for no limit
   * @param createError returns the error after the timeout, or if too many wait
   * @param maxWaiting the maximum number of callers that wait
   */
  constructor(
    private readonly permits: number,
    private readonly timeout: number,
    private readonly createError: () => Error,
    private readonly maxWaiting = Infinity,
  ) {
    this.free = permits
  }

  /** Whether no permit is held. */
  get isIdle(): boolean {
    return this.free === this.permits
  }

  /**
   * Acquires a permit as soon as one is free.
   *
   * @throws the error of `createError`; the reason of `close` once the semaphore is closed
   */
  acquire(): Promise<Release> {
    if (this.closed) return Promise.reject(this.closed)
    if (this.free === 0)
      return this.waiting.size < this.maxWaiting ? this.wait() : Promise.reject(this.createError())
    this.free -= 1
    return Promise.resolve(this.newRelease())
  }

  /** Runs work with a permit. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const release = await this.acquire()
    try {
      return await work()
    } finally {
      release()
    }
  }

  /** Rejects all waiting and all later calls of `acquire`. */
  close(reason: Error): void {
    this.closed = reason
    for (const caller of this.waiting) this.remove(caller).reject(reason)
  }

  private wait(): Promise<Release> {
    return new Promise((resolve, reject) => {
      const expire = (): void => this.remove(caller).reject(this.createError())
      const timer = this.timeout === Infinity ? undefined : setTimeout(expire, this.timeout)
      const caller: Waiting = { resolve, reject, timer }
      this.waiting.add(caller)
    })
  }

  private remove(caller: Waiting): Waiting {
    this.waiting.delete(caller)
    clearTimeout(caller.timer)
    return caller
  }

  /** Returns the function that passes a permit on to the next caller. */
  private newRelease(): Release {
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      const [next] = this.waiting
      if (next) this.remove(next).resolve(this.newRelease())
      else this.free += 1
    }
  }
}

interface Waiting {
  resolve(release: Release): void
  reject(reason: Error): void
  timer: NodeJS.Timeout | undefined
}
