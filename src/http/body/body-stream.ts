import type { IncomingHttpHeaders } from 'node:http'
import {
  finished,
  pipeline,
  Transform,
  type Duplex,
  type Readable,
  type TransformCallback,
} from 'node:stream'
import { createBrotliDecompress, createUnzip } from 'node:zlib'
import type { Context } from '../../context.js'
import { BadRequest, ContentTooLarge, DecompressionBomb } from '../../errors.js'

/** A body that is read separately from the connection: if it fails, the connection can still send a response. */
export type BodyStream = Readable & { headers: IncomingHttpHeaders }

const decompressors = { gzip: createUnzip, deflate: createUnzip, br: createBrotliDecompress }

/** The encoding of a request's body, if it is supported. */
export function encodingOf(ctx: Context): keyof typeof decompressors | 'identity' | undefined {
  const encoding = ctx.req.headers['content-encoding']?.toLowerCase() || 'identity'
  return encoding === 'identity' || encoding === 'gzip' || encoding === 'deflate' || encoding === 'br'
    ? encoding
    : undefined
}

/** The body of a request, decompressed. */
export function decompressed(ctx: Context): BodyStream {
  const encoding = encodingOf(ctx) ?? 'identity'
  if (encoding === 'identity') return ctx.req
  const { 'content-encoding': _encoding, 'content-length': _length, ...headers } = ctx.req.headers
  return bounded(detached(ctx, decompressors[encoding](), headers))
}

/** How many times as large a body may become, once it is larger than `small` bytes. */
const maxRatio = 100
const small = 64 * 1024

function bounded(decompressor: BodyStream): BodyStream {
  let written = 0
  const check = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      written += chunk.length
      // The bytes that zlib has taken in so far.
      const read: unknown = Reflect.get(decompressor, 'bytesWritten')
      if (written > small && written > maxRatio * Number(read)) done(new DecompressionBomb(maxRatio))
      else done(null, chunk)
    },
  })
  // A failure of either ends the other one; it is the reader of the result who sees it.
  pipeline(decompressor, check, () => {})
  return Object.assign(check, { headers: decompressor.headers })
}

/** Bytes that are collected before they are passed on: a client may send them one by one. */
const worthPassingOn = 64 * 1024

/**
 * The body of a multipart request, in large pieces.
 *
 * @param check inspects each piece, and throws the error with which the stream fails
 * @returns a stream that fails with ContentTooLarge (413) when there are more than `most` bytes
 */
export function limited(ctx: Context, most: number, check: (piece: Buffer) => void): BodyStream {
  let received = 0
  let pending: Buffer[] = []
  let length = 0

  function piece(done: TransformCallback): void {
    const whole = Buffer.concat(pending)
    pending = []
    length = 0
    try {
      check(whole)
    } catch (error) {
      return done(error as Error)
    }
    done(null, whole)
  }

  const collector = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      received += chunk.length
      if (received > most) return done(new ContentTooLarge(most))
      pending.push(chunk)
      length += chunk.length
      if (length < worthPassingOn) done()
      else piece(done)
    },
    flush: piece,
  })
  return detached(ctx, collector, ctx.req.headers)
}

function detached(ctx: Context, stream: Duplex, headers: IncomingHttpHeaders): BodyStream {
  // Parsers remove their listeners when they fail. An error after that would end the process.
  stream.on('error', () => {})
  finished(ctx.req, (error) => error && stream.destroy(new BadRequest('The body is incomplete.')))
  return Object.assign(ctx.req.pipe(stream), { headers })
}
