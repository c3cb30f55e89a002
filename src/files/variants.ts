import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type Sharp from 'sharp'
import { makeUploadFolder, removeUploadFolder, Semaphore } from '../extension.js'
import { DeclarationError, RecordNotFound, ServiceUnavailable, type Database } from '../index.js'
import type { VariantOptions } from './declaration.js'
import { published, type Files } from './files.js'
import { declarationsOf } from './loading.js'
import { describe } from './receiving.js'
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
  private readonly failures = new Map<string, number>()
  /** The variants that are being made, for requests at the same time. */
  private readonly pending = new Map<string, Promise<FileRow>>()
  private queue = 0
  private readonly slots = new Semaphore(running, 60_000, () => busy())

  constructor(
    private readonly files: Files,
    private readonly sharp: typeof Sharp,
  ) {}

  /**
   * Returns the row of a variant.
   *
   * @throws RecordNotFound (404) when the image cannot be decoded; ServiceUnavailable (503) when too many images are being made
   */
  async find(original: FileRow, name: string, options: VariantOptions, maxPixels: number): Promise<FileRow> {
    if (!FORMATS[original.content_type]) throw new RecordNotFound('StoredFile')
    const existing = await this.files.table.findVariant(original, name)
    if (existing) return existing
    const key = `${original.id} ${name}`
    if ((this.failures.get(key) ?? 0) > this.files.table.now() - pause) throw new RecordNotFound('StoredFile')
    const making = this.pending.get(key) ?? this.enqueue(original, name, options, maxPixels)
    this.pending.set(key, making)
    return making.finally(() => this.pending.delete(key))
  }

  private async enqueue(
    original: FileRow,
    name: string,
    options: VariantOptions,
    maxPixels: number,
  ): Promise<FileRow> {
    if (this.queue >= running + waiting) throw busy()
    this.queue += 1
    try {
      return await this.slots.run(() =>
        published('variant', () => this.make(original, name, options, maxPixels)),
      )
    } finally {
      this.queue -= 1
    }
  }

  private async make(
    original: FileRow,
    variant: string,
    options: VariantOptions,
    maxPixels: number,
  ): Promise<FileRow> {
    const image = await buffer(await this.files.read(original))
    const content = await this.resize(original, variant, image, options, maxPixels)
    const folder = await makeUploadFolder(this.files.uploads)
    try {
      const path = join(folder, '1')
      await writeFile(path, content, { mode: 0o600 })
      const sha256 = createHash('sha256').update(content).digest('hex')
      const base = original.filename.replace(/\.[^.]*$/, '')
      const format = options.format ?? FORMATS[original.content_type] ?? 'png'
      const originalFilename = `${base}-${variant}.${format === 'jpeg' ? 'jpg' : format}`
      const upload = { filepath: path, originalFilename, mimetype: null, size: content.length, sha256 }
      const file = { ...(await describe(upload)), original_id: original.id, variant, expires_at: null }
      const [row] = await this.files.keepRows([{ path, file }])
      return row as FileRow
    } catch (error) {
      // Another process has made it in the meantime.
      const existing = await this.files.table.findVariant(original, variant)
      if (existing) return existing
      throw error
    } finally {
      await removeUploadFolder(folder)
    }
  }

  /** Decodes and resizes an image: turned as its metadata say, and without them. */
  private async resize(
    { id, content_type }: FileRow,
    variant: string,
    image: Buffer,
    { width, height, fit = 'inside', format }: VariantOptions,
    maxPixels: number,
  ): Promise<Buffer> {
    try {
      return await this.sharp(image, { limitInputPixels: maxPixels, failOn: 'error' })
        .rotate()
        .resize({ width, height, fit, withoutEnlargement: true })
        .toFormat(format ?? FORMATS[content_type] ?? 'png')
        .timeout({ seconds: timeout })
        .toBuffer()
    } catch {
      if (this.failures.size > 1000) this.failures.clear()
      this.failures.set(`${id} ${variant}`, this.files.table.now())
      throw new RecordNotFound('StoredFile')
    }
  }
}

function busy(): ServiceUnavailable {
  return new ServiceUnavailable('Too many images are being made at the moment.', 5)
}
