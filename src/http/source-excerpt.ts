import { readFileSync, realpathSync } from 'node:fs'
import { extname, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Some lines of a file, and which of them is meant. */
export interface SourceExcerpt {
  /** Relative to the folder of the application: `src/actions/posts.ts`. */
  file: string
  line: number
  lines: Array<{ number: number; text: string; isMeant: boolean }>
}

interface Place {
  file: string
  line: number
}

/** What an application is written in. Nothing else is shown: a file with secrets may be among the rest. */
const kinds = new Set(['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.pug', '.yaml', '.yml', '.css'])

/** So many lines are shown before and after the one that is meant. */
const around = 4

/**
 * The lines of an application where an error comes from: those that the error itself names (`file` and `line`), else the
 * first of its stack that are the application's own.
 *
 * @param folder the folder of the application. No file outside of it is read, nor one of its node_modules.
 */
export function sourceExcerpt(error: unknown, folder = process.cwd()): SourceExcerpt | undefined {
  for (const place of placesOf(error)) {
    const excerpt = excerptOf(place, folder)
    if (excerpt) return excerpt
  }
  return undefined
}

function placesOf(error: unknown): Place[] {
  if (!(error instanceof Error)) return []
  const file: unknown = Reflect.get(error, 'file')
  const line: unknown = Reflect.get(error, 'line')
  const own = typeof file === 'string' && typeof line === 'number' ? [{ file, line }] : []
  return [...own, ...framesOf(error).flatMap(placeOf)]
}

/** The lines of the stack beneath the message, which may hold anything. */
function framesOf({ message, stack = '' }: Error): string[] {
  const start = stack.indexOf(message)
  const frames = start < 0 ? stack : stack.slice(start + message.length)
  return frames.split('\n').slice(1)
}

/** `    at PostsResource.show (/blog/src/actions/posts.ts:12:5)` */
function placeOf(frame: string): Place[] {
  const [, where = '', line = ''] = /^\s+at (?:.*\()?(.+?):(\d+)(?::\d+)?\)?$/.exec(frame) ?? []
  if (where.startsWith('file:')) return [{ file: fileURLToPath(where), line: Number(line) }]
  return where.startsWith('/') || /^[A-Z]:\\/i.test(where) ? [{ file: where, line: Number(line) }] : []
}

function excerptOf({ file, line }: Place, folder: string): SourceExcerpt | undefined {
  const found = find(file, folder)
  if (!found) return undefined
  const all = readFileSync(found.path, 'utf8').split('\n')
  if (line < 1 || line > all.length) return undefined
  const first = Math.max(1, line - around)
  const lines = all.slice(first - 1, line + around).map((text, index) => {
    const number = first + index
    return { number, text: text.replace(/\r$/, ''), isMeant: number === line }
  })
  return { file: found.name, line, lines }
}

/** A file of the application, links resolved; undefined for any other. */
function find(file: string, folder: string): { path: string; name: string } | undefined {
  if (!kinds.has(extname(file))) return undefined
  try {
    const path = realpathSync(file)
    const name = relative(realpathSync(folder), path)
    const parts = name.split(sep)
    const isOwn = parts[0] !== '..' && !name.startsWith(sep) && !parts.includes('node_modules')
    return isOwn && kinds.has(extname(path)) ? { path, name } : undefined
  } catch {
    // A file that is no longer there, or may not be read.
    return undefined
  }
}
