import type { EditFile } from './files.js'

/** Lines to insert, and the place for them. */
export interface Block {
  lines: readonly string[]
  place: keyof typeof places
}

/** The index of the line before which a block is inserted; -1 if there is no such place. */
const places = {
  'before the routes': (lines: readonly string[]) =>
    lines.findIndex((line) => /^\w+\.(get|resource|static|group)\(/.test(line)),
  'before the resources': (lines: readonly string[]) => {
    const first = lines.findIndex((line) => /^\w+\.resource\(/.test(line))
    return first === -1 ? lines.findLastIndex((line) => /^\w+\.get\('\/', /.test(line)) + 1 : first
  },
  'after the links': (lines: readonly string[]) =>
    lines.findIndex((line) => line.includes('collectionLinks()')) + 1,
}

/** The step that adds imports, each in the place of its path. */
export function importing(
  path: string,
  imports: readonly (readonly [names: string, from: string])[],
): EditFile {
  const lineOf = (names: string, from: string) => `import { ${names} } from '${from}'`
  return {
    path,
    what: 'imports',
    insert: (text) =>
      imports.reduce((whole, [names, from]) => {
        const lines = whole.split('\n')
        if (hasLine(whole, lineOf(names, from))) return whole
        const next = lines.findIndex(
          (line) => /^import .* from '(.*)'$/.exec(line)?.[1] !== undefined && isAfter(line, from),
        )
        const last = lines.findLastIndex((line) => line.startsWith('import '))
        return lines.toSpliced(next === -1 ? last + 1 : next, 0, lineOf(names, from)).join('\n')
      }, text),
    remove: (text) =>
      remove(
        text,
        imports.map(([names, from]) => lineOf(names, from)),
      ),
    leftover: () => undefined,
  }
}

/** Whether a line imports from a path that comes later: packages are first, then relative paths. */
function isAfter(line: string, from: string): boolean {
  const other = /from '(.*)'/.exec(line)?.[1] ?? ''
  const isRelative = (path: string) => path.startsWith('.')
  return isRelative(other) === isRelative(from) ? other > from : isRelative(other)
}

/** The step that inserts blocks of lines in a file, and removes those that have not been changed since. */
export function insertion(path: string, what: string, blocks: readonly Block[]): EditFile {
  return {
    path,
    what,
    insert: (text) => blocks.reduce((whole, block) => insert(whole, block), text),
    remove: (text) => blocks.reduce((whole, { lines }) => remove(whole, lines), text),
    leftover: (text) =>
      blocks.some(({ lines }) => lines.some((line) => line !== '' && hasLine(text, line)))
        ? `${path} still contains a part of ${what}. Remove it yourself.`
        : undefined,
  }
}

function insert(text: string, { lines, place }: Block): string {
  const all = text.split('\n')
  const missing = lines.filter((line) => line === '' || !hasLine(text, line))
  if (missing.every((line) => line === '')) return text
  const index = Math.max(0, places[place](all))
  return all.toSpliced(index, 0, ...missing).join('\n')
}

/** Removes the lines if they are together, else each of them. */
function remove(text: string, lines: readonly string[]): string {
  const block = `${lines.join('\n')}\n`
  if (text.includes(block)) return text.replace(block, '')
  const own = new Set(lines.filter((line) => line !== ''))
  return text
    .split('\n')
    .filter((line) => !own.has(line))
    .join('\n')
}

function hasLine(text: string, line: string): boolean {
  return text.split('\n').includes(line)
}
