import { fileURLToPath } from 'node:url'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { temporaryFolder } from './temporary-folder.js'

/** The folder of the checkout. */
export const root = fileURLToPath(new URL('../../../', import.meta.url))

/** The command line, as the package installs it. */
export const kitFile = join(root, 'dist/src/cli/main.js')

/** The output of a run of `kit`, and its status. */
export interface Run {
  status: number | null
  output: string
  errors: string
}

/** Runs `kit` in a folder, without a terminal. */
export async function kit(
  folder: string,
  args: string[],
  { env = {}, input = '' }: { env?: NodeJS.ProcessEnv; input?: string } = {},
): Promise<Run> {
  const child = spawn(process.execPath, [kitFile, ...args], { cwd: folder, env: environment(env) })
  child.stdin.end(input)
  const [output, errors, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ])
  return { status, output: output.trimEnd(), errors: errors.trimEnd() }
}

/** The environment of a command: that of the specs, without the variables that they set. */
export function environment(env: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const {
    GO_ENV: _env,
    NODE_ENV: _node,
    DATABASE_URL: _url,
    PORT: _port,
    LOG_LEVEL: _level,
    ...rest
  } = process.env
  return { ...rest, NO_COLOR: '1', ...env }
}

/** Creates an application in a folder of its own, with the packages of this checkout installed. */
export async function newApplication(...options: string[]): Promise<{ folder: string; remove: () => void }> {
  const parent = temporaryFolder()
  const run = await kit(parent, ['new', 'blog', '--skip-install', '--kit', '^0.1.0', ...options])
  if (run.status !== 0) throw new Error(run.errors)
  const folder = join(parent, 'blog')
  linkPackages(folder)
  return { folder, remove: () => rmSync(parent, { recursive: true, force: true }) }
}

/** Installs the packages of this checkout, and the checkout itself, in an application, without the registry. */
export function linkPackages(folder: string): void {
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  for (const name of readdirSync(join(root, 'node_modules'))) {
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
  if (!existsSync(join(modules, 'resource-kit'))) symlinkSync(root, join(modules, 'resource-kit'))
}
