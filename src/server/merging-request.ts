import { IncomingMessage } from 'node:http'
import { ByteList } from '../common/byte-list.js'
import { TooManyChunks } from '../errors.js'

/** The bytes from which a chunk is passed on by itself. */
const largeChunk = 1024

/** The number of chunks from which a body must have `minAverage` bytes in each on average. */
const maxSmallChunks = 10_000
const minAverage = 16

/**
 * A request that passes on small chunks of its body as one piece, as soon as the event loop has read what the
 * connection has received. Node creates objects of 200 bytes for each chunk, and would keep those that nobody
 * has read yet.
 */
export class MergingRequest extends IncomingMessage {
  private chunks = 0
  private bytes = 0
  private small: ByteList | undefined
  private timer: NodeJS.Immediate | undefined

  /** Called with each chunk, and with null at the end. With false, it stops reading the connection. */
  override push(chunk: Buffer | null): boolean {
    // Without this encoding, there is one piece for each time that the connection is read.
    if (this.headers['transfer-encoding'] === undefined) return super.push(chunk)
    if (chunk === null) return this.pass(null)
    if (this.destroyed) return false
    this.bytes += chunk.length
    if (++this.chunks >= maxSmallChunks && this.bytes < this.chunks * minAverage) {
      this.destroy(new TooManyChunks(minAverage))
      return false
    }
    if (chunk.length >= largeChunk) return this.pass(chunk)
    this.small ??= new ByteList()
    this.small.add(chunk)
    this.timer ??= setImmediate(passSmall, this)
    return true
  }

  /** Passes the small chunks on, and then a chunk or the end. */
  pass(chunk: Buffer | null): boolean {
    this.passSmall()
    return super.push(chunk)
  }

  /** Passes the small chunks on. */
  passSmall(): void {
    clearImmediate(this.timer)
    this.timer = undefined
    if (!this.small || this.small.length === 0 || this.destroyed) return
    // As Node does with a chunk.
    if (!super.push(this.small.take())) this.socket.pause()
  }

  /** A body in too many chunks fails alone, because its connection is still needed for the response. */
  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.small = undefined
    if (!(error instanceof TooManyChunks)) super._destroy(error, done)
    // Without a listener, an error would end the process.
    else process.nextTick(() => done(this.listenerCount('error') > 0 ? error : null))
  }
}

function passSmall(request: MergingRequest): void {
  request.passSmall()
}
