/** The most characters of a line of TypeScript, as `.prettierrc.json` has it. */
const WIDTH = 110

/**
 * Breaks each line that is too long at its last pair of braces, one member a line, as prettier does. Comments stay.
 *
 * @example import { Column, Entity, ... } from 'typeorm'
 */
export function breakLongLines(text: string): string {
  return text.split('\n').map(breakLine).join('\n')
}

/** A list, on one line where it fits. */
export function listOf(indent: number, name: string, items: readonly string[], isLong = false): string {
  const line = `${name}: [${items.join(', ')}],`
  if (!isLong && indent + line.length <= WIDTH) return line
  const inner = ' '.repeat(indent + 2)
  return [`${name}: [`, ...items.map((item) => `${inner}${item},`), `${' '.repeat(indent)}],`].join('\n')
}

function breakLine(line: string): string {
  if (line.length <= WIDTH || /^\s*(\/\/|\/?\*)/.test(line)) return line
  const end = line.lastIndexOf(' }')
  const start = openingOf(line, end + 1)
  if (end === -1 || start === -1) return line
  const indent = /^ */.exec(line)?.[0] ?? ''
  const members = split(line.slice(start + 2, end)).map((member) => breakLine(`${indent}  ${member},`))
  return [line.slice(0, start + 1), ...members, indent + line.slice(end + 1)].join('\n')
}

/** Where the brace opens that is closed here; -1 when none does. */
function openingOf(line: string, closing: number): number {
  let depth = 0
  for (let index = closing; index >= 0; index -= 1) {
    if (line[index] === '}') depth += 1
    if (line[index] === '{') depth -= 1
    if (depth === 0) return index
  }
  return -1
}

/** The members of an object: parted by commas that are not within brackets. */
function split(text: string): string[] {
  const members: string[] = ['']
  let depth = 0
  for (const character of text) {
    if ('([{'.includes(character)) depth += 1
    if (')]}'.includes(character)) depth -= 1
    if (character === ',' && depth === 0) members.push('')
    else members.push((members.pop() ?? '') + character)
  }
  return members.map((member) => member.trim())
}
