import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './kit.js'

const cache = join(root, 'node_modules/.cache/formatted')

/** Returns the paths of the files that `npm run format` would change. */
export async function unformatted(files: Record<string, string>): Promise<string[]> {
  const others: string[] = []
  for (const [path, text] of Object.entries(files)) {
    const check = path.endsWith('.pug') ? isFormattedPug : isFormatted
    if (!(await check(text, path))) others.push(path)
  }
  return others
}

async function isFormatted(text: string, path: string): Promise<boolean> {
  const { format } = await import('oxfmt')
  const options = JSON.parse(read('.oxfmtrc.json')) as Record<string, unknown>
  const { code, errors } = await format(path, text, options)
  // It returns a text that it cannot read as it is.
  return code === text && errors.every(({ message }) => message.startsWith('Unsupported file type'))
}

/** Prettier takes 50 milliseconds for a template, so each text that is formatted leaves an empty file, named for its hash. */
async function isFormattedPug(text: string): Promise<boolean> {
  const settings = read('.prettierrc.json')
  const versions = ['prettier', '@prettier/plugin-pug'].map((name) =>
    read(`node_modules/${name}/package.json`),
  )
  const hash = createHash('sha256').update([settings, ...versions, text].join('\0'))
  const file = join(cache, hash.digest('hex'))
  if (existsSync(file)) return true
  const { check } = await import('prettier')
  const isFormattedText = await check(text, { ...JSON.parse(settings), parser: 'pug' })
  mkdirSync(cache, { recursive: true })
  if (isFormattedText) writeFileSync(file, '')
  return isFormattedText
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}
