import { remembered } from '../memoize.js'

/** The locale that is asked last. */
export const defaultLocale = 'en-US'

/**
 * Keeps what is made for a locale: formatters of Intl are slow to make. A locale that Intl does not know by its form
 * (`xx_YY`) has those of the default one.
 */
export function keptByLocale<T>(make: (locale: string) => T): (locale: string) => T {
  return remembered((locale) => make(isLocale(locale) ? locale : defaultLocale))
}

/** A day: `May 1, 2026`. */
export const dayFormat = keptByLocale(
  (locale) => new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' }),
)

/** A moment, in UTC: `May 1, 2026, 10:00 AM`. */
export const momentFormat = keptByLocale(
  (locale) => new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' }),
)

/** Lists: `a, b and c` and `a, b or c`. */
export const listFormats = {
  conjunction: keptByLocale((locale) => new Intl.ListFormat(locale, { type: 'conjunction' })),
  disjunction: keptByLocale((locale) => new Intl.ListFormat(locale, { type: 'disjunction' })),
}

/** The plural forms of a language. */
export const pluralRules = keptByLocale((locale) => new Intl.PluralRules(locale))

function isLocale(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length === 1
  } catch {
    return false
  }
}
