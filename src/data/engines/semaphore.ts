import { setTimeout as delay } from 'node:timers/promises'
import { ServiceUnavailable } from '../../errors.js'

/** Gives a place back. Calling it again does nothing. */
export type Leave = () => void

/** A number of places. Who finds none free waits in line, first come, first served, and not forever. */
export class Places {
  private readonly line: Waiting[] = []
  private free: number
  private closed: Error | undefined
  private timer: NodeJS.Timeout | undefined

  /**
   * @param count how many may be inside at the same time
   * @param patience milliseconds that one waits at most
   * @param complaint what is said to those who waited in vain
   */
  constructor(
    count: number,
    private readonly patience: number,
    private readonly complaint: string,
  ) {
    this.free = count
  }

  /**
   * Takes a place, as soon as there is one.
   *
   * @throws ServiceUnavailable when there is none in time, or when the places have been closed
   */
  take(): Promise<Leave> {
    if (this.closed) return Promise.reject(this.closed)
    if (this.free === 0) return this.wait()
    this.free -= 1
    return Promise.resolve(this.leaveOnce())
  }

  /** Takes a place if there is one at once; else undefined. */
  takeNow(): Leave | undefined {
    if (this.closed || this.free === 0) return undefined
    this.free -= 1
    return this.leaveOnce()
  }

  /** Sends everybody away who waits or comes later. */
  close(reason: Error): void {
    this.closed = reason
    for (const waiting of this.line.splice(0)) waiting.refuse(reason)
    clearTimeout(this.timer)
    this.timer = undefined
  }

  private wait(): Promise<Leave> {
    return new Promise((resolve, reject) => {
      this.line.push({ admit: resolve, refuse: reject, deadline: performance.now() + this.patience })
      if (this.timer) this.timer.ref()
      else this.watchTheFirst()
    })
  }

  /** All are equally patient, so that the first in line is the first whose patience ends: one timer does for all. */
  private watchTheFirst(): void {
    const [first] = this.line
    if (!first) return
    this.timer = setTimeout(
      () => {
        this.timer = undefined
        while (this.line[0] && this.line[0].deadline <= performance.now())
          this.line.shift()?.refuse(new ServiceUnavailable(this.complaint))
        this.watchTheFirst()
      },
      Math.max(1, first.deadline - performance.now()),
    )
  }

  private leaveOnce(): Leave {
    let isInside = true
    return () => {
      if (!isInside) return
      isInside = false
      const next = this.line.shift()
      if (next) next.admit(this.leaveOnce())
      else this.free += 1
      // While nobody waits, the timer is not to keep the process from ending.
      if (this.line.length === 0) this.timer?.unref()
    }
  }
}

interface Waiting {
  admit(leave: Leave): void
  refuse(reason: Error): void
  /** When his patience ends, on the clock of `performance.now()`. */
  deadline: number
}

/**
 * Does what another process may be in the way of, again and again with short waits of uneven length, which leave
 * the event loop free.
 *
 * @param deadline when patience ends, on the clock of `performance.now()`
 * @throws ServiceUnavailable when the other one is still in the way at the deadline
 */
export async function insist<T>(
  work: () => T,
  isInTheWay: (error: unknown) => boolean,
  deadline: number,
): Promise<T> {
  for (let wait = 1; ; wait = Math.min(wait * 2, 16)) {
    try {
      return work()
    } catch (error) {
      if (!isInTheWay(error)) throw error
      if (performance.now() > deadline) {
        throw new ServiceUnavailable('the database is busy with the work of another process', 1, {
          cause: error,
        })
      }
    }
    await delay(wait * (0.5 + Math.random()))
  }
}
