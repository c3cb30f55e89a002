import type { Format } from './format.js'

/** The format JSON. */
export const json: Format = {
  mediaTypes: ['application/json'],
  problemType: 'application/problem+json',
  write: toJson,
  writeProblem: JSON.stringify,
}

const millisecondsOfDay = 24 * 60 * 60 * 1000

/** The maximum number of days in the cache. */
const maxDays = 1000

/** A cache of the beginnings of formatted dates, `2026-11-22T`, by the number of days since 1970. */
const daysAsText = new Map<number, string>()

/** `00` to `99` */
const twoDigits = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, '0'))

const { toJSON } = Date.prototype

/**
 * Serializes a value like `JSON.stringify`. The dates of records are written here, because with
 * `JSON.stringify`, a list of 20 records takes 11 % more CPU time.
 */
export function toJson(value: unknown): string {
  return JSON.stringify(Array.isArray(value) ? value.map(withDatesAsText) : withDatesAsText(value))
}

/** Returns a copy of a record with strings instead of dates. Others, or with `toJSON`, are unchanged. */
function withDatesAsText(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || 'toJSON' in value) return value
  const copy: Record<string, unknown> = {}
  for (const name of Object.keys(value)) {
    // In a copy, this name would set the prototype.
    if (name === '__proto__') return value
    const member = (value as Record<string, unknown>)[name]
    copy[name] = isDate(member) ? dateAsText(member) : member
  }
  return copy
}

/** Whether a value is a date that serializes itself as usual. */
function isDate(value: unknown): value is Date {
  return value instanceof Date && value.toJSON === toJSON
}

/** Formats a date like `toISOString`; null if it is invalid, as in JSON. */
function dateAsText(date: Date): string | null {
  const time = date.getTime()
  if (Number.isNaN(time)) return null
  const day = Math.floor(time / millisecondsOfDay)
  const milliseconds = time - day * millisecondsOfDay
  const seconds = Math.floor(milliseconds / 1000)
  const hours = twoDigits[Math.floor(seconds / 3600)]
  const minutes = twoDigits[Math.floor(seconds / 60) % 60]
  const fraction = String(milliseconds % 1000).padStart(3, '0')
  return `${dayAsText(day, date)}${hours}:${minutes}:${twoDigits[seconds % 60]}.${fraction}Z`
}

/** @param date a date of the day, to format it if it is not in the cache */
function dayAsText(day: number, date: Date): string {
  const cached = daysAsText.get(day)
  if (cached !== undefined) return cached
  const text = date.toISOString()
  const beginning = text.slice(0, text.indexOf('T') + 1)
  if (daysAsText.size === maxDays) daysAsText.clear()
  daysAsText.set(day, beginning)
  return beginning
}
