import type { Attribute } from './attributes.js'
import { fromLocalTime } from '../common/time-zones.js'
import { hasTooManyMembers, isTooDeep, hasPrototypeKey, defaultMembersLimit } from './json-limits.js'

/** The result for a value that cannot be read as its column's type. The error of the field has the rule `type.<kind>`. */
export const unreadable = Symbol('unreadable')

/**
 * Converts a submitted value to the type of its column. Text is converted if the type has a written form, so that forms, XML
 * and JSON agree. A text column only accepts text.
 *
 * @param timeZone the time zone of datetimes without an offset
 * @returns `unreadable` if the value cannot be converted
 */
export function coerce(value: unknown, attribute: Attribute, timeZone = 'UTC'): unknown {
  if (value === null) return null
  if (attribute.kind === 'json') return readJson(value, attribute)
  if (attribute.nullable && typeof value === 'string' && value.trim() === '' && isBlankNull(value, attribute))
    return null
  return readers[attribute.kind](value, attribute, timeZone)
}

type Reader = (value: unknown, attribute: Attribute, timeZone: string) => unknown

const readers: Record<Exclude<Attribute['kind'], 'json'>, Reader> = {
  string: readText,
  text: readText,
  int: (value) => readInteger(value, -(2n ** 31n), 2n ** 31n - 1n, Number),
  bigint: (value) => readInteger(value, -(2n ** 63n), 2n ** 63n - 1n, String),
  float: readFloat,
  decimal: readDecimal,
  bool: readBoolean,
  date: (value) => (isDate(text(value)) ? text(value) : unreadable),
  time: readTime,
  datetime: readDateTime,
  uuid: (value) => (isUuid(text(value)) ? text(value).toLowerCase() : unreadable),
  enum: (value, { values }) => (typeof value === 'string' && values?.includes(value) ? value : unreadable),
}

/** Blank text isn't a value. In a text column only empty text isn't one, because white space may be intended. */
function isBlankNull(value: string, { kind }: Attribute): boolean {
  return value === '' || (kind !== 'string' && kind !== 'text' && kind !== 'enum')
}

/** Accepts text that every engine can store: PostgreSQL supports neither the null character nor lone surrogates. */
function readText(value: unknown): unknown {
  return typeof value === 'string' && !value.includes('\0') && value.isWellFormed() ? value : unreadable
}

function readInteger(
  value: unknown,
  least: bigint,
  most: bigint,
  result: (value: bigint) => unknown,
): unknown {
  const written = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : text(value)
  if (!/^[+-]?\d{1,20}$/.test(written)) return unreadable
  const integer = BigInt(written.replace('+', ''))
  return integer >= least && integer <= most ? result(integer) : unreadable
}

function readFloat(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : unreadable
  const written = text(value)
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i.test(written)) return unreadable
  const number = Number(written)
  return Number.isFinite(number) ? number : unreadable
}

/**
 * A decimal stays text, because a JavaScript number would lose digits. It has all digits of its column's scale, as the
 * database returns it. A decimal with more digits is rejected, not rounded.
 */
function readDecimal(value: unknown, { precision, scale }: Attribute): unknown {
  const written = typeof value === 'number' ? String(value) : text(value)
  const match = /^([+-]?)0*(\d+)(?:\.(\d+))?$/.exec(written)
  if (!match) return unreadable
  const [, sign = '', whole = '', digits = ''] = match
  const places = scale ?? (precision === undefined ? undefined : 0)
  if (precision !== undefined && whole.replace(/^0$/, '').length > precision - (places ?? 0))
    return unreadable
  const fraction = places === undefined ? digits : scaled(digits, places)
  if (fraction === undefined) return unreadable
  const isNegative = sign === '-' && /[1-9]/.test(whole + fraction)
  return `${isNegative ? '-' : ''}${whole}${fraction && `.${fraction}`}`
}

/** Pads a fraction to a number of digits. Returns undefined if it has more. */
function scaled(digits: string, places: number): string | undefined {
  const fraction = digits.slice(0, places).padEnd(places, '0')
  return /[1-9]/.test(digits.slice(places)) ? undefined : fraction
}

const booleans = new Map<unknown, boolean>([
  ...[true, 1, 'true', '1', 'on', 'yes'].map((word) => [word, true] as const),
  ...[false, 0, 'false', '0', 'off', 'no'].map((word) => [word, false] as const),
])

function readBoolean(value: unknown): unknown {
  return booleans.get(typeof value === 'string' ? value.trim().toLowerCase() : value) ?? unreadable
}

/** A time of day with its seconds, as the databases return it. */
function readTime(value: unknown): unknown {
  const written = text(value)
  if (!/^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?$/.test(written)) return unreadable
  if (written.length === 5) return `${written}:00`
  return written.includes('.') ? written.replace(/\.?0+$/, '') : written
}

function readDateTime(value: unknown, _attribute: Attribute, timeZone: string): unknown {
  if (value instanceof Date) return isMoment(value) ? value : unreadable
  const match =
    /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:?\d{2})?)?$/i.exec(
      text(value),
    )
  const [, day, time = '00:00', offset] = match ?? []
  if (!day || !isDate(day)) return unreadable
  const date =
    offset === undefined
      ? fromLocalTime(new Date(`${day}T${time}Z`), timeZone)
      : new Date(`${day}T${time}${offset.toUpperCase().replace(/^([+-]\d{2})(\d{2})$/, '$1:$2')}`)
  return isMoment(date) ? date : unreadable
}

/** The years that every engine says it has, and that are written with four digits, in UTC as well. */
const moments = [Date.parse('1000-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')] as const

function isMoment(date: Date): boolean {
  return date.getTime() >= moments[0] && date.getTime() <= moments[1]
}

function readJson(value: unknown, { nullable }: Attribute): unknown {
  if (typeof value !== 'string') return value
  if (value.trim() === '') return nullable ? null : unreadable
  if (hasTooManyMembers(value, defaultMembersLimit)) return unreadable
  try {
    const json: unknown = JSON.parse(value)
    return isTooDeep(json) || hasPrototypeKey(json) ? unreadable : json
  } catch {
    return unreadable
  }
}

/** A day of the calendar, as `2026-02-28`. */
function isDate(value: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(value) || value < '0001') return false
  const date = new Date(`${value}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value)
}

function isUuid(value: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value)
}

/** Trims short text. Anything else becomes empty, which is quick to reject. */
function text(value: unknown): string {
  return typeof value === 'string' && value.length <= 100 ? value.trim() : ''
}
