import { memoize } from '../common/memoize.js'
import { truncations } from './catalog.js'

/** The languages that a client prefers. */
export interface LocalePreferences {
  /** Earlier choices, the most important first: a cookie, the session. */
  chosen: readonly unknown[]
  /** The `Accept-Language` header. */
  accept: string
}

/**
 * Chooses one of the existing locales: the earlier choice, else the locale that the browser prefers (RFC
 * 9110, section 12.5.4), else the fallback.
 */
export function chooseLocale(
  locales: readonly string[],
  preferences: LocalePreferences,
  fallback: string,
): string {
  for (const preference of preferences.chosen) {
    const locale =
      typeof preference === 'string' && preference.length <= maxTagLength
        ? findClosest(preference, locales)
        : undefined
    if (locale !== undefined) return locale
  }
  return chooseAccepted(locales, preferences.accept, fallback) ?? findClosest(fallback, locales) ?? fallback
}

/** The maximum length of a language tag. Longer tags are ignored (RFC 5646, section 4.4.1). */
const maxTagLength = 35

/** A range of languages in `Accept-Language`, and its weight from 0 to 1. */
interface Range {
  tag: string
  quality: number
}

function chooseAccepted(locales: readonly string[], header: string, fallback: string): string | undefined {
  const ranges = rangesOf(header)
  const allowed = locales.filter((locale) => !isRefused(locale, ranges))
  for (const { tag, quality } of ranges.toSorted((a, b) => b.quality - a.quality)) {
    if (quality === 0) break
    const locale = tag === '*' ? (findClosest(fallback, allowed) ?? allowed[0]) : findClosest(tag, allowed)
    if (locale !== undefined) return locale
  }
  return undefined
}

const rangesOf = memoize(parseAcceptLanguage)

/** Parses `de-CH, de;q=0.9, *;q=0.1`. Malformed parts are ignored. */
function parseAcceptLanguage(header: string): readonly Range[] {
  return header.split(',').flatMap((part) => {
    const [, tag, weight = '1'] =
      /^\s*([a-z]{1,8}(?:-[a-z0-9]{1,8})*|\*)\s*(?:;\s*q=([01](?:\.\d*)?)\s*)?$/i.exec(part) ?? []
    return tag === undefined || tag.length > maxTagLength
      ? []
      : [{ tag: tag.toLowerCase(), quality: Math.min(Number(weight), 1) }]
  })
}

/** Whether the most specific range that matches a locale excludes it. */
function isRefused(locale: string, ranges: readonly Range[]): boolean {
  for (const tag of [...truncations(locale.toLowerCase()), '*']) {
    const range = ranges.find((candidate) => candidate.tag === tag)
    if (range) return range.quality === 0
  }
  return false
}

/** Finds the closest existing locale: the same, a more general one, or the first of the language. */
function findClosest(tag: string, locales: readonly string[]): string | undefined {
  const lowerTag = tag.toLowerCase()
  const names = truncations(lowerTag)
  for (const name of names) {
    const locale = locales.find((candidate) => candidate.toLowerCase() === name)
    if (locale !== undefined) return locale
  }
  const language = names.at(-1) ?? lowerTag
  return locales.find((candidate) => candidate.toLowerCase().startsWith(`${language}-`))
}
