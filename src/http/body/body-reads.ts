import { clientNetwork } from '../security/client-network.js'
import type { Context } from '../../context.js'
import { BadRequest, RequestTimeout, ServiceUnavailable } from '../../errors.js'

/** The bytes of all bodies that may be in memory while they are read, or the size of a single body if that is larger. */
const budget = 64 * 1024 * 1024

/** The slowest rate that is accepted: this number of bytes within this number of milliseconds. */
const minRate = { bytes: 1024, milliseconds: 10_000 }

/** Milliseconds between two checks of the rate. */
const checkInterval = 1000

/**
 * The bodies that an application is reading. Each one ends: with its last byte, with its connection, with 408 if it is too
 * slow, or with 503 if all of them together need too much memory.
 */
export class BodyReads {
  private readonly reads = new Set<BodyRead>()
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
  /** Ends the reading with an error. The function that reads the body replaces it. */
  onFail = (_error: Error): void => {}
  private failure: Error | undefined
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

  fail(error: Error): void {
    this.failure ??= error
    this.onFail(this.failure)
  }

  /**
   * Returns the next piece of the body as it was sent, or undefined at its end. The connection waits meanwhile.
   *
   * @throws BadRequest (400) when the client disconnects; the error with which the reading fails
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

  /** @param now the time in milliseconds */
  checkRate(now: number): void {
    const { req } = this.ctx
    const bytes = req.socket.bytesRead
    if (this.checked && now - this.checked.at < minRate.milliseconds) return
    const isSlow = this.checked && bytes - this.checked.bytes < minRate.bytes
    this.checked = { at: now, bytes }
    // Bytes that have arrived and have not been read wait for this process, not for the client.
    if (isSlow && !req.complete && req.readableLength === 0)
      this.fail(new RequestTimeout(minRate.milliseconds))
  }

  /** Waits until there may be another piece. */
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
