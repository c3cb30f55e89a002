import { ServiceUnavailable } from '../index.js'

/** Runs a limited number of expensive tasks at a time. A limited number of others wait. Further tasks are rejected. */
export class WorkQueue {
  private readonly waiting: (() => void)[] = []
  private running = 0

  /**
   * @param maxRunning the number of tasks that run at a time
   * @param maxWaiting the number of tasks that wait
   * @param message the message of the error for further tasks
   */
  constructor(
    private readonly maxRunning: number,
    private readonly maxWaiting: number,
    private readonly message: string,
  ) {}

  /** @throws ServiceUnavailable (503, with `Retry-After: 5`) when too many tasks wait already */
  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.running >= this.maxRunning) await this.wait()
    else this.running += 1
    try {
      return await task()
    } finally {
      // The next task replaces this one, so the number of running tasks stays the same.
      const next = this.waiting.shift()
      if (next) next()
      else this.running -= 1
    }
  }

  private wait(): Promise<void> {
    if (this.waiting.length >= this.maxWaiting) throw new ServiceUnavailable(this.message, 5)
    return new Promise((resolve) => this.waiting.push(resolve))
  }
}
