import { DeclarationError } from '../errors.js'

/** A span of time: milliseconds, or a string like `'15 minutes'`. */
export type Duration = number | `${number} ${'second' | 'minute' | 'hour' | 'day'}${'' | 's'}`

const units: Record<string, number> = { second: 1000, minute: 60_000, hour: 3_600_000, day: 86_400_000 }

/**
 * @param name what the duration is, for the message: `The timeout of SendDigest`
 * @throws DeclarationError when the duration is malformed, infinite or not positive
 */
export function milliseconds(duration: Duration, name = 'A duration'): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?) (second|minute|hour|day)s?$/.exec(String(duration)) ?? []
  const span = typeof duration === 'number' ? duration : Number(number) * (units[unit] ?? Number.NaN)
  if (span > 0 && Number.isFinite(span)) return span
  throw new DeclarationError(
    `${name} is ${JSON.stringify(duration)}. Use milliseconds, or a text like "15 minutes" (seconds, minutes, hours or days).`,
  )
}
