import { BadRequest, type Context } from '../index.js'
import type { Files } from './files.js'
import { describe } from './receiving.js'
import { createToken } from './tokens.js'

/**
 * Responds to a multipart form with one file in its `file` field, and returns the token by which a later request attaches it to a
 * record.
 *
 * @throws BadRequest (400) without a file, or with several
 */
export async function upload(files: Files, ctx: Context): Promise<void> {
  const [given, ...others] = [ctx.request.files?.['file'] ?? []].flat()
  if (!given || others.length > 0 || given.size === 0)
    throw new BadRequest('Send a multipart form with one file in the field "file".')
  const [file] = await files.keep([{ path: given.filepath, file: await describe(given) }], ctx.log)
  if (!file) return
  const { id, filename, content_type, byte_size } = file
  const expires_at = new Date(files.table.now() + files.table.keepUnused)
  ctx.status = 201
  ctx.set('Cache-Control', 'no-store')
  ctx.body = { token: createToken(files, ctx, id), filename, content_type, byte_size, expires_at }
}
