import { createRequire } from 'node:module'
import type * as FastXml from 'fast-xml-parser'
import { usualMembers } from '../depth.js'
import { BadRequest } from '../errors.js'
import { collectionName, itemName, recordName } from '../names.js'
import { checkXml } from './xml-check.js'

const nilAttribute = '@nil'

/** fast-xml-parser is loaded with the first document: an application that gets none starts without it. */
const require = createRequire(import.meta.url)

function load(): typeof FastXml {
  return require('fast-xml-parser')
}

const options: FastXml.X2jOptions = {
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  ignoreDeclaration: true,
  ignorePiTags: true,
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  // No names beyond XML's own five, but characters by their number. The type knows of true and false only.
  htmlEntities: {} as never,
}

/**
 * Reads an XML document as the fields of a record: the children of its root. An element with `nil="true"` is null, and
 * repeated elements are a list, and so are elements that have the names which `toXml` gives to items. Only XML's own five
 * entities are defined, and a DOCTYPE is refused, so that no document grows when it is read.
 *
 * @param members the most elements, attributes and entities
 * @throws BadRequest (400) when the document is not well-formed, or has a DOCTYPE; TooManyMembers (413)
 */
export function parseXml(text: string, members = usualMembers): Record<string, unknown> {
  if (/<!DOCTYPE/i.test(text)) throw new BadRequest('The XML body must not have a DOCTYPE.')
  checkXml(text, members)
  const valid = load().XMLValidator.validate(text)
  if (valid !== true) throw new BadRequest(`The XML body is not well-formed: ${valid.err.msg.slice(0, 200)}`)
  const roots = Object.entries(parseTree(text)).filter(([name]) => name !== '#text')
  const [root] = roots
  if (!root || roots.length > 1 || Array.isArray(root[1])) {
    throw new BadRequest('The XML body must have exactly one root element.')
  }
  const fields = simplify(root[1])
  return isTree(fields) ? fields : {}
}

function parseTree(text: string): Record<string, unknown> {
  try {
    const tree: unknown = new (load().XMLParser)(options).parse(text)
    return isTree(tree) ? tree : {}
  } catch (error) {
    throw new BadRequest('The XML body cannot be read.', { cause: error })
  }
}

/** Takes what the parser adds out of its tree: attributes, and the white space between elements. */
function simplify(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(simplify)
  if (!isTree(node)) return node
  if (node[nilAttribute] === 'true') return null
  const children = Object.entries(node).filter(([name]) => name !== '#text' && !name.startsWith('@'))
  if (children.length === 0) return node['#text'] ?? ''
  return Object.fromEntries(children.map(([name, child]) => [name, listOf(name, simplify(child))]))
}

/** The items of a list, which have the name that `toXml` gives them. Other values stay as they are. */
function listOf(name: string, value: unknown): unknown {
  if (!isTree(value)) return value
  const [item, ...others] = Object.entries(value)
  return item?.[0] === childName(name) && others.length === 0 ? [item[1]].flat() : value
}

function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Writes a value as an XML document.
 *
 * @param root the name of the root element; a list's elements carry its singular
 * @param namespace of the root element
 */
export function toXml(value: unknown, root: string, namespace?: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element(root, value, namespace ? ` xmlns="${namespace}"` : '')}\n`
}

/** A list whose elements have a name that is not the singular of its own. */
export class XmlList {
  constructor(
    readonly name: string,
    readonly items: readonly unknown[],
  ) {}
}

/** The name of a value's root element: its class, else that of the resource which answers, else `record`. */
export function rootName(value: unknown, resource?: { plural: string; singular: string }): string {
  if (!Array.isArray(value)) return className(value) ?? resource?.singular ?? 'record'
  const item = className(value[0])
  return item ? collectionName(item) : (resource?.plural ?? 'records')
}

function className(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  // A value may have a member `constructor` of its own.
  const { name }: { name: string } = (Object.getPrototypeOf(value) ?? {}).constructor
  return name === 'Object' || name === '' ? undefined : recordName(name)
}

function element(name: string, value: unknown, attributes = ''): string {
  const tag = isXmlName(name) ? name : 'item'
  const open = tag === name ? `${tag}${attributes}` : `${tag} name="${escapeXml(name)}"${attributes}`
  if (value === null || value === undefined) return `<${open} nil="true"/>`
  const content = contentOf(name, value)
  return content === '' ? `<${open}/>` : `<${open}>${content}</${tag}>`
}

function contentOf(name: string, value: unknown): string {
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map((item) => element(childName(name), item)).join('')
  if (value instanceof XmlList) return value.items.map((item) => element(value.name, item)).join('')
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .filter(([, child]) => child !== undefined && typeof child !== 'function')
      .map(([key, child]) => element(key, child))
      .join('')
  }
  return escapeXml(String(value))
}

function childName(name: string): string {
  const singular = itemName(name)
  return singular === name ? 'item' : singular
}

/** A cautious reading of XML 1.0, section 2.3: names that need no thought in any parser. */
function isXmlName(name: string): boolean {
  return /^[A-Za-z_][\w.-]*$/.test(name) && !/^xml/i.test(name)
}

/** Escapes text, and replaces what XML 1.0 (section 2.2) cannot hold. */
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
