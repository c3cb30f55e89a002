import { configuredBaseUrl, milliseconds, type Duration } from '../extension.js'
import { DeclarationError, RecordNotFound, type Context } from '../index.js'
import { variantOf, type Variant } from './declaration.js'
import type { Files } from './files.js'
import { respond } from './serving.js'
import { declarationOf, rowOf, type StoredFile } from './stored-file.js'

/** The options of `files.signedUrl`. */
export interface SignedUrlOptions {
  /** How long the URL gives access to the file. */
  expires: Duration
  /** The variant of an image. */
  variant?: string
}

/** The content of a signed URL. */
interface Link {
  id: string
  until: number
  variant?: Variant | undefined
}

const purpose = 'stored_file_url'

/** @throws DeclarationError without the route, without BASE_URL, or for a variant that the attribute does not declare */
export function signedUrl(
  files: Files,
  file: StoredFile,
  { expires, variant: name }: SignedUrlOptions,
): string {
  const row = rowOf(file)
  if (!row) throw new TypeError('files.signedUrl() needs a stored file, as a record has it.')
  const base = configuredBaseUrl() ?? (files.env === 'production' ? undefined : '')
  if (!files.download)
    throw new DeclarationError(
      "files.signedUrl() needs a route below app.extend(files): app.get('/downloads/{token}', files.download).",
    )
  if (base === undefined)
    throw new DeclarationError('files.signedUrl() needs BASE_URL, the address of the application.')
  const variant = name === undefined ? undefined : variantOf(declarationOf(file), name)
  if (name !== undefined && !variant)
    throw new DeclarationError(`The file has no variant "${name}". Declare it with the attribute.`)
  const until = files.table.now() + milliseconds(expires, 'The `expires` of files.signedUrl()')
  const link: Link = { id: row.id, until, variant }
  return base + files.download.url({ token: files.signer(purpose).encode(link) })
}

/** Responds with the file of the token in the path. */
export async function download(files: Files, ctx: Context): Promise<void> {
  const link = files.signer(purpose).decode(ctx.params['token'] ?? '') as Link | undefined
  const [row] = link && link.until > files.table.now() ? await files.table.find([link.id]) : []
  // A file that its record no longer has is not served either.
  if (!row || row.expires_at !== null) throw new RecordNotFound('StoredFile')
  await respond(files, ctx, await files.choose(row, link?.variant), {}, 'cross-origin')
}
