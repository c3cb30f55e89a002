import { languageOf, type Catalog } from './catalog.js'
import { defaultLocale } from './formatters.js'

/** An id without a text in a language. */
export interface MissingText {
  id: string
  /** The text that pages show instead: of another language, or the id. */
  shown: string
}

/** The texts that a locale lacks: those that exist in another locale, but neither in this one nor in its language. */
export function missingTexts(catalog: Catalog, locale: string): MissingText[] {
  const texts = catalog.textsFor(locale)
  return idsOf(catalog).flatMap((id) => {
    const text = texts.get(id)
    if (text && languageOf(text.locale) === languageOf(locale) && !isIncomplete(text.translation)) return []
    return [{ id, shown: catalog.translate(locale, id) ?? id }]
  })
}

/** The ids of all locales, and of the framework, in alphabetical order. */
function idsOf(catalog: Catalog): string[] {
  const all = [...catalog.locales, defaultLocale].flatMap((locale) => [...catalog.textsFor(locale).keys()])
  return [...new Set(all)].toSorted()
}

/** Whether a plural form is empty. */
function isIncomplete(translation: string | Record<string, string>): boolean {
  return typeof translation !== 'string' && Object.values(translation).includes('')
}
