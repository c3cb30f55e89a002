import { createRequire } from 'node:module'
import { buffer } from 'node:stream/consumers'
import type Sharp from 'sharp'
import { Semaphore } from '../extension.js'
import { DeclarationError, RecordNotFound, ServiceUnavailable, type Database } from '../index.js'
import type { Variant, VariantOptions } from './declaration.js'
import { published, type Files } from './files.js'
import { declarationsOf } from './loading.js'
import type { FileRow } from './stored-file.js'

/** sharp is optional, and loaded when an application declares variants. */
const require = createRequire(import.meta.url)

/** The images that are made at a time, and the number of requests that wait. */
const [running, waiting] = [2, 20]

/** Seconds for an image. */
const timeout = 10

/** Milliseconds after which an image that could not be decoded is tried again. */
const pause = 10 * 60 * 1000

/** The formats that are decoded, by the names of their loaders. */
const LOADERS = {
  operation: ['VipsForeignLoadJpeg', 'VipsForeignLoadPng', 'VipsForeignLoadWebp', 'VipsForeignLoadNsgif'],
}

const FORMATS: Partial<Record<string, VariantOptions['format']>> = {
  'image/jpeg': 'jpeg',
  'image/png': 'png',
  'image/webp': 'webp',
  'image/gif': 'png',
}

/**
 * Loads sharp if a model declares variants, and blocks all other formats.
 *
 * @throws DeclarationError when it is not installed
 */
export function loadSharp({ entityMetadatas }: Database): typeof Sharp | undefined {
  const uses = entityMetadatas.find((metadata) =>
    declarationsOf(metadata).some(({ variants }) => Object.keys(variants).length > 0),
  )
  if (!uses) return undefined
  try {
    const loaded: typeof Sharp = require('sharp')
    loaded.block({ operation: ['VipsForeignLoad'] })
    loaded.unblock(LOADERS)
    return loaded
  } catch (cause) {
    throw new DeclarationError(
      `${uses.targetName} declares variants of images, which need the package sharp. Install it: npm install sharp.`,
      { cause },
    )
  }
}

/** The variants of images. Each is made at the first request, and kept as a stored file. */
export class Variants {
  /** When an image could not be decoded, by its id and the name of the variant. */
  private readonly failures = new Map<string, number>()
  /** The variants that are being made, for requests at the same time. */
  private readonly pending = new Map<string, Promise<FileRow>>()
  private readonly slots = new Semaphore(running, 60_000, () => busy(), waiting)

  constructor(
    private readonly files: Files,
    private readonly sharp: typeof Sharp,
  ) {}

  /**
   * Returns the row of a variant.
   *
   * @throws RecordNotFound (404) when the image cannot be decoded; ServiceUnavailable (503) when too many images are being made
   */
  async find(original: FileRow, variant: Variant): Promise<FileRow> {
    const { table } = this.files
    const [existing] = await table.findVariants(original.id, variant.name)
    if (existing) return existing
    const key = `${original.id} ${variant.name}`
    const isBroken = (this.failures.get(key) ?? 0) > table.now() - pause
    if (isBroken || !FORMATS[original.content_type]) throw new RecordNotFound('StoredFile')
    const make = () => published('variant', () => this.make(original, variant))
    const making = this.pending.get(key) ?? this.slots.run(make)
    this.pending.set(key, making)
    return making.finally(() => this.pending.delete(key))
  }

  private async make(original: FileRow, variant: Variant): Promise<FileRow> {
    const { name } = variant
    const format = variant.format ?? FORMATS[original.content_type] ?? 'png'
    const content = await this.resize(original.id, await buffer(await this.files.read(original)), {
      ...variant,
      format,
    })
    const base = original.filename.replace(/\.[^.]*$/, '')
    const filename = `${base}-${name}.${format === 'jpeg' ? 'jpg' : format}`
    const more = { original_id: original.id, variant: name, expires_at: null }
    try {
      return await this.files.store(content, filename, more)
    } catch (error) {
      // Another process has made it in the meantime.
      const [existing] = await this.files.table.findVariants(original.id, name)
      if (existing) return existing
      throw error
    }
  }

  /** Decodes and resizes an image: turned as its metadata say, and without them. */
  private async resize(
    id: string,
    image: Buffer,
    { name, width, height, fit = 'inside', format = 'png', maxPixels }: Variant,
  ): Promise<Buffer> {
    try {
      return await this.sharp(image, { limitInputPixels: maxPixels, failOn: 'error' })
        .rotate()
        .resize({ width, height, fit, withoutEnlargement: true })
        .toFormat(format)
        .timeout({ seconds: timeout })
        .toBuffer()
    } catch {
      if (this.failures.size > 1000) this.failures.clear()
      this.failures.set(`${id} ${name}`, this.files.table.now())
      throw new RecordNotFound('StoredFile')
    }
  }
}

function busy(): ServiceUnavailable {
  return new ServiceUnavailable('Too many images are being made at the moment.', 5)
}
