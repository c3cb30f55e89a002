import type { IncomingHttpHeaders } from 'node:http'
import { finished, pipeline, Transform, type Readable } from 'node:stream'
import { createBrotliDecompress, createUnzip } from 'node:zlib'
import type { Context } from '../../context.js'
import { BadRequest, ContentTooLarge, DecompressionBomb } from '../../errors.js'
import type { BodyRead } from './body-reads.js'

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

/** Decodes UTF-8 without a byte order mark. */
const utf8 = new TextDecoder()

/**
 * Reads a body as text.
 *
 * @throws ContentTooLarge (413) when it has more bytes than the limit, BadRequest (400) when the client disconnects, and
 * the error with which the reading fails
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
    body.on('end', () => resolve(utf8.decode(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces))))
    const rejectIncomplete = (): void => reject(new BadRequest('The body is incomplete.'))
    body.on('close', () => body.readableEnded || rejectIncomplete())
    // Node reports a closed connection as an error with this code. Other errors are those of a decompressor.
    body.on('error', (error) =>
      Reflect.get(error, 'code') === 'ECONNRESET' ? rejectIncomplete() : reject(error),
    )
  })
}
