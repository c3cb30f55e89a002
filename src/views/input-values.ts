/** A value as the text of an input: nothing for null, JSON for a list or an object. */
export function textValue(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'object' ? jsonValue(value) : String(value)
}

/** A day as `<input type="date">` reads it: `2026-05-01`. */
export function dateValue(value: unknown): string {
  return value instanceof Date ? value.toISOString().slice(0, 10) : textValue(value)
}

/** A time of day as `<input type="time">` reads it: `10:30`, with seconds only where there are some. */
export function timeValue(value: unknown): string {
  const text = value instanceof Date ? value.toISOString().slice(11, -1) : textValue(value)
  return text.replace(/^(\d\d:\d\d:\d\d)\.0+$/, '$1').replace(/^(\d\d:\d\d):00$/, '$1')
}

/** A moment in UTC as `<input type="datetime-local">` reads it: `2026-05-01T10:30`, with seconds only where there are some. */
export function dateTimeValue(value: unknown): string {
  return value instanceof Date ? `${dateValue(value)}T${timeValue(value)}` : textValue(value)
}

/** JSON, indented for people. */
export function jsonValue(value: unknown): string {
  if (value === null || value === undefined) return ''
  return JSON.stringify(value, null, 2)
}
