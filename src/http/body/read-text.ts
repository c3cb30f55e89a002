import { BadRequest, ContentTooLarge } from '../../errors.js'
import type { BodyRead } from './body-reads.js'
import type { BodyStream } from './body-stream.js'

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
