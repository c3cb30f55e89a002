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
  const [, head, members, tail] = /^(.*\{) (.*) (\}.*)$/.exec(line) ?? []
  if (head === undefined || members === undefined || tail === undefined) return line
  const indent = /^ */.exec(line)?.[0] ?? ''
  return [head, ...split(members).map((member) => `${indent}  ${member},`), indent + tail].join('\n')
}

/** The members of an object: parted by commas that are not within brackets. */
function split(members: string): string[] {
  return members.split(/, (?![^[(]*[\])])/)
}
