import { findSourceMap } from 'node:module'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { currentEnvironment } from './environment.js'

/** Where the application has called the framework. */
export interface Site {
  /** `src/actions/posts.ts:15` */
  place: string
  /** `PostsResource.list (src/actions/posts.ts:15:3)` */
  caller: string
  /** The functions of the framework that were called there, the innermost first. */
  functions: string[]
}

/** The framework's own folder, which applications in this repository contain. */
const framework = join(import.meta.dirname, '..') + sep

/** The stack that the work which is starting now was called with. */
let given: Error | undefined

/** Keeps the current stack, whose text is not made yet; undefined in production. */
export function stackHere(): Error | undefined {
  if (given || currentEnvironment() === 'production') return given
  const { stackTraceLimit } = Error
  // The frames of TypeORM can be many.
  Error.stackTraceLimit = 60
  const stack = new Error('here')
  Error.stackTraceLimit = stackTraceLimit
  return stack
}

/** Starts work that was called earlier, with the stack of that time: a queue ends the stack of its callers. */
export function withStack<T>(stack: Error | undefined, work: () => T): T {
  given = stack
  try {
    return work()
  } finally {
    given = undefined
  }
}

/** Finds the application's innermost line in a stack. */
export function siteOf(stack: Error | undefined): Site | undefined {
  const frames = framesOf(stack)
  const index = frames.findIndex((frame) => isOfApplication(fileOf(frame)))
  const frame = frames[index]
  if (!frame) return undefined
  const [place, column] = sourceOf(frame)
  return {
    place,
    caller: String(frame).replace(/^async |(file:)?\/[^()]+$|(?<=\()[^()]+(?=\)$)/g, (part) =>
      part === 'async ' ? '' : `${place}:${column}`,
    ),
    functions: frames.slice(0, index).map((it) => it.getFunctionName() ?? ''),
  }
}

/** The frames of a stack as objects, because its text takes many times as long. */
function framesOf(stack: Error | undefined): NodeJS.CallSite[] {
  const { prepareStackTrace } = Error
  Error.prepareStackTrace = (_error, frames) => frames
  try {
    const frames: unknown = stack?.stack
    return Array.isArray(frames) ? frames : []
  } finally {
    Error.prepareStackTrace = prepareStackTrace
  }
}

function fileOf(frame: NodeJS.CallSite): string {
  const file = frame.getFileName() ?? ''
  return file.startsWith('file:') ? fileURLToPath(file) : file
}

function isOfApplication(path: string): boolean {
  const isInside = path.startsWith(process.cwd() + sep) && !path.startsWith(framework)
  return isInside && !path.includes(`${sep}node_modules${sep}`)
}

/** The line of a frame's source, `src/actions/posts.ts:15`, and its column. */
function sourceOf(frame: NodeJS.CallSite): [place: string, column: number] {
  const [path, line, column] = [fileOf(frame), frame.getLineNumber() ?? 1, frame.getColumnNumber() ?? 1]
  const entry = findSourceMap(path)?.findEntry(line - 1, column - 1)
  if (!entry || !('originalSource' in entry)) return [`${relative(process.cwd(), path)}:${line}`, column]
  const source = relative(process.cwd(), fileURLToPath(entry.originalSource))
  return [`${source}:${entry.originalLine + 1}`, entry.originalColumn + 1]
}
