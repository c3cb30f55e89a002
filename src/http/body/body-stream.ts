import type { IncomingHttpHeaders } from 'node:http'
import { finished, pipeline, Transform, type Readable } from 'node:stream'
import { createBrotliDecompress, createUnzip } from 'node:zlib'
import type { Context } from '../../context.js'
import { BadRequest, ContentTooLarge, DecompressionBomb } from '../../errors.js'
import type { BodyRead } from './body-reads.js'

/** The request itself, or the stream that decompresses it. A failure of that stream does not close the connection. */
export type BodyStream = Readable & { headers: IncomingHttpHeaders }

const decompressors = { gzip: createUnzip, deflate: createUnzip, br: createBrotliDecompress }

/** The encoding of a request's body; undefined if it is not supported. */
export function encodingOf(ctx: Context): keyof typeof decompressors | 'identity' | undefined {
  const encoding = ctx.req.headers['content-encoding']?.toLowerCase() || 'identity'
  return encoding === 'identity' || encoding === 'gzip' || encoding === 'deflate' || encoding === 'br'
    ? encoding
    : undefined
}

/** The maximum ratio between the decompressed and the compressed size of a body. */
const maxRatio = 100

/** The decompressed bytes up to which the ratio is not checked, because small bodies can be compressed well. */
const uncheckedSize = 64 * 1024

/** Returns the body of a request. If it is compressed, the stream decompresses it, and fails with DecompressionBomb (413). */
export function decompressBody(ctx: Context): BodyStream {
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
      // `bytesWritten` is the number of compressed bytes that zlib has processed.
      const isBomb = written > uncheckedSize && written > maxRatio * decompressor.bytesWritten
      if (isBomb) done(new DecompressionBomb(maxRatio))
      else done(null, chunk)
    },
  })
  // A failure of one stream destroys the other one. The reader of the result receives the error, so the callback ignores it.
  pipeline(decompressor, bounded, () => {})
  const { 'content-encoding': _encoding, 'content-length': _length, ...headers } = ctx.req.headers
  return Object.assign(bounded, { headers })
}

/** Decodes UTF-8, and omits a byte order mark. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads a body as a string.
 *
 * @param limit the maximum number of bytes
 * @throws ContentTooLarge (413) when the body has more bytes than the limit, BadRequest (400) when the client disconnects
 *   or the text is not UTF-8, an Error when the body has been read before, and the errors of the decompression and of `read`
 */
export function readText(
  body: BodyStream,
  limit: number,
  read: Pick<BodyRead, 'hold' | 'onFail'>,
): Promise<string> {
  return new Promise((resolve, reject) => {
    if (!body.readable)
      return reject(new Error('The body has been read before, or its connection is closed.'))
    if (Number(body.headers['content-length'] ?? 0) > limit) return reject(new ContentTooLarge(limit))
    let pieces: Buffer[] = []
    let length = 0
    const stop = (error: Error): void => {
      body.off('data', add).pause()
      pieces = []
      reject(error)
    }
    const add = (piece: Buffer): void => {
      length += piece.length
      if (length > limit) return stop(new ContentTooLarge(limit))
      pieces.push(piece)
      read.hold(piece.length)
    }
    read.onFail = stop
    body.on('data', add)
    body.on('end', () => {
      const text = decode(pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces))
      return text === undefined ? reject(new BadRequest('The body is not UTF-8.')) : resolve(text)
    })
    const rejectIncomplete = (): void => reject(new BadRequest('The body is incomplete.'))
    body.on('close', () => body.readableEnded || rejectIncomplete())
    // Node reports a closed connection as an error with this code. Other errors are those of a decompressor.
    body.on('error', (error) =>
      Reflect.get(error, 'code') === 'ECONNRESET' ? rejectIncomplete() : reject(error),
    )
  })
}

/** Returns undefined if the bytes are not UTF-8. */
function decode(bytes: Buffer): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}
