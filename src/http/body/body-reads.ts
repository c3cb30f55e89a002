import { clientNetwork } from '../security/client-network.js'
import type { Context } from '../../context.js'
import { BadRequest, RequestTimeout, ServiceUnavailable } from '../../errors.js'

/** The maximum bytes in memory of all bodies that are being read. If the limit of one body is larger, that limit counts. */
const budget = 64 * 1024 * 1024

/** The slowest rate that is accepted: this number of bytes within this number of milliseconds. */
const minRate = { bytes: 1024, milliseconds: 10_000 }

/** The milliseconds between two checks of the rate. */
const checkInterval = 1000

/**
 * The bodies that an application is reading. Each reading ends: with the last byte, with the connection, with 408 if the body
 * arrives too slowly, or with 503 if all bodies together need too much memory.
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

  /** Stops counting a body, unless that has happened before. */
  private end(read: BodyRead): void {
    if (this.reads.delete(read)) this.held -= read.held
  }

  /** The first body of the client that holds the most memory, so that no client can keep the others from sending theirs. */
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

/** The reading of one body. */
export class BodyRead {
  /** The bytes of the body that are in memory. */
  held = 0
  /** Ends the reading with an error. The code that reads the body sets this function. */
  onFail = (_error: Error): void => {}
  private failure: Error | undefined
  /** The time of the last check, and the bytes that the connection had received by then. */
  private checked: { at: number; bytes: number } | undefined

  constructor(
    private readonly ctx: Context,
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
    this.onFail(this.failure)
  }

  /**
   * Returns the next piece of the body as it was sent, or undefined at its end. Until the next call, the client has to wait.
   *
   * @throws BadRequest (400) when the client disconnects, and the error that was passed to `fail`
   */
  async next(): Promise<Buffer | undefined> {
    const { req } = this.ctx
    for (;;) {
      if (this.failure) throw this.failure
      const piece: Buffer | null = req.read()
      if (piece) return piece
      if (req.readableEnded) return undefined
      if (req.destroyed) throw new BadRequest('The body is incomplete.')
      await this.waitForEvent()
    }
  }

  /**
   * Fails if too few bytes have arrived since the last check.
   *
   * @param now the time of `performance.now()`
   */
  checkRate(now: number): void {
    const { req } = this.ctx
    const bytes = req.socket.bytesRead
    if (this.checked && now - this.checked.at < minRate.milliseconds) return
    const isSlow = this.checked && bytes - this.checked.bytes < minRate.bytes
    this.checked = { at: now, bytes }
    // If bytes wait to be read, this process is slow, not the client.
    if (isSlow && !req.complete && req.readableLength === 0)
      this.fail(new RequestTimeout(minRate.milliseconds))
  }

  /** Waits until there may be another piece, or until the reading fails. */
  private waitForEvent(): Promise<void> {
    const { req } = this.ctx
    const events = ['readable', 'end', 'error', 'close']
    return new Promise((resolve) => {
      const settle = (): void => {
        for (const event of events) req.off(event, settle)
        this.onFail = () => {}
        resolve()
      }
      for (const event of events) req.on(event, settle)
      this.onFail = settle
    })
  }
}
