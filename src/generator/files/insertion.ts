import type { EditFile } from './files.js'
import { breakLongLines } from './lines.js'

/** Lines to insert, and the place for them. */
export interface Block {
  lines: readonly string[]
  place: keyof typeof places
}

/** The index of the line before which a block is inserted; 0 or less if there is no such place. */
const places = {
  'before the routes': (lines: readonly string[]) =>
    lines.findIndex((line) => /^\w+\.(get|resource|static|group)\(/.test(line)),
  'before the resources': (lines: readonly string[]) => {
    const first = lines.findIndex((line) => /^\w+\.resource\(/.test(line))
    const home = lines.findLastIndex((line) => /^\w+\.get\((['"])\/\1, /.test(line))
    if (first !== -1 || home !== -1) return first === -1 ? home + 1 : first
    // Resources that are generated later are registered there.
    return endOfRoutes(lines, /^\s*((await )?\w+\.(static|listen)\(|export default)/).index
  },
  'after the transaction': (lines: readonly string[]) =>
    lines.findIndex((line) => /^\w+\.use\(transaction\(/.test(line)) + 1,
  'after the accounts': (lines: readonly string[]) =>
    lines.findIndex((line) => /^\w+\.use\(authenticateUser\)/.test(line)) + 1,
  'before what never to do': (lines: readonly string[]) => lines.indexOf('## Never') - 1,
  'after the links': (lines: readonly string[]) =>
    lines.findIndex((line) => line.includes('collectionLinks()')) + 1,
}

/**
 * Finds the end of the routes. Comments and blank lines stay with the line below them.
 *
 * @param below matches the first line that must stay below the routes; without such a line, they end with the file
 */
export function endOfRoutes(lines: readonly string[], below: RegExp): { index: number; indent: string } {
  const found = lines.findIndex((line) => below.test(line))
  let index = found === -1 ? lines.length : found
  while (index > 0 && /^\s*(\/\/.*|\/?\*.*)?$/.test(lines[index - 1] ?? '')) index -= 1
  return { index, indent: /^\s*/.exec(lines[found] ?? '')?.[0] ?? '' }
}

/** The step that adds imports. Imports are sorted by their paths, and each is added at its position. */
export function importing(
  path: string,
  imports: readonly (readonly [names: string, from: string])[],
): EditFile {
  const lines = imports.map(([names, from]) => `import { ${names} } from '${from}'`)
  const isOwn = (line: string) => lines.includes(line.replaceAll('"', "'").replace(/;$/, ''))
  return {
    path,
    what: 'imports',
    insert: (text) =>
      editLines(text, (before) =>
        imports.reduce<readonly string[]>((all, [names, from]) => addImport(all, names, from), before),
      ),
    remove: (text) => editLines(text, (all) => all.filter((line) => !isOwn(line))),
  }
}

/** A step that also imports a name that its code needs, with the other names from the same path. */
export function withImport(step: EditFile, name: string, from: string): EditFile {
  const isUsed = (text: string) => new RegExp(`\\b${name}\\(`).test(text)
  const change = (text: string, edit: (names: string[]) => readonly string[]) =>
    text.replace(
      new RegExp(`^import \\{([^}]*)\\} from ('${from}'|"${from}")`, 'm'),
      (_all, list: string, path: string) => {
        const names = list.split(',').map((one) => one.trim())
        return breakLongLines(`import { ${edit(names.filter(Boolean)).join(', ')} } from ${path}`)
      },
    )
  return {
    ...step,
    insert: (text) => {
      const after = step.insert(text)
      return isUsed(after) ? change(after, (names) => addName(names, name)) : after
    },
    remove: (text) => {
      const after = step.remove(text)
      return after === text || isUsed(after)
        ? after
        : change(after, (names) => names.filter((one) => one !== name))
    },
  }
}

/** Adds a name to names in alphabetical order. */
function addName(names: readonly string[], name: string): readonly string[] {
  if (names.includes(name)) return names
  const next = names.findIndex((other) => other.toLowerCase() > name.toLowerCase())
  return names.toSpliced(next === -1 ? names.length : next, 0, name)
}

/** Changes the lines of a text. Windows line endings are kept. */
export function editLines(text: string, change: (lines: readonly string[]) => readonly string[]): string {
  const isWindows = text.includes('\r\n')
  const lines = (isWindows ? text.replaceAll('\r\n', '\n') : text).split('\n')
  return change(lines).join(isWindows ? '\r\n' : '\n')
}

/** Inserts an import in the order of the paths, with the same quotes as the other imports, unless the line of an import contains its names. */
export function addImport(lines: readonly string[], names: string, from: string): readonly string[] {
  const imports = lines.flatMap((line, index) => {
    // The end of an import of several lines, `} from '...'`, only counts as the last import.
    const [, path, end] = /^(?:import\b.*|\} )from (['"].+['"])(;?)$/.exec(line) ?? []
    return path === undefined ? [] : [{ line, index, path: path.slice(1, -1), quote: path[0] ?? "'", end }]
  })
  if (imports.some(({ line }) => line.startsWith('import') && mentions(line.replace(/ from .*/, ''), names)))
    return lines

  const { quote, end } = imports.at(-1) ?? { quote: "'", end: '' }
  const next = imports.find(({ line, path }) => line.startsWith('import') && isAfter(path, from))
  const line = `import { ${names} } from ${quote}${from}${quote}${end}`
  return lines.toSpliced(next?.index ?? (imports.at(-1)?.index ?? -1) + 1, 0, line)
}

/** Whether a path comes later than another one: packages are first, then relative paths. */
function isAfter(path: string, from: string): boolean {
  const isRelative = from.startsWith('.')
  return path.startsWith('.') === isRelative ? path > from : !isRelative
}

/** Whether a line contains a name. */
export function mentions(line: string, name: string): boolean {
  return new RegExp(`\\b${name}\\b`).test(line)
}

/** The step that inserts blocks of lines in a file. To undo it, lines that have not been changed since are removed. */
export function insertion(path: string, what: string, blocks: readonly Block[]): EditFile {
  return {
    path,
    what,
    insert: (text) => editLines(text, (all) => blocks.reduce(insert, all)),
    remove: (text) =>
      editLines(text, (all) => blocks.reduce((rest, { lines }) => withoutLines(rest, lines), all)),
  }
}

function insert(all: readonly string[], { lines, place }: Block): readonly string[] {
  const missing = lines.filter((line) => line === '' || !all.includes(line))
  if (trimBlankLines(missing).length === 0) return all
  const index = places[place](all)
  if (index > 0) return all.toSpliced(index, 0, ...missing)
  return [...trimBlankLines(all), '', ...trimBlankLines(missing), '']
}

/** Removes lines, and a blank line that is then superfluous. If the lines are no longer together, removes each of them. */
export function withoutLines(all: readonly string[], lines: readonly string[]): readonly string[] {
  const own = trimBlankLines(lines)
  const start = all.findIndex((_, index) => own.every((line, offset) => all[index + offset] === line))
  if (own.length === 0 || start === -1) return all.filter((line) => line === '' || !own.includes(line))
  const rest = all.toSpliced(start, own.length)
  const isTooMany = (rest[start - 1] ?? '') === '' && (rest[start] ?? '') === ''
  return isTooMany ? rest.toSpliced(Math.min(start, rest.length - 1), 1) : rest
}

/** The lines without the blank ones at their end. */
function trimBlankLines(lines: readonly string[]): readonly string[] {
  return lines.slice(0, lines.findLastIndex((line) => line.trim() !== '') + 1)
}
