import { findSourceMap } from 'node:module'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { currentEnvironment } from './environment.js'

/** The line of the application that called the framework. */
export interface CallSite {
  /** `src/actions/posts.ts:15` */
  place: string
  /** `PostsResource.list (src/actions/posts.ts:15:3)` */
  caller: string
  /** All functions of the stack, the innermost first. */
  functions: (string | null)[]
}

/** The framework's compiled source. In this repository, it is below the working directory. */
const framework = join(import.meta.dirname, '..') + sep

/** The stack of the call whose work is starting now. */
let current: Error | undefined

/** Captures the stack, or that of `withStack`; undefined in production. V8 formats it on first use. */
export function captureStack(): Error | undefined {
  if (current || currentEnvironment() === 'production') return current
  const { stackTraceLimit } = Error
  // Node's default of 10 frames can be less than those of TypeORM.
  Error.stackTraceLimit = 60
  const stack = new Error('here')
  Error.stackTraceLimit = stackTraceLimit
  return stack
}

/** Starts queued work. Until `work` returns, `captureStack` returns the stack that queued it. */
export function withStack<T>(stack: Error | undefined, work: () => T): T {
  current = stack
  try {
    return work()
  } finally {
    current = undefined
  }
}

/** Finds the application's innermost line in a stack. */
export function siteOf(stack: Error | undefined): CallSite | undefined {
  const frames = framesOf(stack)
  const frame = frames.find((it) => isOfApplication(pathOf(it.getFileName())))
  if (!frame) return undefined
  const [line, column] = [frame.getLineNumber() ?? 1, frame.getColumnNumber() ?? 1]
  const compiled = { fileName: frame.getFileName(), lineNumber: line, columnNumber: column }
  const source = { ...compiled, ...findSourceMap(compiled.fileName ?? '')?.findOrigin(line, column) }
  const place = `${relative(process.cwd(), pathOf(source.fileName))}:${source.lineNumber}`
  const at = `${place}:${source.columnNumber}`
  // A frame is `async PostsResource.list (file:///...)`, or only a path outside of functions. Only the name
  // remains.
  const name = String(frame).replace(/^async | ?\(.*$|(file:)?\/.*$/g, '')
  return { place, caller: name ? `${name} (${at})` : at, functions: frames.map((it) => it.getFunctionName()) }
}

/** The frames of a stack as objects: a string takes many times as long. The first use of `stack` decides. */
function framesOf(stack: Error | undefined): NodeJS.CallSite[] {
  const { prepareStackTrace } = Error
  Error.prepareStackTrace = (_error, frames) => frames
  const frames: unknown = stack?.stack
  Error.prepareStackTrace = prepareStackTrace
  return Array.isArray(frames) ? frames : []
}

function pathOf(file: string | null | undefined): string {
  return file?.startsWith('file:') ? fileURLToPath(file) : (file ?? '')
}

function isOfApplication(path: string): boolean {
  const isInside = path.startsWith(process.cwd() + sep) && !path.startsWith(framework)
  return isInside && !path.includes(`${sep}node_modules${sep}`)
}
