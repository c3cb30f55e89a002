/**
 * Parses a datetime as SQLite stores it: `2026-05-01 10:00:00.000`, in UTC.
 *
 * @returns undefined for any other format
 */
export function parseDatetime(value: unknown): Date | undefined {
  if (typeof value !== 'string' || value.length !== 23 || !isPunctuated(value)) return undefined
  const year = digits(value, 0, 4)
  const month = digits(value, 5, 7)
  const day = digits(value, 8, 10)
  const hour = digits(value, 11, 13)
  const minute = digits(value, 14, 16)
  const second = digits(value, 17, 19)
  const millisecond = digits(value, 20, 23)
  // A comparison with NaN is false, too.
  const isDatetime =
    year >= 100 && month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour <= 23 && minute <= 59
  if (!isDatetime || !(second <= 59) || !(millisecond >= 0)) return undefined
  return new Date(Date.UTC(year, month - 1, day, hour, minute, second, millisecond))
}

function isPunctuated(text: string): boolean {
  return (
    text[4] === '-' &&
    text[7] === '-' &&
    text[10] === ' ' &&
    text[13] === ':' &&
    text[16] === ':' &&
    text[19] === '.'
  )
}

/** Converts decimal digits to a number; NaN if there is any other character. */
function digits(text: string, from: number, to: number): number {
  let number = 0
  for (let at = from; at < to; at++) {
    const digit = text.charCodeAt(at) - 48
    number = digit >= 0 && digit <= 9 ? number * 10 + digit : Number.NaN
  }
  return number
}
