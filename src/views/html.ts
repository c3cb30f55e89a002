/** HTML that is inserted without escaping. The template `html` creates it from escaped values. */
export class Html {
  constructor(private readonly source: string) {}

  toString(): string {
    return this.source
  }
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A constant, because V8 creates a literal's object each time, and most text needs no escaping. */
const special = /[&<>"']/

/** Escapes text for use between tags or in a quoted attribute. */
export function escapeHtml(text: string): string {
  return special.test(text) ? text.replace(/[&<>"']/g, (character) => entities[character] ?? character) : text
}

/**
 * A tagged template that escapes its values, except those that are `Html`. It joins the elements of a list,
 * and omits null, undefined and false.
 *
 * @example html`<p>${message}</p>`
 */
export function html(strings: TemplateStringsArray, ...values: unknown[]): Html {
  let source = strings[0] ?? ''
  for (let index = 0; index < values.length; index++)
    source += toSource(values[index]) + (strings[index + 1] ?? '')
  return new Html(source)
}

/** The attributes of a tag. `true` renders the name alone (`required`). null, undefined and false omit it. */
export type Attributes = Record<string, string | number | boolean | null | undefined>

/**
 * Renders attributes with escaped values, each with a space before it.
 *
 * @example html`<a${attributes({ href: '/posts', 'aria-current': 'page' })}>Posts</a>`
 */
export function attributes(values: Attributes): Html {
  let source = ''
  for (const name in values) source += attribute(name, values[name])
  return new Html(source)
}

/**
 * Renders an `input` without a slash at its end, as pug renders void elements.
 *
 * @example inputTag(attributes({ name: 'title', required: true }))
 */
export function inputTag(renderedAttributes: Html): Html {
  return new Html(`<input${renderedAttributes}>`)
}

function attribute(name: string, value: Attributes[string]): string {
  if (value === null || value === undefined || value === false) return ''
  return value === true ? ` ${name}` : ` ${name}="${escapeHtml(String(value))}"`
}

function toSource(value: unknown): string {
  if (typeof value === 'string') return escapeHtml(value)
  if (Array.isArray(value)) return value.map(toSource).join('')
  if (value === null || value === undefined || value === false) return ''
  return value instanceof Html ? value.toString() : escapeHtml(String(value))
}
