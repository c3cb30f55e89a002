import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { Logger } from 'pino'
import {
  channels,
  currentEnvironment,
  makeUploadFolder,
  measure,
  removeUploadFolder,
  sessionSecrets,
  Signer,
  type RecordWork,
} from '../extension.js'
import { RecordNotFound, ServiceUnavailable, type DeclaredRoute, type FileMessage } from '../index.js'
import type { Variant } from './declaration.js'
import type { FileTable, NewFile } from './file-table.js'
import { describe, receive, type FileSource } from './receiving.js'
import { FileRoutes } from './routes.js'
import { rowOf, type FileRow, type StoredFile } from './stored-file.js'
import { FolderStore } from './stores/folder.js'
import { openStore } from './stores/open-store.js'
import type { S3Bucket } from './stores/s3.js'
import type { FileStore } from './stores/store.js'

/** The options that choose the store. */
export interface FilesStores {
  /** Where the bytes are (a folder or a bucket, as `FILES_URL` says). */
  store?: FileStore | undefined
  /** Returns the keys of the bucket (`AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`), for roles whose keys change. */
  credentials?: S3Bucket['credentials'] | undefined
  /**
   * Whether `ctx.sendFile` redirects to a URL of the bucket, which is valid for a minute (no). A folder always sends the bytes itself. Add
   * the bucket to the `imgSrc` of `securityHeaders()`.
   */
  redirect?: boolean | undefined
}

/** A file that was received, and is in a local file. */
export interface Received {
  path: string
  file: NewFile
}

type Log = Pick<Logger, 'debug' | 'error'>

/** The stored files of an application: their rows, their bytes, and the routes that serve them. */
export class Files {
  routes = new FileRoutes([])
  /** The route of `files.download`. */
  download: DeclaredRoute | undefined
  /** Makes the variants of images; undefined if no model declares some. */
  variants: { find(original: FileRow, variant: Variant): Promise<FileRow> } | undefined
  env: string = currentEnvironment()
  private opened: FileStore | undefined
  private readonly signers = new Map<string, Signer>()
  /** The keys that were written in the test environment, for `removeUndone`. */
  private readonly written = new Set<string>()

  constructor(
    readonly table: FileTable,
    private readonly options: FilesStores = {},
  ) {}

  /** The store, which `open` has opened. */
  get byteStore(): FileStore {
    if (!this.opened) throw new Error('The store of files is not open yet.')
    return this.opened
  }

  /** Opens the store, unless it is open: when the application starts, or when a file is stored without it. */
  async open(): Promise<FileStore> {
    const { store, credentials } = this.options
    return (this.opened ??= store ?? (await openStore(this.env, credentials)))
  }

  /** Returns the URL of the bytes in the bucket; undefined if the application sends them. */
  async urlOf(key: string, headers: { type: string; disposition: string }): Promise<string | undefined> {
    return this.options.redirect ? (await this.open()).urlOf?.(key, headers) : undefined
  }

  /** Signs what clients send back, for one purpose. */
  signer(purpose: string): Signer {
    const signer =
      this.signers.get(purpose) ?? new Signer(purpose, sessionSecrets(undefined, this.env, 'Stored files'))
    this.signers.set(purpose, signer)
    return signer
  }

  /** The folder in which files are received: on the disk of the store, if it is a folder. */
  get uploads(): string {
    const { byteStore } = this
    return byteStore instanceof FolderStore ? byteStore.uploads : tmpdir()
  }

  /**
   * Stores files that were received: first their rows, which expire, then their bytes. Whatever ends the work in between leaves rows
   * that the next sweep removes with the bytes.
   *
   * @throws ServiceUnavailable (503) when the store does not work
   */
  async keep(received: readonly Received[], logger?: Log): Promise<FileRow[]> {
    if (received.length === 0) return []
    await this.open()
    const rows = await this.table.add(received.map(({ file }) => file))
    const writes = rows.map((row, index) => this.write(row, received[index]?.path ?? '', logger))
    const failed = (await Promise.allSettled(writes)).find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected')
      throw new ServiceUnavailable('The store of files does not accept them.', 5, { cause: failed.reason })
    return rows
  }

  private async write(row: FileRow, path: string, logger?: Log): Promise<void> {
    const { id, key, byte_size, content_type } = row
    try {
      await published('write', () => this.byteStore.write(key, { path, ...row }))
      if (this.env === 'test') this.written.add(key)
    } catch (err) {
      logger?.error({ err, file: id, key }, 'a file could not be stored')
      throw err
    }
    logger?.debug({ file: id, bytes: byte_size, type: content_type }, 'stored a file')
  }

  /** Stores a file that no request has sent. */
  async store(source: FileSource, filename?: string, more: Partial<NewFile> = {}): Promise<FileRow> {
    await this.open()
    await mkdir(this.uploads, { recursive: true, mode: 0o700 })
    const folder = await makeUploadFolder(this.uploads)
    try {
      const upload = await receive(source, join(folder, '1'), filename)
      const file = { ...(await describe(upload)), ...more }
      const [row] = await this.keep([{ path: upload.filepath, file }])
      return row as FileRow
    } finally {
      await removeUploadFolder(folder)
    }
  }

  /** Reads the bytes of a file. */
  async read(file: StoredFile | FileRow, range?: { start: number; end: number }): Promise<Readable> {
    const { key } = rowOf(file) ?? (file as FileRow)
    if (typeof key !== 'string')
      throw new TypeError('files.read() needs a stored file, as a record or files.store() has it.')
    const store = await this.open()
    return published('read', () => store.read(key, range))
  }

  /**
   * Returns the row of a file, or of its variant.
   *
   * @throws RecordNotFound (404) when the image cannot be decoded; ServiceUnavailable (503) when too many images are being made
   */
  async choose(row: FileRow, variant: Variant | undefined): Promise<FileRow> {
    if (!variant) return row
    if (!this.variants) throw new RecordNotFound('StoredFile')
    return this.variants.find(row, variant)
  }

  /** Removes the bytes that this process has written for rows that are gone, because a test was undone. */
  async removeUndone(): Promise<void> {
    const keys = [...this.written]
    const known = await this.table.findKeys(keys)
    for (const key of keys.filter((one) => !known.has(one))) {
      await this.byteStore.remove(key)
      this.written.delete(key)
    }
  }
}

/** The stored files of each database, for the models that have some. */
export const filesOfDatabase = new WeakMap<object, Files>()

/** The stored files of the database of a request or job. */
export function filesIn({ tx }: RecordWork): Files {
  const files = filesOfDatabase.get(tx.dataSource)
  if (!files) throw new TypeError('The database has no stored files.')
  return files
}

/** Publishes how long some work with the bytes of a file takes. */
export async function published<T>(name: FileMessage['name'], work: () => Promise<T>): Promise<T> {
  const end = measure(channels.file, 'name', name)
  try {
    const result = await work()
    end?.()
    return result
  } catch (error) {
    end?.(error)
    throw error
  }
}
