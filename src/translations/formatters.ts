import { memoize } from '../common/memoize.js'

/** The last fallback. */
export const defaultLocale = 'en-US'

/**
 * Memoizes a formatter for each locale, because formatters of Intl are slow to create. A malformed locale (`xx_YY`) uses
 * the formatter of the default one.
 */
export function memoizedByLocale<T>(make: (locale: string) => T): (locale: string) => T {
  return memoize((locale) => make(canonicalLocale(locale) ? locale : defaultLocale))
}

/** Formats a day: `May 1, 2026`. */
export const dayFormat = memoizedByLocale(
  (locale) => new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' }),
)

/** Returns the function that formats datetimes in a time zone: `May 1, 2026, 10:00 AM UTC`. */
export function zonedFormat(locale: string, timeZone: string): (date: Date) => string {
  return zonedFormats(locale)(timeZone)
}

const zonedFormats = memoizedByLocale((locale) =>
  memoize((timeZone) => {
    const moment = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone })
    // `timeZoneName` cannot be combined with the styles.
    const zone = new Intl.DateTimeFormat(locale, { timeZoneName: 'short', timeZone })
    const nameOf = (date: Date) => zone.formatToParts(date).find(({ type }) => type === 'timeZoneName')?.value
    return (date: Date): string => `${moment.format(date)} ${nameOf(date)}`
  }),
)

/** Formats lists: `a, b and c` and `a, b or c`. */
export const listFormats = {
  conjunction: memoizedByLocale((locale) => new Intl.ListFormat(locale, { type: 'conjunction' })),
  disjunction: memoizedByLocale((locale) => new Intl.ListFormat(locale, { type: 'disjunction' })),
}

/** Selects the plural form of a number. */
export const pluralRules = memoizedByLocale((locale) => new Intl.PluralRules(locale))

/** The usual spelling of a locale: `en-us` -> `en-US`; undefined for anything else. */
export function canonicalLocale(text: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(text)[0]
  } catch {
    return undefined
  }
}
