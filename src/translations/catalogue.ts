import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { LineCounter, parseDocument } from 'yaml'
import { BrokenTranslations } from '../errors.js'

/** A text, or one for each plural category of the language (`one`, `other`, ...), chosen by the value `count`. */
type Translation = string | Record<string, string>

/** The locale that is asked last. */
export const defaultLocale = 'en-US'

/** The folder of the framework's own texts. */
export const frameworkLocales = join(import.meta.dirname, '../../../locales')

/** The texts of an application by locale and id, read from files `<name>.<locale>.yaml`. */
export class Catalogue {
  private readonly texts = new Map<string, Map<string, Translation>>()
  private readonly pluralRules = new Map<string, Intl.PluralRules>()

  /**
   * Reads the files of folders; an id in a later one takes the place of an earlier one.
   *
   * @throws BrokenTranslations that names the file and the line
   */
  constructor(folders: readonly string[]) {
    for (const folder of folders) this.readFolder(folder)
  }

  /** The locales that have texts, as their files are named: `en-us`. */
  get locales(): string[] {
    return [...this.texts.keys()]
  }

  /**
   * The text of an id: in the locale, else in its language, else in `en-US`.
   *
   * @returns undefined when there is none
   */
  translate(locale: string, id: string, values: Record<string, unknown> = {}): string | undefined {
    for (const candidate of fallbacks(locale)) {
      const translation = this.texts.get(candidate)?.get(id)
      if (translation !== undefined) return interpolate(this.choose(translation, candidate, values), values)
    }
    return undefined
  }

  private choose(translation: Translation, locale: string, { count }: Record<string, unknown>): string {
    if (typeof translation === 'string') return translation
    const rules = this.pluralRules.get(locale) ?? new Intl.PluralRules(locale)
    this.pluralRules.set(locale, rules)
    return translation[rules.select(Number(count))] ?? translation['other'] ?? ''
  }

  private readFolder(folder: string): void {
    for (const name of readdirSync(folder).toSorted()) {
      const locale = /\.([a-z]{2,3}(?:-[a-z0-9]+)*)\.ya?ml$/i.exec(name)?.[1]?.toLowerCase()
      if (locale) this.readFile(join(folder, name), locale)
    }
  }

  private readFile(file: string, locale: string): void {
    const texts = this.texts.get(locale) ?? new Map<string, Translation>()
    this.texts.set(locale, texts)
    for (const { id, translation } of parseFile(file)) texts.set(id, translation)
  }
}

function parseFile(file: string): Array<{ id: string; translation: Translation }> {
  const lines = new LineCounter()
  const document = parseDocument(readFileSync(file, 'utf8'), { lineCounter: lines })
  const [error] = document.errors
  if (error)
    throw new BrokenTranslations(file, lines.linePos(error.pos[0]).line, error.message.split('\n')[0] ?? '')
  const entries: unknown = document.toJS() ?? []
  if (!Array.isArray(entries))
    throw new BrokenTranslations(file, 1, 'a list of "id" and "translation" is expected')
  return entries.map((entry: unknown, index) => {
    if (isEntry(entry)) return entry
    const node = document.getIn([index], true)
    const line = isPositioned(node) ? lines.linePos(node.range[0]).line : 1
    throw new BrokenTranslations(
      file,
      line,
      'each entry has an "id" and a "translation", which is a text or a text for each plural form',
    )
  })
}

function isEntry(entry: unknown): entry is { id: string; translation: Translation } {
  if (typeof entry !== 'object' || entry === null || !('id' in entry) || !('translation' in entry))
    return false
  const { id, translation } = entry
  return typeof id === 'string' && (typeof translation === 'string' || isPlural(translation))
}

function isPlural(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((text) => typeof text === 'string')
  )
}

function isPositioned(node: unknown): node is { range: [number, number, number] } {
  return typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range)
}

/** `de-CH` -> `de-ch`, `de`, `en-us`, `en` */
function fallbacks(locale: string): string[] {
  return [locale, defaultLocale].flatMap((name) => {
    const lower = name.toLowerCase()
    return [lower, lower.split('-')[0] ?? lower]
  })
}

function interpolate(text: string, values: Record<string, unknown>): string {
  if (!text.includes('{{')) return text
  return text.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (placeholder, name: string) =>
    Object.hasOwn(values, name) ? String(values[name]) : placeholder,
  )
}

let framework: Catalogue | undefined

/** The framework's own texts, read once. */
export function frameworkCatalogue(): Catalogue {
  return (framework ??= new Catalogue([frameworkLocales]))
}
