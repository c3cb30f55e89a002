import { configuredBaseUrl, milliseconds, sessionSecrets, Signer, type Duration } from '../extension.js'
import { DeclarationError, RecordNotFound, type Context } from '../index.js'
import type { VariantOptions } from './declaration.js'
import type { Files } from './files.js'
import { declarationOf } from './loading.js'
import { respond } from './serving.js'
import { rowOf, type StoredFile } from './stored-file.js'

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
  variant?: { name: string; options: VariantOptions; maxPixels: number } | undefined
}

/** URLs that give access to one file until a time, for anybody who has them. */
export class Links {
  /** The path of the route of `files.download`, with its parameter: `/downloads/{token}`. */
  path: ((token: string) => string) | undefined
  private signing: Signer | undefined

  constructor(private readonly files: Files) {}

  private get signer(): Signer {
    return (this.signing ??= new Signer(
      'stored_file_url',
      sessionSecrets(undefined, this.files.env, 'Signed URLs'),
    ))
  }

  /** @throws DeclarationError without the route, without BASE_URL, or for a variant that the attribute does not declare */
  create(file: StoredFile, { expires, variant }: SignedUrlOptions): string {
    const row = rowOf(file)
    if (!row) throw new TypeError('files.signedUrl() needs a stored file, as a record has it.')
    const base = configuredBaseUrl() ?? (this.files.env === 'production' ? undefined : '')
    if (!this.path || base === undefined)
      throw new DeclarationError(
        this.path
          ? 'files.signedUrl() needs BASE_URL, the address of the application.'
          : "files.signedUrl() needs a route below app.extend(files): app.get('/downloads/{token}', files.download).",
      )
    const until = this.files.table.now() + milliseconds(expires, 'The `expires` of files.signedUrl()')
    const link: Link = {
      id: row.id,
      until,
      variant: variant === undefined ? undefined : this.variant(file, variant),
    }
    return base + this.path(this.signer.encode(link))
  }

  private variant(file: StoredFile, name: string): Link['variant'] {
    const { variants = {}, maxPixels = 0 } = declarationOf(file) ?? {}
    const options = Object.hasOwn(variants, name) ? variants[name] : undefined
    if (options) return { name, options, maxPixels }
    throw new DeclarationError(`The file has no variant "${name}". Declare it with the attribute.`)
  }

  /** Responds with the file of the token in the path. */
  async download(ctx: Context): Promise<void> {
    const token = ctx.params['token'] ?? ''
    const link = this.signer.decode(token) as Link | undefined
    const [row] = link && link.until > this.files.table.now() ? await this.files.table.find([link.id]) : []
    // A file that its record no longer has is not served either.
    if (!row || row.expires_at !== null || !link) throw new RecordNotFound('StoredFile')
    const { variant } = link
    if (variant && !this.files.variants) throw new RecordNotFound('StoredFile')
    const found = variant
      ? await this.files.variants?.find(row, variant.name, variant.options, variant.maxPixels)
      : row
    await respond(this.files, ctx, found ?? row, {}, 'cross-origin')
  }
}
