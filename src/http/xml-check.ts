import { BadRequest, TooManyMembers } from '../errors.js'

/** What markup other than a tag begins and ends with. */
const sections = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
] as const

const entity = /&(?:amp|lt|gt|quot|apos|#\d+|#x[\da-fA-F]+);/y

/**
 * Looks through an XML document before it is parsed: elements, attributes and entities cost the parser far more than
 * their bytes.
 *
 * @throws TooManyMembers (413) when there are more of them than `most`
 * @throws BadRequest (400) when an entity is not defined, or markup does not end
 */
export function checkXml(text: string, most: number): void {
  let members = 0
  let ampersand = text.indexOf('&')

  function count(added: number): void {
    members += added
    if (members > most) throw new TooManyMembers(most)
  }

  function checkEntities(from: number, to: number): void {
    // Searched from where the last search ended: the document is read once, however many tags it has.
    if (ampersand >= 0 && ampersand < from) ampersand = text.indexOf('&', from)
    for (; ampersand >= 0 && ampersand < to; ampersand = text.indexOf('&', ampersand + 1)) {
      count(1)
      entity.lastIndex = ampersand
      if (!entity.test(text)) throw undefinedEntity(text.slice(ampersand, ampersand + 20))
    }
  }

  let position = 0
  for (;;) {
    const start = text.indexOf('<', position)
    checkEntities(position, start < 0 ? text.length : start)
    if (start < 0) return
    const section = sections.find(([opening]) => text.startsWith(opening, start))
    if (section) {
      count(1)
      position = endOf(text, section[1], start + section[0].length)
    } else {
      const tag = endOfTag(text, start)
      count((text[start + 1] === '/' ? 0 : 1) + tag.attributes)
      checkEntities(start, tag.end)
      position = tag.end
    }
  }
}

function undefinedEntity(excerpt: string): BadRequest {
  return new BadRequest(`The XML body has an entity that is not defined: ${JSON.stringify(excerpt)}.`)
}

function endOf(text: string, closing: string, from: number): number {
  const at = text.indexOf(closing, from)
  if (at < 0) throw new BadRequest(`The XML body is not well-formed: "${closing}" is missing.`)
  return at + closing.length
}

/** Where a tag ends, and how many attributes it has. A value in quotes may have a `>` in it. */
function endOfTag(text: string, start: number): { end: number; attributes: number } {
  let attributes = 0
  for (let position = start + 1; position < text.length; position++) {
    const character = text[position]
    if (character === '>') return { end: position + 1, attributes }
    if (character === '=') attributes++
    if (character === '"' || character === "'") position = endOf(text, character, position + 1) - 1
  }
  throw new BadRequest('The XML body is not well-formed: a tag does not end.')
}
