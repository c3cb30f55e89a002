import { languageOf, type Catalogue } from './catalogue.js'
import { defaultLocale } from './formatters.js'

/** An id without a text in a language. */
export interface MissingText {
  id: string
  /** The text that pages show instead: of another language, or the id. */
  shown: string
}

/** The texts that a locale lacks: those that exist in another locale, but neither in this one nor in its language. */
export function missingTexts(catalogue: Catalogue, locale: string): MissingText[] {
  const texts = catalogue.textsFor(locale)
  return idsOf(catalogue).flatMap((id) => {
    const text = texts.get(id)
    if (text && languageOf(text.locale) === languageOf(locale) && !isIncomplete(text.translation)) return []
    return [{ id, shown: catalogue.translate(locale, id) ?? id }]
  })
}

/** The ids of all locales, and of the framework, in alphabetical order. */
function idsOf(catalogue: Catalogue): string[] {
  const all = [...catalogue.locales, defaultLocale].flatMap((locale) => [
    ...catalogue.textsFor(locale).keys(),
  ])
  return [...new Set(all)].toSorted()
}

/** Whether a plural form is empty. */
function isIncomplete(translation: string | Record<string, string>): boolean {
  return typeof translation !== 'string' && Object.values(translation).includes('')
}
