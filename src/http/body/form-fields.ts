import { createRequire } from 'node:module'

/** The maximum number of fields of a form. */
export const maxFields = 1000

/**
 * How the names of fields are read, in both encodings of forms: `a=1&a=2` and `a[]=1&a[]=2` are lists, and `a[b]=1` is
 * an object. The type of qs lacks two of the options.
 */
export const nesting = {
  depth: 5,
  // No list is longer than the form.
  arrayLimit: maxFields,
  parameterLimit: maxFields,
  throwOnLimitExceeded: true,
  allowDots: false,
  duplicates: 'combine',
} as const

const require = createRequire(import.meta.url)

/** Nests the fields of a multipart form exactly as the same fields of an urlencoded one. */
export function nest(fields: ReadonlyArray<readonly [name: string, value: string]>): Record<string, unknown> {
  const qs: typeof import('qs') = require('qs')
  // Only the names are encoded. Each value is represented by its number.
  const text = fields.map(([name], index) => `${encodeURIComponent(name)}=${index}`).join('&')
  return qs.parse(text, {
    ...nesting,
    decoder: (part, decode, _charset, type) => (type === 'value' ? fields[Number(part)]?.[1] : decode(part)),
  })
}

/** The value of a field that accepts one: the last value, because a checkbox follows a hidden field with its name. */
export function lastValue(value: unknown): unknown {
  return Array.isArray(value) ? value.at(-1) : value
}
