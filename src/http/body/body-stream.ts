import { pipeline } from 'node:stream'
import { createBrotliDecompress, createUnzip } from 'node:zlib'
import { ByteList } from '../../common/byte-list.js'
import { BadRequest, ContentTooLarge, DecompressionBomb } from '../../errors.js'
import type { BodyContext, BodyRead } from './body-reads.js'

const decompressors = { gzip: createUnzip, deflate: createUnzip, br: createBrotliDecompress }

/** The encodings of bodies that can be decompressed. */
type Compression = keyof typeof decompressors

/** The encoding of a request's body; undefined if it is not supported. */
export function encodingOf({ req }: Pick<BodyContext, 'req'>): Compression | 'identity' | undefined {
  const encoding = req.headers['content-encoding']?.toLowerCase() || 'identity'
  return encoding === 'identity' || encoding === 'gzip' || encoding === 'deflate' || encoding === 'br'
    ? encoding
    : undefined
}

/** The maximum ratio between the decompressed and the compressed size of a body. */
const maxRatio = 100

/** The bytes up to which the ratio is not checked, because small bodies can be compressed well. */
const uncheckedSize = 64 * 1024

/** @throws DecompressionBomb (413), and the errors of zlib and of `read` */
async function* decompress(encoding: Compression, read: BodyRead): AsyncGenerator<Buffer, void, undefined> {
  const decompressor = decompressors[encoding]()
  // The loop receives the errors of the body, too, so the callback ignores them.
  pipeline(read.pieces(), decompressor, () => {})
  let written = 0
  for await (const chunk of decompressor as AsyncIterable<Buffer>) {
    written += chunk.length
    // `bytesWritten` is the number of compressed bytes that zlib has processed.
    if (written > uncheckedSize && written > maxRatio * decompressor.bytesWritten)
      throw new DecompressionBomb(maxRatio)
    yield chunk
  }
}

/** The pieces of a body, decompressed. Throws as `decompress` and `read` do. */
export function piecesOf(ctx: Pick<BodyContext, 'req'>, read: BodyRead): AsyncIterable<Buffer> {
  const encoding = encodingOf(ctx) ?? 'identity'
  return encoding === 'identity' ? read.pieces() : decompress(encoding, read)
}

/**
 * Reads a body, and decompresses it.
 *
 * @param limit the maximum number of decompressed bytes
 * @throws ContentTooLarge (413) when the body has more bytes than the limit, an Error when the body has been
 *   read before, and the errors of the decompression and of `read`
 */
export async function readBytes(ctx: BodyContext, limit: number, read: BodyRead): Promise<Buffer> {
  const { req } = ctx
  if (req.readableEnded) throw new Error('The body has been read before.')
  const declared = encodingOf(ctx) === 'identity' ? Number(req.headers['content-length'] ?? 0) : 0
  if (declared > limit) throw new ContentTooLarge(limit)
  const bytes = new ByteList()
  try {
    for await (const piece of piecesOf(ctx, read)) {
      if (bytes.length + piece.length > limit) throw new ContentTooLarge(limit)
      const before = bytes.capacity
      bytes.add(piece)
      read.hold(bytes.capacity - before)
    }
    return bytes.take()
  } finally {
    // The listeners of a request refer to the bytes as long as the connection is open.
    bytes.take()
  }
}

/** Decodes UTF-8, and omits a byte order mark. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Decodes a body.
 *
 * @throws BadRequest (400) when the bytes are not UTF-8
 */
export function decodeText(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw new BadRequest('The body is not UTF-8.', { cause })
  }
}
