import type { IncomingHttpHeaders } from 'node:http'
import { finished, Transform, type Duplex, type Readable } from 'node:stream'
import { createBrotliDecompress, createUnzip } from 'node:zlib'
import type { Context } from '../context.js'
import { BadRequest, ContentTooLarge } from '../errors.js'
import { partHeaderCheck } from './part-headers.js'

/** A body that is read beside the connection: whatever breaks it, the connection stays whole and can be answered. */
export type BodyStream = Readable & { headers: IncomingHttpHeaders }

const decompressors = { gzip: createUnzip, deflate: createUnzip, br: createBrotliDecompress }

/** The encoding of a request's body, if we read it. */
export function encodingOf(ctx: Context): keyof typeof decompressors | 'identity' | undefined {
  const encoding = ctx.get('Content-Encoding').toLowerCase() || 'identity'
  return encoding === 'identity' || encoding === 'gzip' || encoding === 'deflate' || encoding === 'br'
    ? encoding
    : undefined
}

/** The body of a request, decompressed. */
export function decompressed(ctx: Context): BodyStream {
  const encoding = encodingOf(ctx) ?? 'identity'
  if (encoding === 'identity') return ctx.req
  const { 'content-encoding': _encoding, 'content-length': _length, ...headers } = ctx.req.headers
  return detached(ctx, decompressors[encoding](), headers)
}

/**
 * The body of a multipart request.
 *
 * It fails with ContentTooLarge (413) where it is longer than `most` bytes, and with BadRequest (400) where the headers
 * of a part are long.
 */
export function limited(ctx: Context, most: number): BodyStream {
  const areShort = partHeaderCheck(ctx.get('Content-Type'))
  let received = 0
  const check = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      received += chunk.length
      if (received > most) done(new ContentTooLarge(most))
      else if (!areShort(chunk)) done(new BadRequest('The headers of a part are too long.'))
      else done(null, chunk)
    },
  })
  return detached(ctx, check, ctx.req.headers)
}

function detached(ctx: Context, stream: Duplex, headers: IncomingHttpHeaders): BodyStream {
  // Parsers take their listeners off when they give up; an error after that would end the process.
  stream.on('error', () => {})
  finished(ctx.req, (error) => error && stream.destroy(new BadRequest('The body is incomplete.')))
  return Object.assign(ctx.req.pipe(stream), { headers })
}
