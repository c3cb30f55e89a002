import { createRequire } from 'node:module'
import { setImmediate } from 'node:timers/promises'
import type * as Saxes from 'saxes'
import { defaultMembersLimit } from '../../data/json-limits.js'
import { BadRequest, TooManyMembers } from '../../errors.js'
import { childName } from '../xml.js'

/** saxes is loaded with the first document: an application that gets none starts without it. */
const require = createRequire(import.meta.url)

/** The most elements within one another. */
const maxDepth = 100

/** Characters that are parsed at a time. Other requests are handled in between. */
const slice = 64 * 1024

/** An element that is being read. */
interface Element {
  children: Map<string, unknown[]>
  text: string
  isNil: boolean
}

/**
 * Reads an XML document as the fields of a record: the children of its root. An element with `nil="true"` is null.
 * Repeated elements are a list, and so are elements that have the names which `toXml` gives to items. Only the five
 * predefined entities are known and a DOCTYPE is rejected, so no document grows when it is read.
 *
 * @param members the most elements, attributes, entities, comments, CDATA sections and processing instructions
 * @throws BadRequest (400) when the document is not well-formed, is nested too deep, or has a DOCTYPE; TooManyMembers (413)
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
  parser.on('cdata', (chunk) => reader.section(chunk))
  parser.on('comment', () => reader.section())
  parser.on('processinginstruction', () => reader.section())
  parser.on('doctype', () => {
    throw new BadRequest('The XML body must not have a DOCTYPE.')
  })
  reader.count(entitiesIn(text, members))
  try {
    // XML 1.0, section 2.11: the parser handles the line ends of other systems one by one.
    await writeSlices(parser, text.replaceAll(/\r\n?/g, '\n'))
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
  for (let start = 0; start < text.length; start += slice) {
    if (start > 0) await setImmediate()
    parser.write(text.slice(start, start + slice))
  }
}

/** The sections in which `&` does not begin a reference, with their ends. */
const sections = new Map([
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
])

/**
 * The number of references to entities and characters, for which the parser has no event. Counts until there are more than
 * `most`, or until a section has no end, which the parser rejects.
 */
function entitiesIn(text: string, most: number): number {
  let count = 0
  const marks = /&|<!--|<!\[CDATA\[|<\?/g
  for (let mark = marks.exec(text); mark && count <= most; mark = marks.exec(text)) {
    const end = sections.get(mark[0])
    if (end === undefined) count++
    else {
      const position = text.indexOf(end, marks.lastIndex)
      if (position < 0) break
      marks.lastIndex = position + end.length
    }
  }
  return count
}

/** Makes the fields from what the parser finds. */
class XmlReader {
  fields: Record<string, unknown> = {}
  private members = 0
  private readonly elements: Element[] = []

  constructor(private readonly most: number) {}

  count(added = 1): void {
    this.members += added
    if (this.members > this.most) throw new TooManyMembers(this.most)
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

/** The items of a list, if they have the name that `toXml` gives them. Other values stay as they are. */
function listOf(name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const [item, ...others] = Object.entries(value)
  return item?.[0] === childName(name) && others.length === 0 ? [item[1]].flat() : value
}
