import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { assets } from '../common/assets.js'
import { BrokenTranslations, DeclarationError } from '../errors.js'
import { canonicalLocale, defaultLocale, pluralRules } from './formatters.js'
import { interpolate, type Values } from './interpolation.js'
import { readLocaleFile, type Entry, type Translation } from './locale-file.js'

/** The folder of the framework's own translations. */
export const frameworkLocales = join(assets, 'locales')

/** The options of a catalog. */
export interface CatalogOptions {
  /** The base catalog. The folder's translations are added to it, and override those with the same id. */
  base?: Catalog | undefined
  /** The fallback locale (`en-US`). */
  fallback?: string | undefined
  /** Whether the files of a locale are read when one of its translations is first used, instead of now. */
  isLazy?: boolean
}

/** Translations by locale and id, read from the files `<name>.<locale>.yaml` in a folder and below. */
export class Catalog {
  /** The locales of the folder: `['de', 'en-US']`. */
  readonly locales: readonly string[]
  private readonly fallback: string
  private readonly base: Catalog | undefined
  /** The translations of the folder, by locale. */
  private readonly byLocale = new Map<string, ReadonlyMap<string, Translation>>()
  /** The files that have not been read yet, by locale. */
  private readonly unread = new Map<string, string[]>()
  /** The translations of a locale and its fallbacks, by id. */
  private readonly mergedTexts = new Map<string, ReadonlyMap<string, Text>>()

  /**
   * @throws BrokenTranslations with the file and line, when a file cannot be read or has no locale in its
   *   name, or an id
   * exists twice in a locale
   * @throws DeclarationError when the folder does not exist
   */
  constructor(folder: string, { base, fallback = defaultLocale, isLazy = false }: CatalogOptions = {}) {
    this.fallback = fallback
    this.base = base
    for (const { file, locale } of localeFiles(folder))
      this.unread.set(locale, [...(this.unread.get(locale) ?? []), file])
    this.locales = [...this.unread.keys()]
    // Also reads the translations of the base in these locales, so that no request waits for them.
    if (!isLazy) for (const locale of [...this.locales, fallback]) this.textsFor(locale)
  }

  /**
   * Translates an id: in the locale, else in its language, else in the fallback locale, else in English.
   *
   * @param source `application` returns undefined if the translation is one of the framework
   * @returns undefined if there is no translation
   */
  translate(locale: string, id: string, values: Values = {}, source?: TextSource): string | undefined {
    const text = this.textsFor(locale).get(id)
    if (!text || (source === 'application' && !this.isOwn(text.locale, id))) return undefined
    return interpolate(chooseForm(text, values), values, text.locale)
  }

  /** A locale's translations and fallbacks, by id: for `de-CH`, `de-CH`, `de`, `en-US`, `en` in order. */
  textsFor(locale: string): ReadonlyMap<string, Text> {
    const cached = this.mergedTexts.get(locale)
    if (cached) return cached
    const texts = new Map<string, Text>()
    // The most specific locale comes last, so that it overrides the others.
    for (const candidate of [locale, this.fallback, defaultLocale].flatMap(truncations).toReversed())
      for (const catalog of [this.base, this])
        for (const [id, translation] of catalog?.textsOf(candidate) ?? [])
          texts.set(id, { translation, locale: candidate })
    // Only existing locales are cached, so that requests cannot fill the memory.
    const existing = [...this.locales, ...(this.base?.locales ?? []), this.fallback, defaultLocale]
    if (existing.includes(locale)) this.mergedTexts.set(locale, texts)
    return texts
  }

  /** Whether an id has a translation, in the locale or one of its fallbacks. */
  has(locale: string, id: string): boolean {
    return this.textsFor(locale).has(id)
  }

  /** Whether the application's folder has a translation. Only the framework's catalog has no base. */
  private isOwn(locale: string, id: string): boolean {
    return this.base !== undefined && this.textsOf(locale)?.has(id) === true
  }

  /** Returns the translations of the folder in a locale. Reads the files of the locale on the first call. */
  private textsOf(locale: string): ReadonlyMap<string, Translation> | undefined {
    const files = this.unread.get(locale)
    if (files) {
      this.byLocale.set(locale, readTexts(files))
      this.unread.delete(locale)
    }
    return this.byLocale.get(locale)
  }
}

/** Whose translation is accepted. */
export type TextSource = 'application' | 'all'

/** A translation and its locale. */
export interface Text {
  translation: Translation
  locale: string
}

/** Returns the language of a locale: `de-CH` -> `de`. */
export function languageOf(locale: string): string {
  return truncations(locale).at(-1) ?? locale
}

/** Whether a translation has yet to be written. `kit generate locale` writes empty ones. */
function isEmpty(translation: Translation): boolean {
  return (typeof translation === 'string' ? translation : translation['other']) === ''
}

/** Returns a locale and the more general ones: `zh-Hant-TW` -> `zh-Hant-TW`, `zh-Hant`, `zh`. */
export function truncations(locale: string): string[] {
  const parts = locale.split('-')
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('-'))
}

/** The files of a folder and its subfolders, with their locale. Hidden files of editors are skipped. */
export function localeFiles(folder: string): { file: string; locale: string }[] {
  return listNames(folder)
    .filter((name) => /\.ya?ml$/i.test(name) && !/(^|[\\/])\./.test(name))
    .toSorted()
    .map((name) => ({ file: join(folder, name), locale: parseLocale(join(folder, name)) }))
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
  } catch (error) {
    throw new DeclarationError(`The translations folder ${folder} does not exist.`, { cause: error })
  }
}

function parseLocale(file: string): string {
  const tag = /\.([a-z]{2,3}(?:-[a-z0-9]+)*)\.ya?ml$/i.exec(file)?.[1]
  const locale = tag && canonicalLocale(tag)
  if (locale) return locale
  throw new BrokenTranslations(file, 1, 'The file name has no locale. Name it like posts.en-us.yaml.')
}

function readTexts(files: readonly string[]): ReadonlyMap<string, Translation> {
  const entries = new Map<string, Entry>()
  for (const entry of files.flatMap(readLocaleFile)) addOnce(entries, entry)
  const nonEmpty = [...entries.values()].filter(({ translation }) => !isEmpty(translation))
  return new Map(nonEmpty.map(({ id, translation }) => [id, translation]))
}

function addOnce(entries: Map<string, Entry>, entry: Entry): void {
  const other = entries.get(entry.id)
  if (other) {
    const place = other.file === entry.file ? `line ${other.line}` : `${other.file}, line ${other.line}`
    throw new BrokenTranslations(entry.file, entry.line, `The id "${entry.id}" already exists in ${place}.`)
  }
  entries.set(entry.id, entry)
}

function chooseForm({ translation, locale }: Text, { count }: Values): string {
  if (typeof translation === 'string') return translation
  const isZero = Number(count) === 0 && 'zero' in translation
  const category = isZero ? 'zero' : pluralRules(locale).select(Number(count))
  // An empty form has yet to be written.
  return translation[category] || (translation['other'] ?? '')
}

let framework: Catalog | undefined

/** The framework's own translations. Each language is read once when an application or visitor uses it. */
export function frameworkCatalog(): Catalog {
  return (framework ??= new Catalog(frameworkLocales, { isLazy: true }))
}
