import { dayFormat, zonedFormat } from '../translations/formatters.js'
import { recordLabel } from './forms/choices.js'
import { html, type Html } from './html.js'
import type { ViewContext } from './view-context.js'

/**
 * Formats a datetime (a Date) or a day (`2026-05-01`) in the page's language, datetimes in the visitor's time
 * zone. Text that isn't a date is shown as it is.
 *
 * @example time(context, post.created_at) // May 1, 2026, 10:00 AM UTC, in <time>
 */
export function time(context: ViewContext, value: Date | string | null | undefined): Html {
  if (value === null || value === undefined || value === '') return html``
  const date = new Date(value)
  if (Number.isNaN(date.getTime())) return html`${value}`
  if (isDay(value)) return html`<time datetime="${value}">${dayFormat(context.locale).format(date)}</time>`
  const text = zonedFormat(context.locale, context.timeZone)(date)
  return html`<time datetime="${date.toISOString()}">${text}</time>`
}

/**
 * Formats a value of any kind: a datetime like `time`, a boolean as yes or no, a record by its title, name or
 * id, a list of records separated by commas, JSON as code, anything else as text.
 */
export function display(context: ViewContext, value: unknown): Html {
  if (value instanceof Date) return time(context, value)
  if (typeof value === 'boolean') return html`${context.t(value ? 'kit.yes' : 'kit.no')}`
  if (isRecord(value)) return html`${recordLabel(value)}`
  if (Array.isArray(value) && value.every(isRecord)) return html`${value.map(recordLabel).join(', ')}`
  if (typeof value === 'object' && value !== null) {
    return html`<code>${JSON.stringify(value, null, 2)}</code>`
  }
  return html`${value}`
}

/** Whether a value is an instance of a model, as opposed to the value of a JSON column. */
function isRecord(value: unknown): value is { id: string } {
  if (typeof value !== 'object' || value === null || !('id' in value)) return false
  return Object.getPrototypeOf(value) !== Object.prototype
}

function isDay(value: Date | string): boolean {
  return typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value)
}
