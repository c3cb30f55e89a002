import { KINDS, type Attribute } from './kinds.js'

export { unreadable } from './readers.js'

/**
 * Converts a submitted value to the type of its column. JSON may send a number, a boolean or a date as text,
 * as forms and XML do. A text column only accepts text. If the attribute is nullable, a blank value becomes
 * null.
 *
 * @param timeZone the time zone of datetimes without an offset
 * @returns `unreadable` if the value cannot be converted
 */
export function coerce(value: unknown, attribute: Attribute, timeZone = 'UTC'): unknown {
  if (value === null) return null
  const { read, keepsSpaces } = KINDS[attribute.kind]
  const isBlank = typeof value === 'string' && (keepsSpaces ? value : value.trim()) === ''
  return isBlank && attribute.nullable ? null : read(value, attribute, timeZone)
}
