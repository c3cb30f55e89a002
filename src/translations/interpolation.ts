import { memoize } from '../common/memoize.js'
import { dayFormat, listFormats, zonedFormat } from './formatters.js'

/** The values of placeholders: `{ attribute: 'Title', max: 80 }`. */
export type Values = Record<string, unknown>

/**
 * Replaces the `{{placeholders}}` of a text: lists and dates are formatted for the language, other values are
 * unchanged. A placeholder without a value remains, so that it is noticed.
 */
export function interpolate(text: string, values: Values, locale: string): string {
  if (!text.includes('{{')) return text
  let result = ''
  for (const { source, name } of parseText(text)) {
    const value = name !== undefined && Object.hasOwn(values, name) ? values[name] : undefined
    result += value === undefined ? source : formatValue(value, locale)
  }
  return result
}

/** A part of a text: a placeholder with its name, or the text between two placeholders. */
interface Part {
  source: string
  name?: string
}

/** Splits a text. The pattern's group returns placeholders, too, at odd indexes. Caches 1,000 texts. */
const parseText = memoize(
  (text): Part[] =>
    text
      .split(/(\{\{\s*\w+\s*\}\})/)
      .map((source, index) => (index % 2 === 0 ? { source } : { source, name: source.slice(2, -2).trim() })),
  1000,
)

/** Joins the lists in values with "or", because validation messages offer them as choices. */
export function joinChoices(values: Values, locale: string): Values {
  if (!Object.values(values).some(Array.isArray)) return values
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      Array.isArray(value) ? joinList(value, locale, 'disjunction') : value,
    ]),
  )
}

function formatValue(value: unknown, locale: string): string {
  if (Array.isArray(value)) return joinList(value, locale, 'conjunction')
  if (value instanceof Date && !Number.isNaN(value.getTime())) return formatDate(value, locale)
  return value === null ? '' : String(value)
}

function joinList(values: unknown[], locale: string, type: keyof typeof listFormats): string {
  return listFormats[type](locale).format(values.map((value) => formatValue(value, locale)))
}

/** Formats a date that is midnight in UTC as a day, and any other date with its time in UTC. */
function formatDate(date: Date, locale: string): string {
  const isDay = date.getTime() % 86_400_000 === 0
  return isDay ? dayFormat(locale).format(date) : zonedFormat(locale, 'UTC')(date)
}
