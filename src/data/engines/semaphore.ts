import { ServiceUnavailable } from '../../errors.js'

/** Releases the permit. Further calls do nothing. */
export type Release = () => void

/** Limits how many permits are held at a time. Other callers wait in the order of their arrival, until the timeout. */
export class Semaphore {
  private readonly line: Waiting[] = []
  private free: number
  private closed: Error | undefined
  private timer: NodeJS.Timeout | undefined

  /**
   * @param count the number of permits
   * @param timeout the maximum time in milliseconds that `acquire` waits
   * @param timeoutMessage the message of the error after the timeout
   */
  constructor(
    count: number,
    private readonly timeout: number,
    private readonly timeoutMessage: string,
  ) {
    this.free = count
  }

  /**
   * Acquires a permit as soon as one is free.
   *
   * @throws ServiceUnavailable after the timeout; the reason of `close` once the semaphore is closed
   */
  acquire(): Promise<Release> {
    if (this.closed) return Promise.reject(this.closed)
    if (this.free === 0) return this.wait()
    this.free -= 1
    return Promise.resolve(this.releaseOnce())
  }

  /** Rejects all waiting and all later calls of `acquire`. */
  close(reason: Error): void {
    this.closed = reason
    for (const waiting of this.line.splice(0)) waiting.reject(reason)
    clearTimeout(this.timer)
    this.timer = undefined
  }

  private wait(): Promise<Release> {
    return new Promise((resolve, reject) => {
      this.line.push({ resolve, reject, deadline: performance.now() + this.timeout })
      if (this.timer) this.timer.ref()
      else this.watchFirst()
    })
  }

  /** All callers have the same timeout, so the first in line times out first, and one timer is enough. */
  private watchFirst(): void {
    const [first] = this.line
    if (!first) return
    this.timer = setTimeout(
      () => {
        this.timer = undefined
        while (this.line[0] && this.line[0].deadline <= performance.now())
          this.line.shift()?.reject(new ServiceUnavailable(this.timeoutMessage))
        this.watchFirst()
      },
      Math.max(1, first.deadline - performance.now()),
    )
  }

  private releaseOnce(): Release {
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      const next = this.line.shift()
      if (next) next.resolve(this.releaseOnce())
      else this.free += 1
      // While no caller waits, the timer must not keep the process alive.
      if (this.line.length === 0) this.timer?.unref()
    }
  }
}

interface Waiting {
  resolve(release: Release): void
  reject(reason: Error): void
  /** The time of `performance.now()` at which it times out. */
  deadline: number
}
