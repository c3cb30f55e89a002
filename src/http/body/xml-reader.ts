import { setImmediate } from 'node:timers/promises'
import type * as Saxes from 'saxes'
import { defaultMembersLimit } from '../../models/attributes/json-limits.js'
import { BadRequest, TooManyMembers } from '../../errors.js'
import { childName } from '../formats/xml.js'
import { require } from '../../common/lazy.js'

/** The maximum depth of elements. */
const maxDepth = 100

/** The number of characters that are parsed at a time. Other requests are handled in between. */
const sliceLength = 64 * 1024

/** An element that is being read. */
interface Element {
  children: Map<string, unknown[]>
  text: string
  isNil: boolean
}

/**
 * Reads an XML document as the fields of a record: the children of its root. An element with `nil="true"` is
 * null. Repeated elements are a list, and so is an element whose only children have the name that `toXml`
 * gives to its items. Only the five predefined entities are supported and a DOCTYPE is rejected, so no
 * document grows when it is read.
 *
 * @param members the maximum number of elements, attributes, comments, CDATA sections and processing
 *   instructions
 * @throws BadRequest (400) when the document is not well-formed, is nested too deeply, or has a DOCTYPE or an
 *   element `__proto__`; TooManyMembers (413)
 */
export async function parseXml(
  text: string,
  members = defaultMembersLimit,
): Promise<Record<string, unknown>> {
  const { SaxesParser }: typeof Saxes = require('saxes')
  const parser = new SaxesParser()
  const reader = new XmlReader(members)
  parser.on('opentagstart', () => reader.open())
  parser.on('attribute', ({ name, value }) => reader.attribute(name, value))
  parser.on('closetag', ({ name }) => reader.close(name))
  parser.on('text', (chunk) => reader.text(chunk))
  parser.on('cdata', (content) => reader.section(content))
  parser.on('comment', () => reader.section())
  parser.on('processinginstruction', () => reader.section())
  parser.on('doctype', () => {
    throw new BadRequest('The XML body must not have a DOCTYPE.')
  })
  try {
    await writeSlices(parser, text)
    parser.close()
  } catch (error) {
    if (error instanceof BadRequest || error instanceof TooManyMembers) throw error
    throw new BadRequest(
      `The XML body is not well-formed: ${String(Reflect.get(Object(error), 'message')).slice(0, 200)}`,
    )
  }
  return reader.fields
}

async function writeSlices(parser: Saxes.SaxesParser, text: string): Promise<void> {
  for (let start = 0; start < text.length; start += sliceLength) {
    if (start > 0) await setImmediate()
    parser.write(text.slice(start, start + sliceLength))
  }
}

/** Builds the fields of a document from the events of the parser. */
class XmlReader {
  fields: Record<string, unknown> = {}
  private members = 0
  private readonly elements: Element[] = []

  constructor(private readonly maxMembers: number) {}

  /** @throws TooManyMembers (413) */
  private count(): void {
    this.members++
    if (this.members > this.maxMembers) throw new TooManyMembers(this.maxMembers)
  }

  open(): void {
    this.count()
    if (this.elements.length === maxDepth)
      throw new BadRequest(`The XML body has more than ${maxDepth} elements within one another.`)
    this.elements.push({ children: new Map(), text: '', isNil: false })
  }

  attribute(name: string, value: string): void {
    this.count()
    const element = this.elements.at(-1)
    if (element && name === 'nil') element.isNil = value === 'true'
  }

  text(chunk: string): void {
    const element = this.elements.at(-1)
    if (element) element.text += chunk
  }

  section(chunk = ''): void {
    this.count()
    this.text(chunk)
  }

  close(name: string): void {
    const element = this.elements.pop()
    const parent = this.elements.at(-1)
    if (!element) return
    if (!parent) this.fields = element.isNil ? {} : fieldsOf(element)
    else if (name === '__proto__') throw new BadRequest('The XML body must not have an element __proto__.')
    else {
      const siblings = parent.children.get(name)
      if (siblings) siblings.push(valueOf(element))
      else parent.children.set(name, [valueOf(element)])
    }
  }
}

function valueOf(element: Element): unknown {
  if (element.isNil) return null
  return element.children.size === 0 ? element.text : fieldsOf(element)
}

function fieldsOf({ children }: Element): Record<string, unknown> {
  return Object.fromEntries(
    [...children].map(([name, values]) => [name, values.length > 1 ? values : listOf(name, values[0])]),
  )
}

/** The items of a list, if its element's only children have the name of `toXml` for items. Else the value. */
function listOf(name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const [item, ...others] = Object.entries(value)
  return item?.[0] === childName(name) && others.length === 0 ? [item[1]].flat() : value
}
