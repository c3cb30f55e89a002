import { DeclarationError } from '../errors.js'
import { memoize } from './memoize.js'

/** The maximum length of a name that is looked up. The longest one of the IANA database has 32 characters. */
const maxNameLength = 50

/** Returns the usual spelling of a time zone (`Europe/Berlin` for `europe/berlin`); undefined for no zone. */
export function knownTimeZone(name: unknown): string | undefined {
  return typeof name === 'string' && name.length <= maxNameLength ? lookUp(name) : undefined
}

/**
 * @param owner whose time zone it is, for the message: `new App()`
 * @throws DeclarationError when there is no such time zone
 */
export function checkTimeZone(owner: string, name: string): void {
  if (knownTimeZone(name) === undefined)
    throw new DeclarationError(`${owner} has the unknown time zone "${name}". Use a name like Europe/Berlin.`)
}

const lookUp = memoize((name): string | undefined => {
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions()
    // Intl replaces some names by older ones (Asia/Kolkata by Asia/Calcutta). These names are returned as
    // they were given.
    return timeZone.toLowerCase() === name.toLowerCase() ? timeZone : name
  } catch {
    return undefined
  }
}, 1000)

const hour = 3_600_000

/** Returns a date whose year, month, day and time in UTC are those of a time zone's clocks at `date`. */
export function toLocalTime(date: Date, timeZone: string): Date {
  return new Date(date.getTime() + offsetAt(date.getTime(), timeZone))
}

/**
 * Returns the date at which clocks in a time zone show a local time. A time that clocks skip is moved forward
 * by the length of the gap. If clocks show a time twice, the earlier date is returned.
 *
 * @param local a date as `toLocalTime` returns it
 */
export function fromLocalTime(local: Date, timeZone: string): Date {
  const time = local.getTime()
  // No zone is more than 15 hours from UTC, so these are the offsets before and after a change of clocks near
  // the time.
  const [before, after] = [offsetAt(time - 24 * hour, timeZone), offsetAt(time + 24 * hour, timeZone)]
  const isShownAfter = offsetAt(time - after, timeZone) === after
  const isShownBefore = offsetAt(time - before, timeZone) === before
  return new Date(time - (isShownAfter && !isShownBefore ? after : before))
}

/** The earliest date whose offset is looked up: before it, Intl can use the Julian calendar. */
const earliest = Date.UTC(1700, 0)

/** The milliseconds by which clocks in a time zone are ahead of UTC, at a `time` in milliseconds. */
function offsetAt(time: number, timeZone: string): number {
  if (timeZone === 'UTC' || Number.isNaN(time)) return 0
  const moment = Math.max(time, earliest)
  // South African English writes all parts as numbers, from the year to the second.
  const parts = clockOf(timeZone).formatToParts(moment)
  const [year = 0, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0] = parts
    .filter(({ type }) => type !== 'literal')
    .map(({ value }) => Number(value))
  return Date.UTC(year, month - 1, day, hours, minutes, seconds) - Math.floor(moment / 1000) * 1000
}

const clockOf = memoize(
  (timeZone) =>
    new Intl.DateTimeFormat('en-ZA', {
      timeZone,
      calendar: 'iso8601',
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    }),
  1000,
)
