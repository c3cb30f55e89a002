import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { basename } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { explainFullDisk } from '../extension.js'
import type { UploadedFile } from '../index.js'
import { readContent } from './content.js'
import type { NewFile } from './file-table.js'
import { cleanFilename } from './stored-file.js'

/** A source of `files.store`: the path of a file, its bytes, a stream of them, or an uploaded file. */
export type FileSource = string | Uint8Array | Readable | UploadedFile

/**
 * Copies a source to a local file, and hashes it.
 *
 * @throws ServiceUnavailable (503) when the disk is full
 */
export async function receive(source: FileSource, target: string, filename?: string): Promise<UploadedFile> {
  const given = typeof source === 'object' && 'filepath' in source ? source : undefined
  const path = typeof source === 'string' ? source : given?.filepath
  const originalFilename = filename ?? given?.originalFilename ?? (path === undefined ? null : basename(path))
  const bytes =
    path !== undefined
      ? createReadStream(path)
      : source instanceof Readable
        ? source
        : Readable.from([source])
  const hash = createHash('sha256')
  let size = 0
  const count = new Transform({
    transform(piece: Buffer, _encoding, done) {
      hash.update(piece)
      size += piece.length
      done(null, piece)
    },
  })
  const file = createWriteStream(target, { flags: 'wx', mode: 0o600, flush: true })
  await pipeline(bytes, count, file).catch((error: unknown) => {
    throw explainFullDisk(error)
  })
  return { filepath: target, originalFilename, mimetype: null, size, sha256: hash.digest('hex') }
}

/** Reads from the content of a received file what its row needs. */
export async function describe(upload: UploadedFile): Promise<NewFile> {
  const { filepath, originalFilename, size, sha256 = '' } = upload
  const { type, width, height } = await readContent(filepath)
  const filename = cleanFilename(originalFilename)
  return { filename, content_type: type, byte_size: size, sha256, width, height }
}
