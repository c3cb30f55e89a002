import type { Readable } from 'node:stream'
import type { Logger } from 'pino'

/** Where the bytes of stored files are: a folder, a bucket, or another service. */
export interface FileStore {
  /**
   * Writes the bytes of a file under a new key. When it resolves, they are on the disk of the store.
   *
   * @param file a local file, which stays where it is
   */
  write(key: string, file: LocalFile): Promise<void>
  /**
   * Reads bytes.
   *
   * @param range the first and the last byte (all)
   * @throws FileMissing when the store has no such key
   */
  read(key: string, range?: { start: number; end: number }): Promise<Readable>
  /** Removes the bytes of a key, if there are any. */
  remove(key: string): Promise<void>
  /** All keys, for `kit files check`. */
  list(): AsyncIterable<string>
  /** Checks that the store works, when the application starts. Its error stops the start; what may pass is a warning of the logger. */
  start?(logger: Pick<Logger, 'warn'>): Promise<void>
  /** Returns a URL from which a client reads the file itself, for a minute. */
  urlOf?(key: string, headers: { type: string; disposition: string }): Promise<string>
}

/** A local file with the bytes of a stored one. */
export interface LocalFile {
  path: string
  byte_size: number
  /** In hexadecimal digits. */
  sha256: string
  content_type: string
}

/** A store has no bytes for a key. */
export class FileMissing extends Error {
  override readonly name = 'FileMissing'
}
