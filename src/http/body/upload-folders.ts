import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ServiceUnavailable } from '../../errors.js'
import { PerRequest } from '../../common/per-request.js'
import type { Context } from '../../context.js'

/** The prefix of our folders' names, because other programs use the same temporary folder. */
const prefix = 'resource-kit-upload-'

/** The milliseconds after which no request can still need its folder: a day. */
const lifetime = 24 * 60 * 60 * 1000

/** Creates a folder for the uploaded files of a request. Returns its path. */
export function makeUploadFolder(parent = tmpdir()): Promise<string> {
  return mkdtemp(join(parent, prefix))
}

/** Deletes a folder and its files, if it still exists. */
export function removeUploadFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true, maxRetries: 3 })
}

/**
 * Deletes folders that are older than a day: they belong to processes that were killed during an upload. A
 * folder that cannot be deleted is ignored, because it may be that of another user.
 *
 * @param now the time in milliseconds since 1970
 */
export async function removeStaleUploads(now = Date.now(), parent = tmpdir()): Promise<void> {
  const names = await readdir(parent).catch(() => [])
  for (const name of names.filter((it) => it.startsWith(prefix))) {
    const folder = join(parent, name)
    const found = await lstat(folder).catch(() => undefined)
    if (found?.isDirectory() && now - found.mtimeMs > lifetime)
      await removeUploadFolder(folder).catch(() => undefined)
  }
}

const folders = new PerRequest<Promise<string>>()

/** The folder for the uploaded files of a request. The first file creates it. */
export function uploadFolder(ctx: Context, parent?: string): Promise<string> {
  const folder = folders.get(ctx) ?? makeUploadFolder(parent)
  folders.set(ctx, folder)
  return folder
}

/** Whether a request has a folder for uploaded files. */
export function hasUploads(ctx: Context): boolean {
  return folders.has(ctx)
}

/** Deletes the uploaded files of a request that the handler has not moved elsewhere. */
export async function removeUploads(ctx: Context): Promise<void> {
  const folder = await folders.get(ctx)?.catch(() => undefined)
  if (folder) await removeUploadFolder(folder)
}

/** The codes of a full disk, and of a limit of a user or of a process. */
const FULL: readonly unknown[] = ['ENOSPC', 'EDQUOT', 'EFBIG']

/** Converts the error of a disk that takes no more files to a 503, and returns any other error as it is. */
export function explainFullDisk(error: unknown): unknown {
  if (!FULL.includes(Reflect.get(Object(error), 'code'))) return error
  return new ServiceUnavailable('The disk for uploaded files is full.', 60, { cause: error })
}
