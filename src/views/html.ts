/** Safe HTML, whose interpolated values have been escaped. */
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

/** Escapes text for HTML, between tags as well as in a quoted attribute. */
export function escapeHtml(text: string): string {
  return /[&<>"']/.test(text)
    ? text.replace(/[&<>"']/g, (character) => entities[character] ?? character)
    : text
}

/**
 * A tagged template that escapes its values, except other `Html`. A list is joined. null, undefined and false are empty.
 *
 * @example html`<p>${message}</p>`
 */
export function html(strings: TemplateStringsArray, ...values: unknown[]): Html {
  let source = strings[0] ?? ''
  for (let index = 0; index < values.length; index++)
    source += toSource(values[index]) + (strings[index + 1] ?? '')
  return new Html(source)
}

/** The attributes of a tag. `true` is an attribute without a value. null, undefined and false omit the attribute. */
export type Attributes = Record<string, string | number | boolean | null | undefined>

/**
 * Renders escaped attributes, each with a space before it.
 *
 * @example html`<input${attributes({ name: 'title', required: true })} />`
 */
export function attributes(values: Attributes): Html {
  return new Html(Object.entries(values).map(attribute).join(''))
}

function attribute([name, value]: [string, Attributes[string]]): string {
  if (value === null || value === undefined || value === false) return ''
  return value === true ? ` ${name}` : ` ${name}="${escapeHtml(String(value))}"`
}

function toSource(value: unknown): string {
  if (typeof value === 'string') return escapeHtml(value)
  if (Array.isArray(value)) return value.map(toSource).join('')
  if (value === null || value === undefined || value === false) return ''
  return value instanceof Html ? value.toString() : escapeHtml(String(value))
}
