import { toLocalTime } from '../../common/time-zones.js'

/** Converts a value to the text of an input: empty for null and undefined, JSON for an array or an object. */
export function textValue(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'object' ? jsonValue(value) : String(value)
}

/** Converts a date for `<input type="date">`: `2026-05-01`. */
export function dateValue(value: unknown): string {
  return value instanceof Date ? value.toISOString().slice(0, 10) : textValue(value)
}

/** Converts a time for `<input type="time">`: `10:30`, with seconds if they are not 0. */
export function timeValue(value: unknown): string {
  const text = value instanceof Date ? value.toISOString().slice(11, -1) : textValue(value)
  return text.replace(/^(\d\d:\d\d:\d\d)\.0+$/, '$1').replace(/^(\d\d:\d\d):00$/, '$1')
}

/**
 * Converts a datetime for `<input type="datetime-local">` in a time zone: `2026-05-01T10:30`, with seconds if they are not
 * 0.
 */
export function dateTimeValue(value: unknown, timeZone = 'UTC'): string {
  if (!(value instanceof Date) || Number.isNaN(value.getTime())) return textValue(value)
  const local = toLocalTime(value, timeZone)
  return `${dateValue(local)}T${timeValue(local)}`
}

/** Converts a value to indented JSON: empty for null and undefined. */
export function jsonValue(value: unknown): string {
  if (value === null || value === undefined) return ''
  return JSON.stringify(value, null, 2)
}
