import { execFile } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { BuildFailed, CommandError } from '../../command-errors.js'

/**
 * Compiles the application, unless what is compiled is up to date.
 *
 * @throws BuildFailed with what the compiler says
 */
export async function buildWhenStale(root: string): Promise<void> {
  if (isStale(root)) await build(root)
}

/**
 * Compiles the application into a new folder, which then takes the place of `dist`: whoever runs what was compiled before
 * is not disturbed, nor is another build at the same time, and a file that is gone from the sources does not live on.
 *
 * @throws BuildFailed with what the compiler says; `dist` is then what it was
 */
export async function build(root: string): Promise<void> {
  sweep(root)
  const folder = mkdtempSync(join(root, BUILDING))
  try {
    const began = new Date()
    await compile(root, folder)
    writeFileSync(join(folder, STAMP), '')
    utimesSync(join(folder, STAMP), began, began)
    replace(join(root, 'dist'), folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Whether a source has changed since the last build began, was not compiled yet, or is gone. An application that has been
 * deployed without its sources is not.
 */
export function isStale(root: string): boolean {
  if (!existsSync(join(root, 'src'))) return false
  const built = timeOf(join(root, 'dist', STAMP))
  const sources = timesOf(root, '.ts')
  const settings = timeOf(join(root, 'tsconfig.json'))
  if ([settings, ...sources.values()].some((time) => time >= built)) return true
  const compiled = timesOf(join(root, 'dist'), '.js')
  return compiled.size !== sources.size || [...compiled.keys()].some((name) => !sources.has(name))
}

/** The beginning of the names of folders in which a build is under way. */
const BUILDING = '.dist-'

/** The file in `dist` whose time is that of the beginning of its build. */
const STAMP = '.built'

async function compile(root: string, folder: string): Promise<void> {
  const settings = [
    '--project',
    root,
    '--outDir',
    folder,
    '--noEmitOnError',
    '--pretty',
    String(isColourful()),
  ]
  try {
    await promisify(execFile)(process.execPath, [compilerOf(root), ...settings], {
      cwd: root,
      maxBuffer: 64 * 1024 * 1024,
    })
  } catch (error) {
    const { stdout = '', stderr = '' } = Object(error) as { stdout?: string; stderr?: string }
    throw new BuildFailed((stdout + stderr).trim() || String(error))
  }
}

/** Puts a folder in the place of another one; of several that try at once, each does so as a whole. */
function replace(target: string, folder: string): void {
  const old = `${folder}-old`
  for (let isDone = false; !isDone;) {
    rename(target, old, 'ENOENT')
    isDone = rename(folder, target, 'ENOTEMPTY', 'EEXIST')
    rmSync(old, { recursive: true, force: true })
  }
}

/** Renames a folder, unless one of these errors says that another build was faster. */
function rename(from: string, to: string, ...allowed: string[]): boolean {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && allowed.includes(String(error.code))) return false
    throw error
  }
}

/** Removes what builds have left behind that were killed. */
function sweep(root: string): void {
  const hourAgo = Date.now() - 60 * 60 * 1000
  for (const name of readdirSync(root)) {
    if (!name.startsWith(BUILDING)) continue
    const folder = join(root, name)
    if (timeOf(folder) < hourAgo) rmSync(folder, { recursive: true, force: true })
  }
}

/** What tsconfig.json compiles, beside its ormconfig.ts. */
const SOURCES = ['src', 'migrations', 'spec']

/** The sources or the compiled files beneath a folder, by their names without the ending, and when they were written. */
function timesOf(folder: string, ending: '.ts' | '.js'): Map<string, number> {
  const files = SOURCES.flatMap((source) =>
    existsSync(join(folder, source))
      ? readdirSync(join(folder, source), { recursive: true, encoding: 'utf8' }).map((it) => join(source, it))
      : [],
  )
  const meant = [...files, `ormconfig${ending}`].filter(
    (file) => file.endsWith(ending) && !file.endsWith('.d.ts'),
  )
  return new Map(meant.map((file) => [file.slice(0, -ending.length), timeOf(join(folder, file))]))
}

/** When a file was written; 0 when it is not there. */
function timeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

function compilerOf(root: string): string {
  try {
    const manifest = createRequire(join(root, 'package.json')).resolve('typescript/package.json')
    return join(dirname(manifest), 'bin/tsc')
  } catch {
    throw new CommandError('The application has no TypeScript compiler installed. Run `npm install`.')
  }
}

function isColourful(): boolean {
  return process.stdout.isTTY === true && !process.env['NO_COLOR']
}
