import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { WorkerNotStarted } from '../../command-errors.js'
import { backoffDelay, type Backoff } from '../../common/retry.js'
import { Acceptor } from './acceptor.js'
import { readMessage, type PrimaryMessage, type WorkerMessage } from './messages.js'
import { numberVariable } from './worker.js'

/** A worker that has served for this many milliseconds is restarted at once. Any other has failed. */
const healthyAfter = 10_000

/** The pause between the end of a worker and its restart, after failures in succession. */
const restartBackoff: Backoff = { first: 100, max: 30_000 }

/** Milliseconds until a worker that does not end is killed, unless it has its own shutdown timeout. */
const defaultShutdownTimeout = 60_000

/** The worker processes of an application. A worker that ends is restarted. */
export class WorkerPool {
  /** The acceptors by the key of their port. */
  private readonly acceptors = new Map<string, Acceptor>()
  /** The milliseconds that each worker has reported. */
  private readonly shutdownTimeouts = new Map<Worker, number>()
  private readonly servingSince = new WeakMap<Worker, number>()
  private readonly stopping = new AbortController()
  /** Whether a worker did not end by itself in `stop`. */
  private wasKilled = false
  /** The process that runs the background jobs, if the application has any. */
  private jobsWorker: Worker | undefined

  /**
   * @param count the number of workers that handle requests
   * @param slots the number of background jobs that run at a time; 0 for none
   */
  constructor(
    private readonly count: number,
    private readonly logger: Logger,
    private readonly slots: number,
  ) {}

  /**
   * Starts the first worker, and the others once it serves, so that an error at start is reported once.
   *
   * @throws WorkerNotStarted when the first worker ends before it serves
   */
  async start(): Promise<void> {
    const first = this.fork(1)
    const ended = once(first, 'exit')
    const isServing = await Promise.race([this.waitUntilServing(first), ended.then(() => false)])
    if (!isServing) {
      if (this.stopping.signal.aborted) return
      const [status, signal] = (await ended) as [number, NodeJS.Signals | null]
      throw new WorkerNotStarted(status, signal)
    }
    void this.supervise(1, first)
    for (let number = 2; number <= this.count; number++) void this.supervise(number, this.fork(number))
  }

  /** Shuts all workers down gracefully, and waits until they have ended. Returns the exit status. */
  async stop(): Promise<number> {
    this.stopping.abort()
    await Promise.all(this.workers.map((worker) => this.end(worker)))
    return this.wasKilled ? 1 : 0
  }

  /** Kills all workers at once. */
  kill(): void {
    for (const worker of this.workers) worker.process.kill('SIGKILL')
  }

  private get workers(): Worker[] {
    return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
  }

  /** Restarts a worker whenever it ends. */
  private async supervise(number: number, first: Worker): Promise<void> {
    let worker = first
    for (let failures = 0; ;) {
      const [status, signal] = (await once(worker, 'exit')) as [number, NodeJS.Signals | null]
      if (this.stopping.signal.aborted) return
      // The time that a worker needs to start does not count.
      const served = performance.now() - (this.servingSince.get(worker) ?? Infinity)
      failures = served > healthyAfter ? 0 : failures + 1
      const pause = backoffDelay(failures, restartBackoff)
      this.logger.error(
        { worker: number, status, signal, pause },
        `worker ${number} exited with ${signal ?? `status ${status}`} and is restarted`,
      )
      try {
        await delay(pause, undefined, { signal: this.stopping.signal })
      } catch {
        return
      }
      worker = this.fork(number)
    }
  }

  /** @param number from 1; the number after those of request workers is that of the job process */
  private fork(number: number): Worker {
    const runsJobs = number > this.count
    const args = runsJobs ? ['work'] : ['start']
    cluster.setupPrimary({ exec: join(import.meta.dirname, '../../cli/main.js'), args })
    const worker = cluster.fork({ [numberVariable]: number, JOBS: runsJobs ? this.slots : 0 })
    if (runsJobs) this.jobsWorker = worker
    worker.on('message', (value: unknown) => {
      const message = readMessage<WorkerMessage>(value)
      if (message) this.handle(worker, message)
    })
    void this.waitUntilServing(worker).then(() => this.servingSince.set(worker, performance.now()))
    worker.once('exit', () => {
      this.shutdownTimeouts.delete(worker)
      for (const acceptor of this.acceptors.values()) acceptor.remove(worker)
    })
    return worker
  }

  private handle(worker: Worker, message: WorkerMessage): void {
    switch (message.kit) {
      case 'open':
        return void this.open(worker, message)
      case 'received':
        return this.acceptors.get(message.key)?.confirm(worker)
      case 'withdraw':
        return this.withdraw(worker, message.key)
      case 'jobs':
        return this.startJobs()
      case 'wake':
        return void (
          this.jobsWorker?.isConnected() && this.jobsWorker.send({ kit: 'wake' } satisfies PrimaryMessage)
        )
      case 'shutdownTimeout':
        return void this.shutdownTimeouts.set(worker, message.milliseconds)
    }
  }

  /** Starts the process that runs the background jobs, once. */
  private startJobs(): void {
    if (this.jobsWorker || this.slots === 0 || this.stopping.signal.aborted) return
    const number = this.count + 1
    void this.supervise(number, this.fork(number))
  }

  private withdraw(worker: Worker, key: string): void {
    const acceptor = this.acceptors.get(key)
    if (this.stopping.signal.aborted) acceptor?.withdrawWithOthers(worker)
    else acceptor?.withdraw(worker)
  }

  private async open(worker: Worker, message: Extract<WorkerMessage, { kit: 'open' }>): Promise<void> {
    const { key, port, host } = message
    const acceptor = this.acceptors.get(key) ?? new Acceptor(key)
    const isNew = !this.acceptors.has(key)
    this.acceptors.set(key, acceptor)
    let response: PrimaryMessage
    try {
      const address = await acceptor.listen(port, host)
      if (isNew) this.logger.info(`listening on ${address}, with ${this.count} workers`)
      response = { kit: 'opened', key, address }
    } catch (error) {
      this.acceptors.delete(key)
      response = { kit: 'failed', key, ...causeOf(error) }
    }
    if (!worker.isConnected()) return
    worker.send(response)
    if (response.kit === 'opened') acceptor.add(worker)
  }

  /** Waits until a worker serves: when it listens, or when its `src/main.ts` has run. */
  private waitUntilServing(worker: Worker): Promise<true> {
    return new Promise((resolve) => {
      worker.once('listening', () => resolve(true))
      worker.on('message', (value: unknown) => {
        if (readMessage<WorkerMessage>(value)?.kit === 'loaded') resolve(true)
      })
    })
  }

  /** Sends SIGTERM to a worker, and SIGKILL after its timeout. Resolves when it has ended. */
  private async end(worker: Worker): Promise<void> {
    const ended = once(worker, 'exit')
    worker.process.kill('SIGTERM')
    const timer = setTimeout(
      () => {
        this.wasKilled = true
        this.logger.error(`process ${worker.process.pid} did not exit in time and is killed`)
        worker.process.kill('SIGKILL')
      },
      this.shutdownTimeouts.get(worker) ?? defaultShutdownTimeout,
    )
    await ended
    clearTimeout(timer)
  }
}

/** The code and message of the system's error, from which workers create PortInUse or AddressUnavailable. */
function causeOf(error: unknown): { code: string; message: string } {
  const { cause = error } = Object(error) as { cause?: unknown }
  const { code, message } = Object(cause) as { code?: unknown; message?: unknown }
  return { code: String(code), message: String(message) }
}
