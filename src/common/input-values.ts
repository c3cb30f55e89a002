import { toLocalTime } from './time-zones.js'

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

/** Converts a time for `<input type="time">` as browsers send it, without zeros at its end: `10:30:05.5`. */
export function timeValue(value: unknown): string {
  const text = value instanceof Date ? value.toISOString().slice(11, -1) : textValue(value)
  return text.replace(/^(\d\d:\d\d:\d\d)(?:\.0+|(\.\d*?[1-9])0+)$/, '$1$2').replace(/^(\d\d:\d\d):00$/, '$1')
}

/**
 * Converts a datetime for `<input type="datetime-local">` in a time zone: `2026-05-01T10:30`, with seconds if
 * they are not 0.
 */
export function dateTimeValue(value: unknown, timeZone = 'UTC'): string {
  if (!(value instanceof Date) || Number.isNaN(value.getTime())) return textValue(value)
  const local = toLocalTime(value, timeZone)
  return `${dateValue(local)}T${timeValue(local)}`
}

/**
 * Converts a datetime for the hidden field beside its input: with the offset, `2026-10-25T02:30+01:00`,
 * because clocks may show a local time twice. Undefined for other values, and for offsets and years that a
 * request cannot contain.
 */
export function dateTimeWithOffset(value: unknown, timeZone = 'UTC'): string | undefined {
  const local = dateTimeValue(value, timeZone)
  if (!(value instanceof Date) || !/^[1-9]\d{3}-/.test(local)) return undefined
  const minutes = (toLocalTime(value, timeZone).getTime() - value.getTime()) / 60_000
  if (!Number.isInteger(minutes)) return undefined
  const offset = new Date(Math.abs(minutes) * 60_000).toISOString().slice(11, 16)
  return `${local}${minutes < 0 ? '-' : '+'}${offset}`
}

/** Returns the text of the form's field for an attribute of a kind. */
export function fieldValue(value: unknown, kind: string, timeZone: string): string {
  if (kind === 'datetime') return dateTimeValue(value, timeZone)
  return (valuesOfKinds[kind] ?? textValue)(value)
}

const valuesOfKinds: Record<string, (value: unknown) => string> = {
  date: dateValue,
  time: timeValue,
  json: jsonValue,
}

/** Converts a value to indented JSON: empty for null and undefined. */
export function jsonValue(value: unknown): string {
  if (value === null || value === undefined) return ''
  return JSON.stringify(value, null, 2)
}
