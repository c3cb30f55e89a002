import { BadRequest, ContentTooLarge } from '../../errors.js'
import type { BodyStream } from './body-stream.js'

/** Decodes UTF-8 without a byte order mark. */
const utf8 = new TextDecoder()

/**
 * Reads a body as text.
 *
 * @throws ContentTooLarge (413) when it has more bytes than the limit, BadRequest (400) when the client disconnects
 */
export function readText(body: BodyStream, limit: number): Promise<string> {
  return new Promise((resolve, reject) => {
    if (!body.readable)
      return reject(new Error('The body has been read before, or its connection is closed.'))
    if (Number(body.headers['content-length'] ?? 0) > limit) return reject(new ContentTooLarge(limit))
    const pieces: Buffer[] = []
    let length = 0
    const add = (piece: Buffer): void => {
      length += piece.length
      pieces.push(piece)
      if (length <= limit) return
      body.off('data', add).pause()
      reject(new ContentTooLarge(limit))
    }
    body.on('data', add)
    body.on('end', () => resolve(utf8.decode(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces))))
    body.on('aborted', () => reject(new BadRequest('The body is incomplete.')))
    body.on('error', reject)
  })
}
