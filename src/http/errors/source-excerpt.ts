import { readFileSync, realpathSync } from 'node:fs'
import { extname, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** An excerpt of a file with the line of an error. */
export interface SourceExcerpt {
  /** Relative to the folder of the application: `src/actions/posts.ts`. */
  file: string
  line: number
  lines: Array<{ number: number; text: string; isMeant: boolean }>
}

/** A line of a source file. */
interface Site {
  file: string
  line: number
}

/** The extensions of source files. Other files are not shown, because they may contain secrets. */
const extensions = new Set(['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.pug', '.yaml', '.yml', '.css'])

/** The number of lines that are shown before and after the line of the error. */
const linesAround = 4

/**
 * Returns the lines of the application in which an error occurred: the error's own `file` and `line`, else
 * the first line of its stack that is in the application.
 *
 * @param folder the folder of the application. No file outside of it is read, nor one of its node_modules.
 */
export function sourceExcerpt(error: unknown, folder = process.cwd()): SourceExcerpt | undefined {
  for (const site of sitesOf(error)) {
    const excerpt = excerptOf(site, folder)
    if (excerpt) return excerpt
  }
  return undefined
}

/** The `file` and `line` of the error, such as those of a template, and the lines of its stack. */
function sitesOf(error: unknown): Site[] {
  if (!(error instanceof Error)) return []
  const file: unknown = Reflect.get(error, 'file')
  const line: unknown = Reflect.get(error, 'line')
  const own = typeof file === 'string' && typeof line === 'number' ? [{ file, line }] : []
  return [...own, ...framesOf(error).flatMap(siteOf)]
}

/** The lines of the stack below the message, which may contain any text. */
function framesOf({ message, stack = '' }: Error): string[] {
  const start = stack.indexOf(message)
  const frames = start < 0 ? stack : stack.slice(start + message.length)
  return frames.split('\n').slice(1)
}

/** Parses a stack's line: `    at PostsResource.show (/blog/src/actions/posts.ts:12:5)`. Or none. */
function siteOf(frame: string): Site[] {
  const [, where = '', line = ''] = /^\s+at (?:.*\()?(.+?):(\d+)(?::\d+)?\)?$/.exec(frame) ?? []
  if (where.startsWith('file:')) return [{ file: fileURLToPath(where), line: Number(line) }]
  return where.startsWith('/') || /^[A-Z]:\\/i.test(where) ? [{ file: where, line: Number(line) }] : []
}

function excerptOf({ file, line }: Site, folder: string): SourceExcerpt | undefined {
  const found = findFile(file, folder)
  if (!found) return undefined
  const all = readFileSync(found.path, 'utf8').split('\n')
  if (line < 1 || line > all.length) return undefined
  const first = Math.max(1, line - linesAround)
  const lines = all.slice(first - 1, line + linesAround).map((text, index) => {
    const number = first + index
    return { number, text: text.replace(/\r$/, ''), isMeant: number === line }
  })
  return { file: found.name, line, lines }
}

/** The real path of a file of the application, and its name relative to the folder; undefined for others. */
function findFile(file: string, folder: string): { path: string; name: string } | undefined {
  if (!extensions.has(extname(file))) return undefined
  try {
    const path = realpathSync(file)
    const name = relative(realpathSync(folder), path)
    const parts = name.split(sep)
    const isOwn = parts[0] !== '..' && !name.startsWith(sep) && !parts.includes('node_modules')
    return isOwn && extensions.has(extname(path)) ? { path, name } : undefined
  } catch {
    // The file no longer exists, or is not readable.
    return undefined
  }
}
