import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { WorkerNotStarted } from '../command-errors.js'
import { Front } from './acceptor.js'
import { readMessage, type PrimarySays, type WorkerSays } from './messages.js'
import { numberVariable } from './worker.js'

/** Milliseconds that a worker must have lived for its end to be no sign of something lasting. */
const healthyAfter = 10_000

/** Milliseconds between the end of a worker and the beginning of the next one, at first and at most. */
const backOff = { first: 100, most: 30_000 }

/** Milliseconds after which a worker that does not end is killed, where it has not said how long it takes. */
const usualPatience = 60_000

/** The processes that serve an application together: each that ends is followed by another one. */
export class Crew {
  private readonly fronts = new Map<string, Front>()
  private readonly patience = new Map<Worker, number>()
  private readonly stopping = new AbortController()
  private wereKilled = false

  constructor(
    private readonly count: number,
    private readonly logger: Logger,
  ) {
    cluster.setupPrimary({ exec: join(import.meta.dirname, '../cli/main.js'), args: ['start'] })
  }

  /**
   * Starts the first worker alone, so that what keeps an application from starting is said once, then the others.
   *
   * @throws WorkerNotStarted when the first one ends before it serves
   */
  async start(): Promise<void> {
    const first = this.fork(1)
    const ended = once(first, 'exit')
    const isUp = await Promise.race([this.up(first), ended.then(() => false)])
    if (!isUp) {
      if (this.stopping.signal.aborted) return
      const [status, signal] = (await ended) as [number, NodeJS.Signals | null]
      throw new WorkerNotStarted(status, signal)
    }
    void this.keep(1, first)
    for (let number = 2; number <= this.count; number++) void this.keep(number, this.fork(number))
  }

  /** Lets every worker finish what it does, and waits until they have ended. Returns the exit status. */
  async stop(): Promise<number> {
    this.stopping.abort()
    await Promise.all(this.workers.map((worker) => this.end(worker)))
    return this.wereKilled ? 1 : 0
  }

  /** Ends every worker at once. */
  kill(): void {
    for (const worker of this.workers) worker.process.kill('SIGKILL')
  }

  private get workers(): Worker[] {
    return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
  }

  /** Starts one worker after the other in the same place. */
  private async keep(number: number, first: Worker): Promise<void> {
    let worker = first
    for (let failures = 0; ;) {
      const began = performance.now()
      const [status, signal] = (await once(worker, 'exit')) as [number, NodeJS.Signals | null]
      if (this.stopping.signal.aborted) return
      failures = performance.now() - began > healthyAfter ? 0 : failures + 1
      const pause = failures === 0 ? 0 : Math.min(backOff.first * 2 ** (failures - 1), backOff.most)
      this.logger.error(
        { worker: number, status, signal, pause },
        `worker ${number} has ended with ${signal ?? `status ${status}`}; another one takes its place`,
      )
      try {
        await delay(pause, undefined, { signal: this.stopping.signal })
      } catch {
        return
      }
      worker = this.fork(number)
    }
  }

  private fork(number: number): Worker {
    const worker = cluster.fork({ [numberVariable]: number })
    worker.on('message', (value: unknown) => {
      const message = readMessage<WorkerSays>(value)
      if (message) this.hear(worker, message)
    })
    worker.once('exit', () => {
      this.patience.delete(worker)
      for (const front of this.fronts.values()) front.lose(worker)
    })
    return worker
  }

  private hear(worker: Worker, message: WorkerSays): void {
    switch (message.kit) {
      case 'open':
        return void this.open(worker, message)
      case 'taken':
        return this.fronts.get(message.key)?.taken(worker)
      case 'leave':
        return this.leave(worker, message.key)
      case 'patience':
        return void this.patience.set(worker, message.milliseconds)
    }
  }

  private leave(worker: Worker, key: string): void {
    const front = this.fronts.get(key)
    if (this.stopping.signal.aborted) front?.leaveLast(worker)
    else front?.leave(worker)
  }

  private async open(worker: Worker, message: Extract<WorkerSays, { kit: 'open' }>): Promise<void> {
    const { key, port, host } = message
    const front = this.fronts.get(key) ?? new Front(key)
    const isNew = !this.fronts.has(key)
    this.fronts.set(key, front)
    let answer: PrimarySays
    try {
      const address = await front.listen(port, host)
      if (isNew) this.logger.info(`listening on ${address}, with ${this.count} workers`)
      answer = { kit: 'opened', key, address }
    } catch (error) {
      this.fronts.delete(key)
      answer = { kit: 'refused', key, ...textsOf(error) }
    }
    if (!worker.isConnected()) return
    worker.send(answer)
    if (answer.kit === 'opened') front.enter(worker)
  }

  /** Waits until a worker serves: on a port that is listened on for it, or by itself. */
  private up(worker: Worker): Promise<true> {
    return new Promise((resolve) => {
      worker.once('listening', () => resolve(true))
      worker.on('message', (value: unknown) => {
        if (readMessage<WorkerSays>(value)?.kit === 'loaded') resolve(true)
      })
    })
  }

  private async end(worker: Worker): Promise<void> {
    const ended = once(worker, 'exit')
    worker.process.kill('SIGTERM')
    const timer = setTimeout(
      () => {
        this.wereKilled = true
        this.logger.error(`process ${worker.process.pid} does not end, and is killed`)
        worker.process.kill('SIGKILL')
      },
      this.patience.get(worker) ?? usualPatience,
    )
    await ended
    clearTimeout(timer)
  }
}

/** An error as a message can carry it: the system's own, in which the code is. */
function textsOf(error: unknown): { code: string; message: string } {
  const { cause = error } = Object(error) as { cause?: unknown }
  const { code, message } = Object(cause) as { code?: unknown; message?: unknown }
  return { code: String(code), message: String(message) }
}
