import { setTimeout as delay } from 'node:timers/promises'

/** The shortest limit of the database, in milliseconds. After each such wait, it is set again. */
const step = 1000

/** The time that a transaction waits for its connection and statements, over all attempts. */
export class WaitLimit {
  /** The value of `waited` from which on the limit must be set again. */
  private shortensAt = step

  /**
   * @param waited the milliseconds that earlier attempts took
   * @param max the milliseconds that all of them may take
   */
  constructor(
    private waited = 0,
    private readonly max = Infinity,
  ) {}

  /** Whether the database's limit is longer than what is left, so that `shorten` must set it again. */
  get isTooLong(): boolean {
    return this.waited >= this.shortensAt && this.max < Infinity
  }

  /** Counts a wait that began at a time of `performance.now()` and ends now. */
  add(start: number): void {
    this.waited += performance.now() - start
  }

  /** Returns the limit in milliseconds that the database is given now. */
  shorten(): number {
    this.shortensAt = this.waited + step
    return this.rest
  }

  /** Forgets the limit that the database has, because a rollback has undone it. */
  forget(): void {
    this.shortensAt = step
  }

  /** Whether work ends within the rest of the time. Throws its error. */
  allows(work: Promise<unknown>): Promise<boolean> {
    return Promise.race([work.then(() => true), delay(this.rest, false, { ref: false })])
  }

  /** The milliseconds that are left, but at least one step, so that each wait has a chance. */
  private get rest(): number {
    return Math.max(step, Math.ceil(this.max - this.waited))
  }
}
