import { posix } from 'node:path'
import type { Names } from '../arguments/names.js'

/** The maximum length of a line of TypeScript, from `.oxfmtrc.json`. */
const WIDTH = 110

/**
 * Breaks each line that is too long as oxfmt does, with one member on each line: at its last braces or call, or at its outermost
 * call if the braces begin too late or are not its last argument. Comments and titles of specs do not change.
 *
 * @example import { Column, Entity, ... } from 'typeorm'
 */
export function breakLongLines(text: string): string {
  return text.split('\n').map(breakLine).join('\n')
}

/** Removes the blank line that a template leaves after the last member of a class. */
export function closeClasses(text: string): string {
  return text.replaceAll(/\{\n+\}/g, '{}').replaceAll(/\n{2,}\}/g, '\n}')
}

/** Writes an object of several lines on one line, unless it has comments. */
export function onOneLine(text: string): string {
  if (/\/[/*]/.test(text)) return text
  return text
    .replaceAll(/,?\n\s*(\})/g, ' $1')
    .replaceAll(/,?\n\s*(\])/g, '$1')
    .replaceAll(/(\[)\n\s*/g, '$1')
    .replaceAll(/\n\s*/g, ' ')
}

/** Returns text as a string of TypeScript. */
export function quote(text: string): string {
  return `'${text}'`
}

/** Formats a list, on one line if it fits. */
export function listOf(indent: number, name: string, items: readonly string[]): string {
  const line = `${name}: [${items.join(', ')}],`
  if (indent + line.length <= WIDTH) return line
  const inner = ' '.repeat(indent + 2)
  return [`${name}: [`, ...items.map((item) => `${inner}${item},`), `${' '.repeat(indent)}],`].join('\n')
}

function breakLine(line: string): string {
  if (line.length <= WIDTH || /^\s*(\/\/|\/?\*|it\('|import (type )?\{ \w+ \} from)/.test(line)) return line
  const indent = /^ */.exec(line)?.[0] ?? ''
  // The body of an arrow function moves to the next line.
  const [, arrow, body] = /^(\s*\w+: (?:async )?\([^()]*\) =>) ((?!\(?[[{]).*)$/.exec(line) ?? []
  if (arrow !== undefined && body !== undefined) return `${arrow}\n${breakLine(`${indent}  ${body}`)}`
  // The statement below a condition gets braces.
  const [, condition, statement] = /^(\s*if \(\w+\)) (return .*)$/.exec(line) ?? []
  if (condition !== undefined) {
    return [`${condition} {`, breakLine(`${indent}  ${statement}`), `${indent}}`].join('\n')
  }

  // A value without anything to break moves to the next line.
  const [, name, value = ''] = /^(\s*(?:\w+|'[^']+'):) (.+),$/.exec(line) ?? []
  if (name !== undefined && !/^\w+\(.*\)$|[\])}]$/.test(value.replace(/\(\)$/, ''))) {
    return `${name}\n${indent}  ${value},`
  }

  let end = closingOf(line)
  let start = openingOf(line, end)
  // Braces stay at the end of a call only as its last argument.
  const isInner = /^\}(\)\)|, \w+\))$/.test(line.slice(end)) && !line.includes('=>')
  if (start >= WIDTH || isInner) {
    end = line.replaceAll('()', '  ').lastIndexOf(')')
    start = openingOf(line, end)
  }
  if (start === -1) return line
  const inside = line.slice(start + 1, end).trim()
  const members = splitMembers(inside).map((member) => breakLine(`${indent}  ${member},`))
  return [line.slice(0, start + 1), ...members, indent + line.slice(end)].join('\n')
}

/**
 * The position at which the last braces close, except for those of a parameter, else a list that is the last argument, else the
 * last call with arguments.
 */
function closingOf(line: string): number {
  // The braces on the left side of an assignment stay as they are.
  const right = line.replace(/^\s*const \{ id: \w+ \} =/, (left) => ' '.repeat(left.length))
  const brace = right.search(/ \}(?!(: \w+)?\) =>)(?!.* \}(?!(: \w+)?\) =>))/)
  if (brace !== -1) return brace + 1
  const list = Math.max(
    line.replaceAll('[])', '   ').lastIndexOf('])'),
    line.lastIndexOf('] as const'),
    line.endsWith('],') ? line.length - 2 : -1,
  )
  return list === -1 ? line.replaceAll('()', '  ').lastIndexOf(')') : list
}

/** The position of the opening bracket for a closing one; -1 if there is none. */
function openingOf(line: string, closing: number): number {
  let depth = 0
  for (let index = closing; index >= 0; index -= 1) {
    if (')]}'.includes(line[index] ?? '')) depth += 1
    if ('([{'.includes(line[index] ?? '')) depth -= 1
    if (depth === 0) return index
  }
  return -1
}

/** The members of an object, separated by the commas that are not inside brackets. */
function splitMembers(text: string): string[] {
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

/** The import path from one file to another: `src/actions/admin/widgets` and `src/models/widget` -> `../../models/widget.js` */
export function relativePath(from: string, to: string): string {
  const path = posix.relative(posix.dirname(from), to)
  return `${path.startsWith('.') ? path : `./${path}`}.js`
}

/** The imports of models in a file, in the order of their paths. */
export function modelImportsOf(models: readonly Names[], from: string): { path: string; model: string }[] {
  const paths = new Map(
    models.map(({ model, singular }) => [relativePath(from, `src/models/${singular}`), model]),
  )
  return [...paths].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([path, model]) => ({ path, model }))
}
