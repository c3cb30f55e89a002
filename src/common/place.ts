import { findSourceMap } from 'node:module'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { currentEnvironment } from './environment.js'
import { memoize } from './memoize.js'

/** Where the application has called the framework. */
export interface Site {
  /** `src/actions/posts.ts:15`; undefined if no line of the application is known. */
  place?: string | undefined
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
export function siteOf(stack: Error | undefined): Site {
  const functions: string[] = []
  for (const frame of framesOf(stack)) {
    const file = frame.getFileName() ?? ''
    const path = file.startsWith('file:') ? fileURLToPath(file) : file
    if (isOfApplication(path))
      return { place: sourceOf(`${path}:${frame.getLineNumber()}:${frame.getColumnNumber()}`), functions }
    functions.push(frame.getFunctionName() ?? '')
  }
  return { functions }
}

function isOfApplication(path: string): boolean {
  const isInside = path.startsWith(process.cwd() + sep) && !path.startsWith(framework)
  return isInside && !path.includes(`${sep}node_modules${sep}`)
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

/** The line of the source for a position in a compiled file. */
const sourceOf = memoize((position) => {
  const [, path = '', line = '', column = ''] = /^(.*):(\d+):(\d+)$/.exec(position) ?? []
  const entry = findSourceMap(path)?.findEntry(Number(line) - 1, Number(column) - 1)
  const isMapped = entry && 'originalSource' in entry
  const source = isMapped ? fileURLToPath(entry.originalSource) : path
  return `${relative(process.cwd(), source)}:${isMapped ? entry.originalLine + 1 : line}`
}, 500)
