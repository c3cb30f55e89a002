import {
  endReading,
  filesOf,
  hasTransaction,
  inTransaction,
  isWildcard,
  namesTag,
  nestedListsOf,
} from '../extension.js'
import { HttpError, RecordNotFound, ServiceUnavailable, type Context, type Model } from '../index.js'
import { variantOf } from './declaration.js'
import type { Files } from './files.js'
import { loadFiles } from './loading.js'
import { declarationOf, rowOf, type FileRow, type StoredFile } from './stored-file.js'
import { FileMissing } from './stores/store.js'

/** The options of `ctx.sendFile`. */
export interface SendFileOptions {
  /** The value of `Cache-Control` (`private, no-cache`). The content of a URL never changes. */
  cacheControl?: string
  /** Whether browsers show the file or save it (by its type: HTML and SVG, for example, are always saved). */
  disposition?: 'inline' | 'attachment'
}

/** The types that browsers show without running anything of them. */
const INLINE = [
  'image/jpeg',
  'image/png',
  'image/gif',
  'image/webp',
  'image/avif',
  'application/pdf',
  'video/mp4',
  'video/webm',
  'audio/mpeg',
  'audio/ogg',
  'text/plain',
]

/**
 * Responds with the file of a record that the URL names, or with the given file.
 *
 * @throws RecordNotFound (404) when the record has no such file, or the attribute no such variant
 */
export async function sendFile(
  files: Files,
  ctx: Context,
  subject: Model | StoredFile,
  options: SendFileOptions = {},
): Promise<void> {
  const file = rowOf(subject) ? (subject as StoredFile) : await findFile(ctx, subject as Model)
  const row = rowOf(file)
  const { variant: name } = ctx.query
  const variant = file && typeof name === 'string' ? variantOf(declarationOf(file), name) : undefined
  if (!row || (name !== undefined && !variant)) throw new RecordNotFound('StoredFile')
  // Neither a variant nor the bytes are waited for while the transaction holds a connection.
  if (hasTransaction(ctx)) await endReading(ctx)
  await respond(files, ctx, await files.choose(row, variant), options)
}

/** Finds the file of a record, or of one of its lines, that the path names. */
async function findFile(ctx: Context, record: Model): Promise<StoredFile | undefined> {
  const names = filesOf(record.constructor).map(({ name }) => name)
  if (names.some((name) => Reflect.get(record, name) === undefined))
    await inTransaction(ctx, (work) =>
      loadFiles(work, work.tx.dataSource.getMetadata(record.constructor), [record]),
    )
  const id = ctx.params['stored_file_id']?.toLowerCase()
  const lines = nestedListsOf(record.constructor).flatMap(
    ({ name }) => (Reflect.get(record, name) ?? []) as object[],
  )
  const all = [record, ...lines].flatMap((one) =>
    filesOf(one.constructor).flatMap(({ name }) => Reflect.get(one, name) as StoredFile | StoredFile[]),
  )
  return all.find((file) => rowOf(file)?.id === id)
}

/** Sends the headers and the bytes of a row. Neither 304 nor HEAD read the store. */
export async function respond(
  files: Files,
  ctx: Context,
  row: FileRow,
  { cacheControl = 'private, no-cache', disposition }: SendFileOptions,
  policy: 'same-origin' | 'cross-origin' = 'same-origin',
): Promise<void> {
  const shown = disposition === 'attachment' || !INLINE.includes(row.content_type) ? 'attachment' : 'inline'
  const type = row.content_type === 'text/plain' ? 'text/plain; charset=utf-8' : row.content_type
  const sent = { type, disposition: `${shown}; ${filenameParameters(row.filename)}` }
  const url = ctx.method === 'GET' ? await fromStore(ctx, row, () => files.urlOf(row.key, sent)) : undefined
  if (url !== undefined) {
    // The URL expires, so the response is not kept.
    ctx.set('Cache-Control', 'no-store')
    return ctx.redirect(url)
  }
  const tag = `"${row.sha256.slice(0, 32)}"`
  ctx.set({ ETag: tag, 'Cache-Control': cacheControl, 'X-Content-Type-Options': 'nosniff' })
  const match = ctx.get('If-None-Match')
  if (match !== '' && (isWildcard(match) || namesTag(match, tag))) {
    ctx.status = 304
    return
  }
  const isPdf = row.content_type === 'application/pdf'
  ctx.set({
    'Content-Type': sent.type,
    'Content-Disposition': sent.disposition,
    // Browsers show no PDF in a sandbox.
    'Content-Security-Policy': `default-src 'none'${isPdf ? '' : '; sandbox'}`,
    'Cross-Origin-Resource-Policy': policy,
    'Accept-Ranges': 'bytes',
  })
  const size = row.byte_size
  const range = ctx.method === 'GET' ? rangeOf(ctx, size, tag) : undefined
  if (range === 'unsatisfiable') {
    throw new HttpError(416, 'The file has no such range.', { 'Content-Range': `bytes */${size}` })
  }
  ctx.status = range ? 206 : 200
  if (range) ctx.set('Content-Range', `bytes ${range.start}-${range.end}/${size}`)
  if (ctx.method !== 'HEAD') ctx.body = await fromStore(ctx, row, () => files.read(row, range))
  ctx.length = range ? range.end - range.start + 1 : size
}

/** @throws ServiceUnavailable (503) when the store does not respond; HttpError (500) when it has no such bytes */
async function fromStore<T>(ctx: Context, { id, key }: FileRow, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (err) {
    ctx.log.error({ err, file: id, key }, 'a stored file could not be read')
    if (err instanceof FileMissing) throw new HttpError(500, 'The file is missing in its store.')
    throw new ServiceUnavailable('The store of files does not respond.', 5, { cause: err })
  }
}

/** The only range of a request. Several ranges or malformed ones are ignored, so that no request multiplies the work. */
function rangeOf(
  ctx: Context,
  size: number,
  tag: string,
): { start: number; end: number } | 'unsatisfiable' | undefined {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(ctx.get('Range').trim()) ?? []
  const condition = ctx.get('If-Range')
  if (first === undefined || last === undefined || first + last === '') return undefined
  if (condition !== '' && condition !== tag) return undefined
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (first !== '' && last !== '' && Number(last) < start) return undefined
  return start >= size || start > end ? 'unsatisfiable' : { start, end }
}

/** The name in ASCII, and in UTF-8 (RFC 8187). */
function filenameParameters(name: string): string {
  const ascii = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `filename="${ascii}"; filename*=UTF-8''${encoded}`
}
