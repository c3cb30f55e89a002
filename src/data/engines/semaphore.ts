import { ServiceUnavailable } from '../../errors.js'

/** Releases the permit. Further calls do nothing. */
export type Release = () => void

/** Limits how many permits are held at a time. Other callers wait in the order of their arrival, until the timeout. */
export class Semaphore {
  private readonly waiting = new Set<Waiting>()
  private closed: Error | undefined

  /**
   * @param free the number of permits
   * @param timeout the maximum time in milliseconds that `acquire` waits
   * @param timeoutMessage the message of the error after the timeout
   */
  constructor(
    private free: number,
    private readonly timeout: number,
    private readonly timeoutMessage: string,
  ) {}

  /**
   * Acquires a permit as soon as one is free.
   *
   * @throws ServiceUnavailable after the timeout; the reason of `close` once the semaphore is closed
   */
  acquire(): Promise<Release> {
    if (this.closed) return Promise.reject(this.closed)
    if (this.free === 0) return this.wait()
    this.free -= 1
    return Promise.resolve(this.newRelease())
  }

  /** Rejects all waiting and all later calls of `acquire`. */
  close(reason: Error): void {
    this.closed = reason
    for (const caller of this.waiting) this.remove(caller).reject(reason)
  }

  private wait(): Promise<Release> {
    return new Promise((resolve, reject) => {
      const expire = (): void => this.remove(caller).reject(new ServiceUnavailable(this.timeoutMessage))
      const caller: Waiting = { resolve, reject, timer: setTimeout(expire, this.timeout) }
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
  timer: NodeJS.Timeout
}
