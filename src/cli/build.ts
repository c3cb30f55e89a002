import { execFile } from 'node:child_process'
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { BuildFailed, CommandError } from '../errors.js'

/**
 * Compiles the application, unless what is compiled is up to date.
 *
 * @throws BuildFailed with what the compiler says
 */
export async function buildWhenStale(root: string): Promise<void> {
  if (isStale(root)) await build(root)
}

/**
 * Compiles the application anew, so that a file that is gone from the sources does not live on. Where it does not
 * compile, what was compiled before is gone, too.
 *
 * @throws BuildFailed with what the compiler says
 */
export async function build(root: string): Promise<void> {
  rmSync(join(root, 'dist'), { recursive: true, force: true })
  await compile(root)
}

/**
 * Compiles the application over what was compiled before.
 *
 * @throws BuildFailed with what the compiler says; then nothing has been written
 */
export async function compile(root: string): Promise<void> {
  const args = [compilerOf(root), '--project', root, '--noEmitOnError', '--pretty', String(isColourful())]
  try {
    await promisify(execFile)(process.execPath, args, { cwd: root, maxBuffer: 64 * 1024 * 1024 })
  } catch (error) {
    const { stdout = '', stderr = '' } = Object(error) as { stdout?: string; stderr?: string }
    throw new BuildFailed((stdout + stderr).trim() || String(error))
  }
}

/** Whether a source is newer than what was compiled from it, not compiled yet, or gone. */
export function isStale(root: string): boolean {
  const compiled = new Map(timesOf(join(root, 'dist'), '.js'))
  const sources = timesOf(root, '.ts')
  const settings = timeOf(join(root, 'tsconfig.json'))
  const isUpToDate = sources.every(([name, time]) => (compiled.get(name) ?? 0) >= Math.max(time, settings))
  const names = new Set(sources.map(([name]) => name))
  return !isUpToDate || [...compiled.keys()].some((name) => !names.has(name))
}

/** What tsconfig.json compiles, beside its ormconfig.ts. */
export const SOURCES = ['src', 'migrations', 'spec']

/** The sources or the compiled files beneath a folder, by their names without the ending, and when they were written. */
function timesOf(folder: string, ending: '.ts' | '.js'): [name: string, time: number][] {
  const files = SOURCES.flatMap((source) =>
    existsSync(join(folder, source))
      ? readdirSync(join(folder, source), { recursive: true, encoding: 'utf8' }).map((it) => join(source, it))
      : [],
  )
  return [...files, `ormconfig${ending}`]
    .filter((file) => file.endsWith(ending) && !file.endsWith('.d.ts'))
    .map((file) => [file.slice(0, -ending.length), timeOf(join(folder, file))])
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
