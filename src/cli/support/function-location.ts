import { Session } from 'node:inspector/promises'
import { findSourceMap } from 'node:module'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Finds the locations of functions: `src/actions/posts.ts:39`. The inspector reports the compiled locations, and the source
 * maps lead to the sources. A value that is not a function has no location.
 */
export async function locate(values: readonly unknown[]): Promise<(string | undefined)[]> {
  const session = new Session()
  session.connect()
  try {
    const urls = new Map<string, string>()
    session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url))
    await session.post('Debugger.enable')
    const locations: (string | undefined)[] = []
    for (const value of values) locations.push(await locateWith(session, urls, value))
    return locations
  } finally {
    session.disconnect()
  }
}

const HOLDER = '__located'

async function locateWith(
  session: Session,
  urls: ReadonlyMap<string, string>,
  value: unknown,
): Promise<string | undefined> {
  if (typeof value !== 'function') return undefined
  Reflect.set(globalThis, HOLDER, value)
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
  const entry = findSourceMap(url)?.findEntry(line, column)
  const source = entry && 'originalSource' in entry ? entry : undefined
  const file = fileURLToPath(source?.originalSource ?? url)
  return `${relative('', file)}:${(source?.originalLine ?? line) + 1}`
}
