import { Readable } from 'node:stream'
import type { beginStatement } from '../queries/publish.js'

/** The rows of a query, which are read at the pace of their reader. */
export class RowStream extends Readable {
  /** Whether its query has been sent. */
  hasBegun = false
  /** Runs after the last row has been read, before the stream ends. */
  afterLast: (() => Promise<void>) | undefined
  private isComplete = false
  private readonly parts: AsyncIterator<unknown[]>
  /** The rows that have been read, and the milliseconds that the database took for them. */
  private readonly progress = { rows: 0, ms: 0 }

  /**
   * @param parts the rows, some at a time
   * @param publish publishes the query, after the last row that is read
   * @param explain converts an error of the database
   */
  constructor(
    parts: AsyncIterable<unknown[]>,
    private readonly publish: ReturnType<typeof beginStatement>,
    private readonly explain: (error: unknown) => Error,
  ) {
    super({ objectMode: true })
    this.parts = parts[Symbol.asyncIterator]()
    // A stream that fails without a listener would end the process. Its readers receive the error, too.
    this.on('error', () => {})
  }

  /** Whether the connection may have rows that have not been read. */
  get isOpen(): boolean {
    return !this.isComplete && !this.closed
  }

  /** Stops reading, and waits until the connection is free. */
  async close(): Promise<void> {
    this.destroy()
    if (!this.closed) await new Promise((closed) => this.once('close', closed))
  }

  override _read(): void {
    this.hasBegun = true
    this.readPart().catch((error: unknown) => this.destroy(this.explain(error)))
  }

  override async _destroy(cause: Error | null, close: (error: Error | null) => void): Promise<void> {
    // The part that is being read may fail. Then `readPart` gives the error to the reader.
    await this.parts.return?.().catch(() => undefined)
    this.publish?.(this.progress.rows, cause, this.progress.ms)
    close(cause)
  }

  private async readPart(): Promise<void> {
    const from = performance.now()
    const { done, value } = await this.parts.next()
    this.progress.ms += performance.now() - from
    this.progress.rows += done ? 0 : value.length
    if (!done) for (const row of value) this.push(row)
    if (!done || this.destroyed) return
    this.isComplete = true
    await this.afterLast?.()
    this.push(null)
  }
}
