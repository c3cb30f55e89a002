import { Session } from 'node:inspector/promises'
import { findSourceMap } from 'node:module'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Finds the location of a function: `src/actions/posts.ts:39`. The inspector reports the compiled location, and the source map
 * leads to the source.
 */
export async function locate(declared: unknown): Promise<string | undefined> {
  if (typeof declared !== 'function') return undefined
  const session = new Session()
  session.connect()
  try {
    return await locateWith(session, declared)
  } finally {
    session.disconnect()
  }
}

const HOLDER = '__located'

async function locateWith(session: Session, declared: object): Promise<string | undefined> {
  const urls = new Map<string, string>()
  session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url))
  await session.post('Debugger.enable')
  Reflect.set(globalThis, HOLDER, declared)
  const { result } = await session.post('Runtime.evaluate', { expression: `globalThis.${HOLDER}` })
  Reflect.deleteProperty(globalThis, HOLDER)
  if (!result.objectId) return undefined
  const { internalProperties = [] } = await session.post('Runtime.getProperties', {
    objectId: result.objectId,
  })
  const place: unknown = internalProperties.find(({ name }) => name === '[[FunctionLocation]]')?.value?.value
  if (!isPlace(place)) return undefined
  const url = urls.get(place.scriptId)
  return url?.startsWith('file:') ? sourceOf(url, place.lineNumber, place.columnNumber) : undefined
}

function isPlace(value: unknown): value is { scriptId: string; lineNumber: number; columnNumber: number } {
  return typeof value === 'object' && value !== null && 'scriptId' in value && 'lineNumber' in value
}

function sourceOf(url: string, line: number, column: number): string {
  const entry = findSourceMap(fileURLToPath(url))?.findEntry(line, column)
  const source = entry && 'originalSource' in entry ? entry : undefined
  const file = fileURLToPath(source?.originalSource ?? url)
  return `${relative('', file)}:${(source?.originalLine ?? line) + 1}`
}
