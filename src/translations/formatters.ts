import { memoize } from '../memoize.js'

/** The last fallback. */
export const defaultLocale = 'en-US'

/**
 * Memoizes a formatter for each locale, because formatters of Intl are slow to create. A malformed locale (`xx_YY`) uses
 * the formatter of the default one.
 */
export function keptByLocale<T>(make: (locale: string) => T): (locale: string) => T {
  return memoize((locale) => make(isLocale(locale) ? locale : defaultLocale))
}

/** Formats a day: `May 1, 2026`. */
export const dayFormat = keptByLocale(
  (locale) => new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' }),
)

/** Formats a datetime in UTC: `May 1, 2026, 10:00 AM`. */
export const momentFormat = keptByLocale(
  (locale) => new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' }),
)

/** Formats lists: `a, b and c` and `a, b or c`. */
export const listFormats = {
  conjunction: keptByLocale((locale) => new Intl.ListFormat(locale, { type: 'conjunction' })),
  disjunction: keptByLocale((locale) => new Intl.ListFormat(locale, { type: 'disjunction' })),
}

/** Selects the plural form of a number. */
export const pluralRules = keptByLocale((locale) => new Intl.PluralRules(locale))

function isLocale(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length === 1
  } catch {
    return false
  }
}
