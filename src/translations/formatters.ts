/** The locale that is asked last. */
export const defaultLocale = 'en-US'

/** The most formatters of a kind that are kept. */
const most = 100

/**
 * Keeps what is made for a locale: formatters of Intl are slow to make. A locale that Intl does not know by its form
 * (`xx_YY`) has those of the default one.
 */
export function keptByLocale<T>(make: (locale: string) => T): (locale: string) => T {
  const kept = new Map<string, T>()
  return (locale) => {
    const known = kept.get(locale)
    if (known !== undefined) return known
    if (kept.size === most) kept.clear()
    const made = make(isLocale(locale) ? locale : defaultLocale)
    kept.set(locale, made)
    return made
  }
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
