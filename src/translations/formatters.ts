import { memoize } from '../common/memoize.js'

/** The locale that is used if no other one has a translation. */
export const defaultLocale = 'en-US'

/**
 * Memoizes a formatter for each locale, because formatters of Intl are slow to create. A malformed locale
 * (`xx_YY`) uses the formatter of the default locale.
 */
export function memoizeByLocale<T>(create: (locale: string) => T): (locale: string) => T {
  return memoize((locale) => create(canonicalLocale(locale) ? locale : defaultLocale))
}

/** Formats a day: `May 1, 2026`. */
export const dayFormat = memoizeByLocale(
  (locale) => new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' }),
)

/** Returns the function that formats datetimes in a time zone: `May 1, 2026, 10:00 AM UTC`. */
export function zonedFormat(locale: string, timeZone: string): (date: Date) => string {
  return zonedFormats(locale)(timeZone)
}

const zonedFormats = memoizeByLocale((locale) =>
  memoize((timeZone) => {
    const dateTime = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone })
    // `timeZoneName` cannot be combined with the styles.
    const zone = new Intl.DateTimeFormat(locale, { timeZoneName: 'short', timeZone })
    const nameOf = (date: Date) => zone.formatToParts(date).find(({ type }) => type === 'timeZoneName')?.value
    return (date: Date): string => `${dateTime.format(date)} ${nameOf(date)}`
  }),
)

/** Formats lists: `a, b, and c` and `a, b, or c`. */
export const listFormats = {
  conjunction: memoizeByLocale((locale) => new Intl.ListFormat(locale, { type: 'conjunction' })),
  disjunction: memoizeByLocale((locale) => new Intl.ListFormat(locale, { type: 'disjunction' })),
}

/** Selects the plural form of a number. */
export const pluralRules = memoizeByLocale((locale) => new Intl.PluralRules(locale))

/** Returns the usual spelling of a locale: `en-us` -> `en-US`; undefined if the text isn't a locale. */
export function canonicalLocale(text: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(text)[0]
  } catch {
    return undefined
  }
}

/** The scripts that are written from right to left, of languages that Intl knows. */
const rightToLeft = ['Adlm', 'Arab', 'Hebr', 'Nkoo', 'Rohg', 'Syrc', 'Thaa']

/** The direction of a page: `rtl` if its language is written from right to left, else undefined. */
export const directionOf = memoizeByLocale((locale): 'rtl' | undefined =>
  rightToLeft.includes(new Intl.Locale(locale).maximize().script ?? '') ? 'rtl' : undefined,
)
