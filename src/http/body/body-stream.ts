import type { IncomingHttpHeaders } from 'node:http'
import { finished, pipeline, Transform, type Readable } from 'node:stream'
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

/** How many times as large a body may become, once it is larger than `small` bytes. */
const maxRatio = 100
const small = 64 * 1024

/** The body of a request, decompressed. */
export function decompressed(ctx: Context): BodyStream {
  const encoding = encodingOf(ctx) ?? 'identity'
  if (encoding === 'identity') return ctx.req
  const decompressor = ctx.req.pipe(decompressors[encoding]())
  // Parsers remove their listeners when they fail. An error after that would end the process.
  decompressor.on('error', () => {})
  finished(ctx.req, (error) => error && decompressor.destroy(new BadRequest('The body is incomplete.')))
  let written = 0
  const bounded = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      written += chunk.length
      // The number of bytes that zlib has taken in so far.
      const isBomb = written > small && written > maxRatio * decompressor.bytesWritten
      if (isBomb) done(new DecompressionBomb(maxRatio))
      else done(null, chunk)
    },
  })
  // A failure of either ends the other one; it is the reader of the result who sees it.
  pipeline(decompressor, bounded, () => {})
  const { 'content-encoding': _encoding, 'content-length': _length, ...headers } = ctx.req.headers
  return Object.assign(bounded, { headers })
}
