import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { BrokenTranslations, DeclarationError } from '../errors.js'
import { defaultLocale, pluralRules } from './formatters.js'
import { interpolate, type Values } from './interpolation.js'
import { readLocaleFile, type Entry, type Translation } from './locale-file.js'

/** The folder of the framework's own texts. */
const frameworkLocales = join(import.meta.dirname, '../../../locales')

/** What a catalogue takes beside its folder. */
export interface CatalogueOptions {
  /** The catalogue whose texts these are added to; an id of the folder takes the place of the same one there. */
  base?: Catalogue | undefined
  /** The locale that lends its texts to the others (`en-US`). */
  fallback?: string | undefined
}

/** Texts by locale and id, read from the files `<name>.<locale>.yaml` of a folder and of those in it. */
export class Catalogue {
  /** The locales that the folder has: `['de', 'en-US']`. */
  readonly locales: readonly string[]
  private readonly fallback: string
  private readonly texts = new Map<string, Map<string, Translation>>()
  /** The ids of the application, by locale: those that the folder adds to its base. */
  private readonly own = new Map<string, ReadonlySet<string>>()
  /** The texts of a locale and those that are lent to it, by id. */
  private readonly merged = new Map<string, ReadonlyMap<string, Text>>()

  /**
   * @throws BrokenTranslations that names the file and the line: one that cannot be read, that has no locale in its
   * name, or an id that is in two files of a locale
   * @throws DeclarationError when there is no such folder
   */
  constructor(folder: string, { base, fallback = defaultLocale }: CatalogueOptions = {}) {
    this.fallback = fallback
    for (const [locale, texts] of base?.texts ?? []) this.texts.set(locale, new Map(texts))
    const entries = new Map<string, Map<string, Entry>>()
    for (const { file, locale } of localeFiles(folder)) {
      const ofLocale = entries.get(locale) ?? new Map<string, Entry>()
      entries.set(locale, ofLocale)
      for (const entry of readLocaleFile(file)) addOnce(ofLocale, entry)
    }
    for (const [locale, ofLocale] of entries) {
      this.addAll(locale, ofLocale)
      if (base) this.own.set(locale, new Set(ofLocale.keys()))
    }
    this.locales = [...entries.keys()]
  }

  /**
   * The text of an id: in the locale, else in its language, else in that of the fallback, else in English.
   *
   * @param source `application` leaves out the texts of the framework
   * @returns undefined when there is none
   */
  translate(locale: string, id: string, values: Values = {}, source?: TextSource): string | undefined {
    const text = this.textsFor(locale).get(id)
    if (!text || (source === 'application' && this.own.get(text.locale)?.has(id) !== true)) return undefined
    return interpolate(choose(text, values), values, text.locale)
  }

  /** Whether an id has a text, in the locale or in one that lends it. */
  has(locale: string, id: string): boolean {
    return this.textsFor(locale).has(id)
  }

  private addAll(locale: string, entries: Map<string, Entry>): void {
    const texts = this.texts.get(locale) ?? new Map<string, Translation>()
    this.texts.set(locale, texts)
    for (const { id, translation } of entries.values()) texts.set(id, translation)
  }

  /** Those of `de-CH` are of `de-CH`, `de`, `en-US` and `en`, in this order. */
  private textsFor(locale: string): ReadonlyMap<string, Text> {
    const kept = this.merged.get(locale)
    if (kept) return kept
    const texts = new Map<string, Text>()
    for (const candidate of [locale, this.fallback, defaultLocale].flatMap(truncations).toReversed())
      for (const [id, translation] of this.texts.get(candidate) ?? [])
        texts.set(id, { translation, locale: candidate })
    // Locales are chosen among those that there are; what else somebody asks for is not kept.
    if (this.texts.has(locale) || locale === this.fallback || locale === defaultLocale)
      this.merged.set(locale, texts)
    return texts
  }
}

/** Whose texts are searched. */
export type TextSource = 'application' | 'all'

/** What a text says, and the locale that it is written in. */
interface Text {
  translation: Translation
  locale: string
}

/** A locale and the more general ones: `zh-Hant-TW` -> `zh-Hant-TW`, `zh-Hant`, `zh`. */
export function truncations(locale: string): string[] {
  const parts = locale.split('-')
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('-'))
}

/** The files of a folder, and of the folders in it, with their locale. Hidden files belong to editors. */
export function localeFiles(folder: string): { file: string; locale: string }[] {
  return namesIn(folder)
    .filter((name) => /\.ya?ml$/i.test(name) && !/(^|[\\/])\./.test(name))
    .toSorted()
    .map((name) => ({ file: join(folder, name), locale: localeOf(join(folder, name)) }))
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
  } catch (error) {
    throw new DeclarationError(`The translations folder ${folder} does not exist.`, { cause: error })
  }
}

function localeOf(file: string): string {
  const tag = /\.([a-z]{2,3}(?:-[a-z0-9]+)*)\.ya?ml$/i.exec(file)?.[1]
  const [locale] = tag === undefined ? [] : canonical(tag)
  if (locale !== undefined) return locale
  throw new BrokenTranslations(file, 1, 'The file name has no locale. Name it like posts.en-us.yaml.')
}

function canonical(tag: string): string[] {
  try {
    return Intl.getCanonicalLocales(tag)
  } catch {
    return []
  }
}

function addOnce(entries: Map<string, Entry>, entry: Entry): void {
  const other = entries.get(entry.id)
  if (other) {
    const place = other.file === entry.file ? `line ${other.line}` : `${other.file}, line ${other.line}`
    throw new BrokenTranslations(entry.file, entry.line, `The id "${entry.id}" already exists in ${place}.`)
  }
  entries.set(entry.id, entry)
}

function choose({ translation, locale }: Text, { count }: Values): string {
  if (typeof translation === 'string') return translation
  const isNone = Number(count) === 0 && 'zero' in translation
  const category = isNone ? 'zero' : pluralRules(locale).select(Number(count))
  return translation[category] ?? translation['other'] ?? ''
}

let framework: Catalogue | undefined

/** The framework's own texts, read once. */
export function frameworkCatalogue(): Catalogue {
  return (framework ??= new Catalogue(frameworkLocales))
}
