import type { Context } from '../../context.js'
import { PerRequest } from '../../common/per-request.js'
import { makeUploadFolder, removeUploadFolder } from './upload-folders.js'

const folders = new PerRequest<Promise<string>>()

/** The folder for the uploaded files of a request. It is made with the first of them. */
export function uploadFolder(ctx: Context): Promise<string> {
  const folder = folders.get(ctx) ?? makeUploadFolder()
  folders.set(ctx, folder)
  return folder
}

/** Whether a request has a folder for uploaded files. */
export function hasUploads(ctx: Context): boolean {
  return folders.has(ctx)
}

/** Deletes the uploaded files of a request that nobody moved elsewhere. */
export async function removeUploads(ctx: Context): Promise<void> {
  const folder = await folders.get(ctx)?.catch(() => undefined)
  if (folder) await removeUploadFolder(folder)
}
