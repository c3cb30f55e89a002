import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { clientNetwork } from '../security/client-network.js'
import type { Context } from '../../context.js'
import { BadRequest, HttpError, RequestTimeout, ServiceUnavailable } from '../../errors.js'

/** The maximum bytes in memory of all bodies being read, or a body's own limit if that is larger. */
const budget = 64 * 1024 * 1024

/** The slowest rate that is accepted: this number of bytes within this number of milliseconds. */
const minRate = { bytes: 1024, milliseconds: 10_000 }

/** The milliseconds between two checks of the rate. */
const checkInterval = 1000

/**
 * The bodies that an application is reading. Each reading ends: with the last byte, with the connection, with
 * 408 if the body arrives too slowly, or with 503 if all bodies together need too much memory.
 */
export class BodyReads {
  private readonly reads = new Set<BodyRead>()
  /** The bytes of all bodies that are in memory. */
  private held = 0
  private timer: NodeJS.Timeout | undefined

  /** @param limit the bytes of the largest body that is held in memory */
  constructor(private readonly limit: number) {}

  /** Runs `work`, which reads the body of a request. */
  async run<T>(ctx: Context, work: (read: BodyRead) => Promise<T>): Promise<T> {
    const read = new BodyRead(ctx, (bytes) => this.hold(bytes))
    this.reads.add(read)
    this.timer ??= setInterval(() => this.checkRates(), checkInterval).unref()
    try {
      return await work(read)
    } finally {
      this.end(read)
    }
  }

  private hold(bytes: number): void {
    this.held += bytes
    while (this.held > Math.max(budget, this.limit)) {
      const read = this.firstBodyOfLargestClient()
      if (!read) return
      this.end(read)
      read.fail(new ServiceUnavailable('The bodies that are being read need too much memory.'))
    }
  }

  /** Stops reading and counting a body, unless that has happened before. */
  private end(read: BodyRead): void {
    read.stop()
    if (this.reads.delete(read)) this.held -= read.held
  }

  /** The first body of the client that holds the most memory, so that no client keeps others from sending. */
  private firstBodyOfLargestClient(): BodyRead | undefined {
    const totals = new Map<string, number>()
    for (const { client, held } of this.reads) totals.set(client, (totals.get(client) ?? 0) + held)
    const most = Math.max(...totals.values())
    return [...this.reads].find(({ client, held }) => held > 0 && totals.get(client) === most)
  }

  /** Ends the slow readings. The timer stops when nothing is being read. */
  private checkRates(): void {
    const now = performance.now()
    for (const read of this.reads) read.checkRate(now)
    if (this.reads.size > 0) return
    clearInterval(this.timer)
    this.timer = undefined
  }
}

/** The events of a request after which there is another piece of its body, or none any more. */
const events = ['readable', 'end', 'error', 'close']

/** A request, as far as reading its body needs it. */
export interface BodyContext {
  req: Pick<IncomingMessage, 'complete' | 'headers'> & Readable
  ip: string
}

/** The reading of one body. */
export class BodyRead {
  /** The bytes of memory that the body takes. */
  held = 0
  private failure: Error | undefined
  /** The bytes of the body, as it was sent, that have arrived. */
  private received = 0
  /** The time of the last check, and the bytes that had arrived by then. */
  private checked: { at: number; bytes: number } | undefined
  /** Lets `next` notice a failure, or another piece. */
  private wake: (() => void) | undefined
  /** The listener of `next`, as soon as it has waited. */
  private onEvent: (() => void) | undefined

  /**
   * @param ctx the request and the address of its client
   * @param onHold receives the bytes that the body takes in addition
   */
  constructor(
    private readonly ctx: BodyContext,
    private readonly onHold: (bytes: number) => void,
  ) {}

  /** The address of the client, or its network. */
  get client(): string {
    return clientNetwork(this.ctx.ip)
  }

  /** Counts bytes that remain in memory until the body has been read. */
  hold(bytes: number): void {
    if (this.failure) return
    this.held += bytes
    this.onHold(bytes)
  }

  /** Ends the reading with an error, or with the earlier one if it has failed before. */
  fail(error: Error): void {
    this.failure ??= error
    this.wake?.()
  }

  /**
   * Returns the next piece of the body as it was sent, or undefined at its end. Until the next call, the
   * client has to wait.
   *
   * @throws BadRequest (400) when the client disconnects, TooManyChunks (400), and the error that was passed
   *   to `fail`
   */
  async next(): Promise<Buffer | undefined> {
    const { req } = this.ctx
    for (;;) {
      if (this.failure) throw this.failure
      const piece: Buffer | null = req.read()
      if (piece) {
        this.received += piece.length
        return piece
      }
      if (req.readableEnded) return undefined
      if (req.destroyed) throw this.lossOfBody()
      await this.waitForEvent()
    }
  }

  /** The pieces that `next` returns. */
  async *pieces(): AsyncGenerator<Buffer, void, undefined> {
    for (let piece = await this.next(); piece; piece = await this.next()) yield piece
  }

  /**
   * Fails if too few bytes have arrived since the last check.
   *
   * @param now the time of `performance.now()`
   */
  checkRate(now: number): void {
    const { received } = this
    const { req } = this.ctx
    if (this.checked && now - this.checked.at < minRate.milliseconds) return
    const isSlow = this.checked && received - this.checked.bytes < minRate.bytes
    this.checked = { at: now, bytes: received }
    // If bytes wait to be read, this process is slow, not the client.
    if (isSlow && !req.complete && req.readableLength === 0)
      this.fail(new RequestTimeout(minRate.milliseconds))
  }

  /** Leaves what is left of the body to others. */
  stop(): void {
    if (this.onEvent) for (const event of events) this.ctx.req.off(event, this.onEvent)
  }

  /** The error of a body that cannot be read to its end. */
  private lossOfBody(): Error {
    const { errored } = this.ctx.req
    return errored instanceof HttpError ? errored : new BadRequest('The body is incomplete.')
  }

  /** Waits until there may be another piece, or until the reading fails. */
  private waitForEvent(): Promise<void> {
    if (!this.onEvent) {
      this.onEvent = () => this.wake?.()
      for (const event of events) this.ctx.req.on(event, this.onEvent)
    }
    return new Promise((resolve) => {
      this.wake = resolve
    })
  }
}
