import { constants } from 'node:fs'
import { copyFile, link, mkdir, open, readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { DeclarationError } from '../../index.js'
import { FileMissing, type FileStore, type LocalFile } from './store.js'

/** The folder of the files that are still being received. */
const uploads = '.uploads'

/** Stores files in a folder: `ab/cd/<key>`. Only the user of the process may read them. */
export class FolderStore implements FileStore {
  /** @param folder an absolute path */
  constructor(readonly folder: string) {}

  /** Where files are received, on the same disk. */
  get uploads(): string {
    return join(this.folder, uploads)
  }

  async start(): Promise<void> {
    try {
      await mkdir(this.uploads, { recursive: true, mode: 0o700 })
      const probe = await open(join(this.uploads, `.probe-${process.pid}`), 'w')
      await probe.close()
      await rm(join(this.uploads, `.probe-${process.pid}`), { force: true })
    } catch (cause) {
      throw new DeclarationError(
        `Files cannot be stored in ${this.folder} (${codeOf(cause)}). Make the folder writable, or set FILES_URL to another one.`,
        { cause },
      )
    }
  }

  async write(key: string, { path }: LocalFile): Promise<void> {
    const target = this.pathOf(key)
    await mkdir(dirname(target), { recursive: true, mode: 0o700 })
    try {
      await link(path, target)
    } catch (error) {
      // Some file systems have no links, and the file may be on another disk.
      if (!['EXDEV', 'EPERM', 'ENOTSUP', 'EMLINK', 'EACCES'].includes(codeOf(error))) throw error
      await copyFile(path, target, constants.COPYFILE_EXCL)
    }
    await flush(target, (file) => file.chmod(0o600))
    await flush(dirname(target))
  }

  async read(key: string, range?: { start: number; end: number }): Promise<Readable> {
    try {
      const file = await open(this.pathOf(key))
      return file.createReadStream({ ...range })
    } catch (error) {
      if (codeOf(error) === 'ENOENT') throw new FileMissing(`${this.pathOf(key)} is missing.`)
      throw error
    }
  }

  remove(key: string): Promise<void> {
    return rm(this.pathOf(key), { force: true })
  }

  async *list(): AsyncIterable<string> {
    const folders = await readdir(this.folder).catch(() => [])
    for (const outer of folders.filter((name) => /^[0-9a-f]{2}$/.test(name)))
      for (const inner of await readdir(join(this.folder, outer)))
        yield* await readdir(join(this.folder, outer, inner))
  }

  private pathOf(key: string): string {
    return join(this.folder, key.slice(0, 2), key.slice(2, 4), key)
  }
}

/** Waits until a file or a folder is on the disk. */
async function flush(
  path: string,
  prepare?: (file: Awaited<ReturnType<typeof open>>) => Promise<void>,
): Promise<void> {
  const file = await open(path)
  try {
    await prepare?.(file)
    await file.sync()
  } finally {
    await file.close()
  }
}

function codeOf(error: unknown): string {
  return String(Reflect.get(Object(error), 'code'))
}
