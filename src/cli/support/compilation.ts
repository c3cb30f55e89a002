import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
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
import { updateRouteTypes, withSuggestions, writtenTypes } from './route-types.js'

/**
 * The files to compile: the `application` alone (`src`, `migrations`, `ormconfig.ts`), so that a mistake in a
 * spec does not stop it, or `everything` that tsconfig.json includes.
 */
export type Extent = 'application' | 'everything'

/**
 * Compiles the application, unless the compiled files are up to date.
 *
 * @throws BuildFailed with the compiler's output
 */
export async function buildWhenStale(root: string, extent: Extent = 'application'): Promise<void> {
  if (isStale(root, extent)) await build(root, extent)
}

/**
 * Compiles the application into a new folder, which then replaces `dist`. This does not affect running
 * processes or simultaneous builds, and removes the compiled files of deleted sources.
 *
 * @throws BuildFailed with the compiler's output; `dist` is then unchanged
 */
export async function build(root: string, extent: Extent = 'application'): Promise<void> {
  removeAbandoned(root)
  // Unlike the folders of mkdtemp, other users can read this one: often another user runs the application.
  const folder = join(root, BUILDING + randomUUID())
  mkdirSync(folder)
  try {
    // The clock of the file system is some milliseconds behind. By another clock, a change right after the
    // start would look old.
    const began = new Date(Math.floor(statSync(folder).mtimeMs))
    await compileWithRoutes(root, folder, extent)
    stamp(join(folder, STAMPS.application), began)
    if (extent === 'everything') stamp(join(folder, STAMPS.everything), began)
    else keepSpecs(join(root, 'dist'), folder)
    replace(join(root, 'dist'), folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Compiles, and writes the types of the routes. If the code does not compile, the reason may be that these
 * types are old, so they are written from code that is compiled without checks, and the code is then checked
 * against the new types.
 */
async function compileWithRoutes(root: string, folder: string, extent: Extent): Promise<void> {
  // Read before the first compilation, because `kit dev` may write them at any time.
  const before = writtenTypes(root)
  let failure: unknown
  let mistake: string | undefined
  try {
    await compile(root, folder, extent)
    // Commands that compile the application alone must be fast. `kit dev` gets the routes from the
    // application itself.
    if (extent === 'application' || hasCurrentRoutes(root)) return
    mistake = await updateRouteTypes(root, folder, (reason) => console.error(reason))
  } catch (error) {
    if (!(error instanceof BuildFailed) || writtenTypes(root) === undefined) throw error
    failure = error
    await compile(root, folder, extent, ['--noCheck', '--noEmitOnError', 'false'])
    // The compiler's report also explains why the application cannot be loaded.
    mistake = await updateRouteTypes(root, folder, () => undefined)
  }
  // Compiles again if the types of the routes have changed.
  if (writtenTypes(root) !== before) await compile(root, folder, extent)
  else if (failure) throw failure
  if (mistake !== undefined)
    throw new CommandError(`The application was not built, because it would not start. ${mistake}`)
}

/** Whether only specs have changed since the last build that wrote the types of the routes. */
function hasCurrentRoutes(root: string): boolean {
  return (
    writtenTypes(root) !== undefined && existsSync(join(root, 'dist', STAMPS.everything)) && !isStale(root)
  )
}

/**
 * Whether a source has changed since the last build began, was not compiled yet, or was deleted. An
 * application that was deployed without its sources is up to date.
 */
export function isStale(root: string, extent: Extent = 'application'): boolean {
  if (!existsSync(join(root, 'src'))) return false
  const built = timeOf(join(root, 'dist', STAMPS[extent]))
  const sources = timesOf(root, '.ts', extent)
  const settings = timeOf(join(root, 'tsconfig.json'))
  if ([settings, ...sources.values()].some((time) => time >= built)) return true
  const compiled = timesOf(join(root, 'dist'), '.js', extent)
  return compiled.size !== sources.size || [...compiled.keys()].some((name) => !sources.has(name))
}

/**
 * The command that runs the application's compiler: the program of this platform, or the script of an older
 * TypeScript. The script of TypeScript 7 only starts the program, and would cost another process of Node.js.
 *
 * @throws CommandError when TypeScript is not installed
 */
export function compilerOf(root: string): [program: string, ...args: string[]] {
  const typescript = packageFolder(root, 'typescript')
  if (typescript === undefined)
    throw new CommandError('The application has no TypeScript compiler installed. Run `npm install`.')
  const platform = packageFolder(typescript, `@typescript/typescript-${process.platform}-${process.arch}`)
  const program = platform && join(platform, 'lib/tsc')
  return program && existsSync(program) ? [program] : [process.execPath, join(typescript, 'bin/tsc')]
}

function packageFolder(from: string, name: string): string | undefined {
  try {
    return dirname(createRequire(join(from, 'package.json')).resolve(`${name}/package.json`))
  } catch {
    return undefined
  }
}

/** The prefix of the folders that running builds write to. */
const BUILDING = '.dist-'

/** The files in `dist` whose modification times tell when the last build of each extent began. */
const STAMPS: Record<Extent, string> = { application: '.built', everything: '.built-with-specs' }

function stamp(file: string, time: Date): void {
  writeFileSync(file, '')
  utimesSync(file, time, time)
}

async function compile(root: string, folder: string, extent: Extent, options: string[] = []): Promise<void> {
  const settings = ['--outDir', folder, '--noEmitOnError', '--pretty', String(hasColor()), ...options]
  if (extent === 'everything') {
    await runCompiler(root, ['--project', root, ...settings])
    return
  }
  const project = join(folder, 'tsconfig.json')
  writeFileSync(project, JSON.stringify(await withoutSpecs(root)))
  await runCompiler(root, ['--project', project, ...settings])
  rmSync(project)
}

/** The settings of tsconfig.json for the files that it includes, apart from those in `spec`. */
async function withoutSpecs(root: string): Promise<object> {
  const text = await runCompiler(root, ['--project', root, '--showConfig'])
  const { files = [] } = JSON.parse(text) as { files?: string[] }
  return {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: { rootDir: root },
    files: files.map((file) => join(root, file)).filter((file) => !file.startsWith(join(root, 'spec/'))),
    include: [],
  }
}

async function runCompiler(root: string, options: string[]): Promise<string> {
  const [program, ...args] = compilerOf(root)
  try {
    const { stdout } = await promisify(execFile)(program, [...args, ...options], {
      cwd: root,
      maxBuffer: 64 * 1024 * 1024,
    })
    return stdout
  } catch (error) {
    const { stdout = '', stderr = '' } = Object(error) as { stdout?: string; stderr?: string }
    throw new BuildFailed(withSuggestions(root, (stdout + stderr).trim()) || String(error))
  }
}

/** Moves the compiled specs to the new folder, because mocha may read them. `kit build` compiles them. */
function keepSpecs(dist: string, folder: string): void {
  rename(join(dist, 'spec'), join(folder, 'spec'), 'ENOENT', 'ENOTEMPTY', 'EEXIST')
}

/** Replaces a folder by another one. If another build replaces the folder at the same time, tries again. */
function replace(target: string, folder: string): void {
  const old = `${folder}-old`
  for (let isDone = false; !isDone;) {
    rename(target, old, 'ENOENT')
    isDone = rename(folder, target, 'ENOTEMPTY', 'EEXIST')
    rmSync(old, { recursive: true, force: true })
  }
}

/** Renames a folder. Returns false for an expected error: no such folder, or a faster build. */
function rename(from: string, to: string, ...expectedCodes: string[]): boolean {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && expectedCodes.includes(String(error.code))) return false
    throw error
  }
}

/** Removes the folders that killed builds have left. */
function removeAbandoned(root: string): void {
  const hourAgo = Date.now() - 60 * 60 * 1000
  for (const name of readdirSync(root)) {
    if (!name.startsWith(BUILDING)) continue
    const folder = join(root, name)
    if (timeOf(folder) < hourAgo) rmSync(folder, { recursive: true, force: true })
  }
}

/** The folders that are compiled, besides ormconfig.ts. */
const FOLDERS: Record<Extent, string[]> = {
  application: ['src', 'migrations'],
  everything: ['src', 'migrations', 'spec'],
}

/** The modification times of the sources or compiled files in a folder, by their names without extension. */
function timesOf(folder: string, ending: '.ts' | '.js', extent: Extent): Map<string, number> {
  const files = FOLDERS[extent].flatMap((source) =>
    filesIn(join(folder, source)).map((file) => join(source, file)),
  )
  const relevant = [...files, `ormconfig${ending}`].filter(
    (file) => file.endsWith(ending) && !file.endsWith('.d.ts'),
  )
  return new Map(relevant.map((file) => [file.slice(0, -ending.length), timeOf(join(folder, file))]))
}

/** The paths in a folder and below it; none if it does not exist. */
function filesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []
}

/** The modification time of a file; 0 if it does not exist. */
function timeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

function hasColor(): boolean {
  return process.stdout.isTTY === true && !process.env['NO_COLOR']
}
