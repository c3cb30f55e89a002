import { fromLocalTime } from '../../common/time-zones.js'
import { hasTooManyMembers, isTooDeep, isUnstorable, defaultMembersLimit } from './json-limits.js'

/** The result for a value of the wrong type. The error of the field has the rule `type.<kind>`. */
export const unreadable = Symbol('unreadable')

/** The parts of an attribute that a reader needs. */
interface Details {
  values?: Array<string | number>
  precision?: number
  scale?: number
}

/** Reads a value of one kind. Returns `unreadable` if it cannot be converted. */
export type Reader = (value: unknown, attribute: Details, timeZone: string) => unknown

/** Accepts text that every engine stores: PostgreSQL rejects null characters and lone surrogates. */
export function readText(value: unknown): unknown {
  return typeof value === 'string' && !value.includes('\0') && value.isWellFormed() ? value : unreadable
}

/** Returns a reader of signed integers with a number of bits. */
export function integerReader(bits: bigint, convert: (value: bigint) => unknown): Reader {
  const limit = 2n ** (bits - 1n)
  return (value) => {
    const input = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : trimText(value)
    if (!/^[+-]?\d{1,20}$/.test(input)) return unreadable
    const integer = BigInt(input.replace('+', ''))
    return integer >= -limit && integer < limit ? convert(integer) : unreadable
  }
}

export function readFloat(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : unreadable
  const input = trimText(value)
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i.test(input)) return unreadable
  const number = Number(input)
  return Number.isFinite(number) ? number : unreadable
}

/**
 * Reads a decimal as text, because a JavaScript number would lose digits. The fraction is padded to the
 * column's scale, as the database returns it, and an exponent is resolved. A decimal with more digits is
 * rejected, not rounded.
 */
export function readDecimal(value: unknown, { precision, scale }: Details): unknown {
  const input = typeof value === 'number' ? String(value) : trimText(value)
  const match = /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d{1,3}))?$/i.exec(input)
  const [, sign = '', before = '', after = '', exponent = '0'] = match ?? []
  if (before + after === '') return unreadable
  const [whole, digits] = movePoint(before, after, Number(exponent))
  const places = scale ?? (precision === undefined ? undefined : 0)
  // A single zero before the point is not one of the column's digits.
  if (precision !== undefined && whole.replace(/^0$/, '').length > precision - (places ?? 0))
    return unreadable
  const fraction = places === undefined ? digits : padFraction(digits, places)
  if (fraction === undefined) return unreadable
  // Databases have no negative zero.
  const isNegative = sign === '-' && /[1-9]/.test(whole + fraction)
  return `${isNegative ? '-' : ''}${whole}${fraction && `.${fraction}`}`
}

/** Moves a number's point to the right. Returns the digits before it, without zeros, and after it. */
function movePoint(before: string, after: string, places: number): [whole: string, fraction: string] {
  const position = before.length + places
  const digits = '0'.repeat(Math.max(0, -position)) + before + after
  const point = Math.max(0, position)
  return [
    digits
      .slice(0, point)
      .padEnd(point, '0')
      .replace(/^0*(?=\d)/, '') || '0',
    digits.slice(point),
  ]
}

/** Pads a fraction to a number of digits. Returns undefined if more digits are not zero. */
function padFraction(digits: string, places: number): string | undefined {
  const fraction = digits.slice(0, places).padEnd(places, '0')
  return /[1-9]/.test(digits.slice(places)) ? undefined : fraction
}

const booleans = new Map<unknown, boolean>([
  ...[true, 1, 'true', '1', 'on', 'yes'].map((word) => [word, true] as const),
  ...[false, 0, 'false', '0', 'off', 'no'].map((word) => [word, false] as const),
])

export function readBoolean(value: unknown): unknown {
  return booleans.get(typeof value === 'string' ? value.trim().toLowerCase() : value) ?? unreadable
}

/** Reads a time of day. Adds missing seconds, and removes zeros at their end, as the databases do. */
export function readTime(value: unknown): unknown {
  const input = trimText(value)
  if (!/^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?$/.test(input)) return unreadable
  if (input.length === 5) return `${input}:00`
  return input.includes('.') ? input.replace(/\.?0+$/, '') : input
}

/** Reads a date with an optional time; without an offset, in the time zone. */
export function readDateTime(value: unknown, _attribute: Details, timeZone: string): unknown {
  if (value instanceof Date) return isInRange(value) ? value : unreadable
  const match =
    /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:?\d{2})?)?$/i.exec(
      trimText(value),
    )
  const [, day, time = '00:00', offset] = match ?? []
  if (!day || !isDate(day)) return unreadable
  const date =
    offset === undefined
      ? fromLocalTime(new Date(`${day}T${time}Z`), timeZone)
      : new Date(`${day}T${time}${offset.toUpperCase().replace(/^([+-]\d{2})(\d{2})$/, '$1:$2')}`)
  return isInRange(date) ? date : unreadable
}

/** The datetimes that every engine supports, and whose year has four digits in UTC. */
const datetimeRange = [Date.parse('1000-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')] as const

/** Whether every engine supports a datetime. */
export function isInRange(date: Date): boolean {
  return date.getTime() >= datetimeRange[0] && date.getTime() <= datetimeRange[1]
}

export function readJson(value: unknown): unknown {
  if (typeof value !== 'string') return isUnstorable(value) ? unreadable : value
  if (hasTooManyMembers(value, defaultMembersLimit)) return unreadable
  try {
    const json: unknown = JSON.parse(value)
    return isTooDeep(json) || isUnstorable(json) ? unreadable : json
  } catch {
    return unreadable
  }
}

export function readDate(value: unknown): unknown {
  return isDate(trimText(value)) ? trimText(value) : unreadable
}

/** Whether text is a date of the calendar from the year 1, such as `2026-02-28`. */
function isDate(value: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(value) || value < '0001') return false
  const date = new Date(`${value}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value)
}

export function readUuid(value: unknown): unknown {
  const input = trimText(value)
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(input) ? input.toLowerCase() : unreadable
}

/** Reads a value of an enum. Text with a number is a number, as in TypeORM on all engines. */
export function readEnum(value: unknown, { values }: Details): unknown {
  return values?.find((known) => known === value || String(known) === value) ?? unreadable
}

/** Trims text. Returns empty text for long text and for other types, so that it is rejected quickly. */
function trimText(value: unknown): string {
  return typeof value === 'string' && value.length <= 100 ? value.trim() : ''
}
