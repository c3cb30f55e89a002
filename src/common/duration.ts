import { DeclarationError } from '../errors.js'

/** A span of time: milliseconds, or a string like `'15 minutes'`. */
export type Duration = number | `${number} ${'second' | 'minute' | 'hour' | 'day'}${'' | 's'}`

const units: Record<string, number> = { second: 1000, minute: 60_000, hour: 3_600_000, day: 86_400_000 }

/** A hundred years. JavaScript has no dates for times that are much later. */
const longest = 36_500 * 86_400_000

/**
 * @param name what the duration is, for the message: `The timeout of SendDigest`
 * @throws DeclarationError when the duration is malformed, not positive or longer than 36,500 days
 */
export function milliseconds(duration: Duration, name = 'A duration'): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?) (second|minute|hour|day)s?$/.exec(String(duration)) ?? []
  const span = typeof duration === 'number' ? duration : Number(number) * (units[unit] ?? Number.NaN)
  if (span > 0 && span <= longest) return span
  const shown = typeof duration === 'number' ? String(duration) : JSON.stringify(duration)
  throw new DeclarationError(
    `${name} is ${shown}. Use milliseconds, or a text like "15 minutes" (seconds, minutes, hours or days), up to 36500 days.`,
  )
}
