import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './kit.js'

const config = join(root, '.prettierrc.json')
const cache = join(root, 'node_modules/.cache/formatted')

/**
 * Returns the paths of the files that prettier would change. It checks a text again only if the text has changed since the
 * last run, as `npm run format:check` does for the files of the checkout.
 *
 * @param name of the files, which is unique among the specs
 */
export async function unformatted(name: string, files: Record<string, string>): Promise<string[]> {
  const { check, version } = await import('prettier')
  const settings = [version, readFileSync(config, 'utf8')].join('\0')
  const before = formattedBefore()
  const formatted: string[] = []
  const others: string[] = []
  for (const [path, written] of Object.entries(files)) {
    if (!(await hasFormat(path))) continue
    const text = withoutTimestamps(written)
    const key = keyOf(path, text, settings)
    const isFormatted = before.has(key) || (await check(text, await optionsOf(path)))
    if (isFormatted) formatted.push(key)
    else others.push(path)
  }
  save(name, formatted)
  return others
}

/** Whether prettier formats files of this name. */
async function hasFormat(path: string): Promise<boolean> {
  const { getFileInfo } = await import('prettier')
  return (await getFileInfo(join(root, path))).inferredParser !== null
}

async function optionsOf(path: string) {
  const { resolveConfig } = await import('prettier')
  const file = join(root, path)
  return { ...(await resolveConfig(file, { config })), filepath: file }
}

/** Migrations contain the time at which they were generated. */
function withoutTimestamps(text: string): string {
  return text.replaceAll(/\d{13,}/g, (digits) => '1'.repeat(digits.length))
}

function keyOf(path: string, text: string, settings: string): string {
  const ending = path.slice(path.lastIndexOf('.'))
  return createHash('sha256').update(`${settings}\0${ending}\0${text}`).digest('base64url')
}

/** The texts that this and other specs have checked before: applications of different kinds have many files in common. */
function formattedBefore(): Set<string> {
  mkdirSync(cache, { recursive: true })
  const files = readdirSync(cache).filter((file) => file.endsWith('.json'))
  return new Set(files.flatMap((file) => JSON.parse(readFileSync(join(cache, file), 'utf8')) as string[]))
}

/** Replaces the file in one step: another run may read it. */
function save(name: string, keys: string[]): void {
  const file = join(cache, `${name}.json`)
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(keys))
  renameSync(`${file}.${process.pid}`, file)
}
