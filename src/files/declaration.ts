import { Column, Index } from 'typeorm'
import { DeclarationError } from '../index.js'
import { checkNumbers, declareFiles, type FileAttribute } from '../extension.js'

/** A size in bytes: a number, or a text in KiB, MiB or GiB. */
export type Bytes = number | `${number} ${'KiB' | 'MiB' | 'GiB'}`

/** A smaller copy of an image, which is made when it is requested first. */
export interface VariantOptions {
  /** The maximum width in pixels. */
  width: number
  /** The maximum height in pixels. */
  height: number
  /** `inside` keeps the whole image within width and height (the default), `cover` fills both and cuts the rest off. */
  fit?: 'inside' | 'cover'
  /** The format (that of the image; PNG for a GIF). */
  format?: 'jpeg' | 'png' | 'webp'
}

/** The options of `@HasFile`. */
export interface FileOptions {
  /** The media types that are accepted, by content (any): `['image/jpeg', 'image/png']`. */
  types?: readonly string[]
  /** The maximum size of a file in bytes (`'10 MiB'`). */
  maxSize?: Bytes
  /** The maximum number of pixels of an image, its width times its height (50,000,000). */
  maxPixels?: number
  /** Smaller copies of an image, by their names: `{ thumb: { width: 320, height: 320 } }`. They need the `sharp` package. */
  variants?: Readonly<Record<string, VariantOptions>>
}

/** The options of `@HasFiles`. */
export interface FilesOptions extends FileOptions {
  /** The maximum number of files (10; 1 to 50). */
  maxCount?: number
}

/** An attribute of a model with stored files. */
export interface Declaration extends FileAttribute {
  readonly maxPixels: number
  readonly variants: Readonly<Record<string, VariantOptions>>
}

/** A variant of an image, and the most pixels that the image itself may have. */
export interface Variant extends VariantOptions {
  name: string
  maxPixels: number
}

/** The variant with a name that an attribute declares. */
export function variantOf(declaration: Declaration | undefined, name: string): Variant | undefined {
  const { variants = {}, maxPixels = 0 } = declaration ?? {}
  const options = Object.hasOwn(variants, name) ? variants[name] : undefined
  return options && { ...options, name, maxPixels }
}

/** The maximum bytes of a file, which is that of one request to S3. */
const largest = 5 * 1024 ** 3

/**
 * Declares an attribute that contains a stored file. Its id is in the `<name>_id` column, which a migration creates.
 *
 * @example
 * ```ts
 * @HasFile({ types: ['image/jpeg', 'image/png'], maxSize: '5 MiB' })
 * @Present()
 * photo!: StoredFile
 * ```
 * @throws DeclarationError when an option is wrong, or when the class has the column already
 */
export function HasFile(options: FileOptions = {}): PropertyDecorator {
  return (prototype, property) => {
    const declaration = declare(prototype, property, options, 1, false)
    const column = `${declaration.name}_id`
    hide(prototype, column)
    Column('uuid', { nullable: true })(prototype, column)
    Index({ unique: true })(prototype, column)
    declareFiles(prototype.constructor, { ...declaration, column } as Declaration)
  }
}

/**
 * Declares an attribute that contains a list of stored files. A table with the name of the model's table and the attribute,
 * `items_documents`, contains their order.
 *
 * @throws DeclarationError when an option is wrong
 */
export function HasFiles({ maxCount = 10, ...options }: FilesOptions = {}): PropertyDecorator {
  return (prototype, property) =>
    declareFiles(prototype.constructor, declare(prototype, property, options, maxCount, true))
}

function declare(
  prototype: object,
  property: string | symbol,
  { types = [], maxSize = '10 MiB', maxPixels = 50_000_000, variants = {} }: FileOptions,
  maxCount: number,
  isList: boolean,
): Declaration {
  const name = String(property)
  const owner = `@HasFile${isList ? 's' : ''} of ${prototype.constructor.name}.${name}`
  const size = bytes(maxSize)
  if (!(size >= 1 && size <= largest))
    throw new DeclarationError(
      `The \`maxSize\` of ${owner} is ${JSON.stringify(maxSize)}. Use a number of bytes or a text like "10 MiB", up to 5 GiB.`,
    )
  checkNumbers(
    owner,
    { maxPixels, maxCount },
    { maxPixels: { min: 1 }, maxCount: { min: 1, max: 50, isWhole: true } },
  )
  const wrong = types.find((type) => !/^[a-z]+\/[a-z0-9][a-z0-9.+-]*$/.test(type))
  if (wrong !== undefined)
    throw new DeclarationError(`${owner} has the type "${wrong}". Use a media type like "image/png".`)
  for (const [variant, { width, height }] of Object.entries(variants)) {
    if (!/^[a-z][a-z0-9_]{0,39}$/.test(variant))
      throw new DeclarationError(
        `${owner} has the variant "${variant}". Use a name like "thumb" or "large_2".`,
      )
    const range = { min: 1, max: 10_000, isWhole: true }
    checkNumbers(`the variant "${variant}" of ${owner}`, { width, height }, { width: range, height: range })
  }
  return { name, isList, column: undefined, types, maxSize: size, maxCount, maxPixels, variants }
}

/** The bytes of a size; NaN if it is malformed. */
function bytes(size: Bytes): number {
  if (typeof size === 'number') return size
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?) (KiB|MiB|GiB)$/.exec(size) ?? []
  return Math.floor(Number(number) * 1024 ** (['KiB', 'MiB', 'GiB'].indexOf(unit) + 1))
}

/**
 * Makes the column of a file an accessor of the prototype, so that JSON and XML contain the file, and not its id as well.
 */
function hide(prototype: object, column: string): void {
  const ids = new WeakMap<object, unknown>()
  Object.defineProperty(prototype, column, {
    configurable: true,
    get(this: object) {
      return ids.get(this)
    },
    set(this: object, id: unknown) {
      ids.set(this, id)
    },
  })
}
