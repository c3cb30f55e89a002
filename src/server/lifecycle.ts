import type { RequestListener, Server } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import type { Logger } from 'pino'
import { DeclarationError } from '../errors.js'
import { GracefulServer, type ConnectionSource, type Timeouts } from './graceful-server.js'
import { forceExitAfter, onStopSignal } from './signals.js'

/** The milliseconds in which middleware must stop, and in which the process must then exit. */
const exitDelay = 3000

/** The times that a server waits, in milliseconds. */
export interface LifecycleOptions extends Timeouts {
  /** The time for which `close` accepts requests, while `GET /up` is 503 meanwhile (`DRAIN_DELAY`, 0). */
  drainDelay?: number
  /** The time for which `close` then waits for pending requests (30,000). */
  drainTimeout?: number
}

/** The part of an application that its lifecycle uses. */
export interface ServedApplication {
  readonly logger: Logger
  callback(): RequestListener
  start(): Promise<void>
  listening(address: string): void
  finish(deadline: Date): Promise<void>
  stop(): Promise<void>
}

/** The primary process of a worker: it accepts connections, and stops the worker. */
export interface Primary {
  readonly source: (server: Server) => ConnectionSource
  /** Reports how long the worker may take to shut down. */
  reportShutdownTimeout(milliseconds: number): void
}

/** Listens, and shuts down gracefully: on `close`, or on a signal of the system or of the primary process. */
export class Lifecycle {
  private readonly drainDelay: number
  private readonly drainTimeout: number
  private server: GracefulServer | undefined
  private closing: Promise<void> | undefined
  private removeSignalHandlers = (): void => {}

  constructor(
    private readonly app: ServedApplication,
    private readonly options: LifecycleOptions,
    private readonly primary?: Primary,
  ) {
    this.drainDelay = options.drainDelay ?? drainDelayOf(process.env['DRAIN_DELAY'] ?? '0')
    // Under `kit dev`, each change would have to wait.
    this.drainTimeout = Math.min(options.drainTimeout ?? 30_000, isRestarted() ? 1000 : Infinity)
  }

  get isClosing(): boolean {
    return this.closing !== undefined
  }

  /**
   * @returns the address
   * @throws DeclarationError when the application is already listening, and the errors of
   *   `GracefulServer.listen` and the start
   */
  async listen(port: number, host: string | undefined): Promise<string> {
    if (this.server) throw new DeclarationError('The application is already listening.')
    const opening = this.open(port, host)
    if (this.primary) {
      this.connect(this.primary, opening)
      return opening
    }
    const address = await opening
    this.removeSignalHandlers = onStopSignal(this.closeOnSignal)
    // `kit dev` accepts the visitors' connections, and needs the address of this process.
    if (process.send && isRestarted()) process.send({ address })
    else this.app.logger.info(`listening on ${address}`)
    return address
  }

  /** Starts the application without a server, until a signal. */
  async run(): Promise<void> {
    const starting = this.app.start()
    if (this.primary) this.connect(this.primary, starting)
    else this.removeSignalHandlers = onStopSignal(this.closeOnSignal)
    await starting
  }

  /** Stops accepting connections, waits for pending requests, and stops. It can listen again. */
  close(): Promise<void> {
    return (this.closing ??= this.drain().finally(() => (this.closing = undefined)))
  }

  /**
   * Prepares a worker for the signals of its primary process. A signal during the start is handled after it.
   * A second one is ignored, because the primary process kills a worker that does not exit in time.
   *
   * @param opening the start. If it fails, the worker ends with its error
   */
  private connect(primary: Primary, opening: Promise<unknown>): void {
    primary.reportShutdownTimeout(this.shutdownTimeout + exitDelay * 2)
    this.removeSignalHandlers = onStopSignal(
      (signal) =>
        opening.then(
          () => this.closeOnSignal(signal),
          () => undefined,
        ),
      () => undefined,
    )
  }

  private async open(port: number, host: string | undefined): Promise<string> {
    this.server = new GracefulServer(this.app.callback(), this.options, this.primary?.source)
    try {
      await this.app.start()
      const address = await this.server.listen(port, host)
      this.app.listening(address)
      return address
    } catch (error) {
      await this.close()
      throw error
    }
  }

  private async drain(): Promise<void> {
    const finished = this.app.finish(new Date(Date.now() + this.shutdownTimeout))
    if (this.server && this.drainDelay) await setTimeout(this.drainDelay)
    await this.server?.close(this.drainTimeout)
    await finished
    this.server = undefined
    await this.app.stop()
    this.removeSignalHandlers()
  }

  private readonly closeOnSignal = async (signal: NodeJS.Signals): Promise<void> => {
    const { logger } = this.app
    if (!isRestarted())
      logger.info(`${signal}: finishing the ${this.server ? 'pending requests' : 'running jobs'}`)
    forceExitAfter(this.shutdownTimeout + exitDelay, logger, 1)
    try {
      await this.close()
    } catch (error) {
      logger.error({ err: error }, 'closing failed')
      process.exitCode = 1
    }
    // A job that did not finish in time may still run, and a restart does not wait for it.
    if (isRestarted()) process.exit()
    forceExitAfter(exitDelay, logger)
  }

  /** The milliseconds after which all connections are closed. */
  private get shutdownTimeout(): number {
    return this.drainDelay + this.drainTimeout
  }
}

/** @throws DeclarationError when the text is not a number of milliseconds */
function drainDelayOf(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text)
  throw new DeclarationError(
    `DRAIN_DELAY is "${text}". Set it to a number of milliseconds, for example 3000.`,
  )
}

/** Whether `kit dev` runs this process, and restarts it with each change. */
function isRestarted(): boolean {
  return process.env['KIT_DEV'] !== undefined
}
