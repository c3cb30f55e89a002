import type { IncomingHttpHeaders } from 'node:http'
import { finished, pipeline, Transform, type Duplex, type Readable } from 'node:stream'
import { createBrotliDecompress, createUnzip } from 'node:zlib'
import type { Context } from '../../context.js'
import { BadRequest, DecompressionBomb } from '../../errors.js'

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

function detached(ctx: Context, stream: Duplex, headers: IncomingHttpHeaders): BodyStream {
  // Parsers remove their listeners when they fail. An error after that would end the process.
  stream.on('error', () => {})
  finished(ctx.req, (error) => error && stream.destroy(new BadRequest('The body is incomplete.')))
  return Object.assign(ctx.req.pipe(stream), { headers })
}
