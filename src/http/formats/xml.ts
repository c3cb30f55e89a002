import { collectionName, itemName, recordName } from '../../naming/words.js'
import type { Format, ProblemDetails } from './format.js'

/** The format XML. */
export const xml: Format = {
  mediaTypes: ['application/xml', 'text/xml'],
  problemType: 'application/problem+xml',
  write: (plain, name) => toXml(plain, name()),
  // RFC 9457, appendix B.
  writeProblem: ({ lines, records, ...problem }) => {
    const lists = {
      ...(lines && { lines: lines.map(withElements) }),
      ...(records && { records: records.map(withElements) }),
    }
    return toXml({ ...withElements(problem), ...lists }, 'problem', 'urn:ietf:rfc:7807')
  },
}

/** Names the elements of the errors and codes of a problem. */
function withElements({ errors, codes, ...others }: Partial<ProblemDetails>): object {
  const lists = {
    ...(errors && { errors: elements('message', errors) }),
    ...(codes && { codes: elements('code', codes) }),
  }
  return { ...others, ...lists }
}

/** `{ title: ['a', 'b'] }` as `<title><message>a</message><message>b</message></title>` */
function elements(name: string, lists: Record<string, string[]>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(lists).map(([field, list]) => [field, new XmlList(name, list)]))
}

/**
 * Writes a value as an XML document.
 *
 * @param root the name of the root element; the elements of a list have its singular as name
 * @param namespace the namespace of the root element
 */
export function toXml(value: unknown, root: string, namespace?: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element(root, value, namespace ? ` xmlns="${namespace}"` : '')}\n`
}

/** A list whose elements have the given name, instead of the singular of the list's name. */
export class XmlList {
  constructor(
    readonly name: string,
    readonly items: readonly unknown[],
  ) {}
}

/** The name of a value's root element: its class, else that of the request's resource, else `record`. */
export function rootName(value: unknown, resource?: { plural: string; singular: string }): string {
  if (!Array.isArray(value)) return className(value) ?? resource?.singular ?? 'record'
  const item = className(value[0])
  return item ? collectionName(item) : (resource?.plural ?? 'records')
}

function className(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  // The value itself may have a `constructor` attribute.
  const { name }: { name: string } = (Object.getPrototypeOf(value) ?? {}).constructor
  return name === 'Object' || name === '' ? undefined : recordName(name)
}

/** Writes an element. A name that XML forbids becomes the `name` of an `item`. `toJSON` applies. */
function element(name: string, given: unknown, attributes = ''): string {
  const value: unknown = hasToJson(given) ? given.toJSON(name) : given
  const tag = isXmlName(name) ? name : 'item'
  const open = tag === name ? `${tag}${attributes}` : `${tag} name="${escapeXml(name)}"${attributes}`
  if (isNil(value)) return `<${open} nil="true"/>`
  const content = contentOf(name, value)
  return content === '' ? `<${open}/>` : `<${open}>${content}</${tag}>`
}

/** The types of the members that JSON leaves out. */
const unwritten: readonly string[] = ['undefined', 'function', 'symbol']

/** Whether JSON has null for a value: also for a number that is not finite, and for a function in a list. */
function isNil(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value)
  return value === null || unwritten.includes(typeof value)
}

function hasToJson(value: unknown): value is { toJSON(name: string): unknown } {
  return (
    typeof value === 'object' && value !== null && 'toJSON' in value && typeof value.toJSON === 'function'
  )
}

function contentOf(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.map((item) => element(childName(name), item)).join('')
  if (value instanceof XmlList) return value.items.map((item) => element(value.name, item)).join('')
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .filter(([, child]) => !unwritten.includes(typeof child))
      .map(([key, child]) => element(key, child))
      .join('')
  }
  return escapeXml(String(value))
}

/** The name of the items of a list. */
export function childName(name: string): string {
  const singular = itemName(name)
  return singular === name ? 'item' : singular
}

/** Whether every parser accepts a name. XML 1.0, section 2.3, allows more names than this. */
function isXmlName(name: string): boolean {
  return /^[A-Za-z_][\w.-]*$/.test(name) && !/^xml/i.test(name)
}

/** Escapes a string, and replaces characters that XML 1.0 forbids. Parsers would change a plain `\r`. */
function escapeXml(text: string): string {
  return (
    text
      .toWellFormed()
      // oxlint-disable-next-line no-control-regex
      .replaceAll(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g, '\uFFFD')
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
      .replaceAll('\r', '&#13;')
  )
}
