import { fileURLToPath } from 'node:url'
import { fork, spawn, type ChildProcess } from 'node:child_process'
import { on, once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { HostedRun } from './processes/kit-host.js'
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

/** The variables of a command, besides its arguments. */
export interface CommandOptions {
  env?: NodeJS.ProcessEnv
  input?: string
}

/**
 * Runs `kit` in a folder, without a terminal. The commands of a process that runs specs share a second process, because
 * loading the framework takes longest.
 */
export function kit(
  folder: string,
  args: string[],
  { env = {}, input = '' }: CommandOptions = {},
): Promise<Run> {
  const run = lastRun.then(() => runIn(startHost(), { folder, args, env: environment(env), input }))
  pending += 1
  lastRun = run.then(count, count)
  return run
}

/** Ends a command that a spec has left behind, because it timed out, so that the next spec can run one. */
export function endPendingRuns(): void {
  if (pending > 0) host?.kill('SIGKILL')
}

const count = (): number => (pending -= 1)
let pending = 0

/** Runs `kit` in its own process, for commands that serve and for runs at the same time. */
export async function kitProcess(
  folder: string,
  args: string[],
  { env = {}, input = '' }: CommandOptions = {},
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

let lastRun: Promise<unknown> = Promise.resolve()
let host: ChildProcess | undefined

function startHost(): ChildProcess {
  if (host?.connected) return host
  // Without source maps, like `kit` itself: reading them takes 0.1 seconds.
  host = fork(join(import.meta.dirname, 'processes/kit-host.js'), {
    env: environment(),
    stdio: 'pipe',
    execArgv: [],
  })
  return host
}

async function runIn(child: ChildProcess, run: HostedRun): Promise<Run> {
  const ended = new AbortController()
  const end = (): void => ended.abort()
  child.once('exit', end)
  const { signal } = ended
  const all = [
    untilEnd(child.stdout, signal),
    untilEnd(child.stderr, signal),
    once(child, 'message', { signal }),
  ]
  child.send(run)
  const [output = '', errors = '', [status]] = (await Promise.all(all)) as [string, string, [number]]
  child.off('exit', end)
  return { status, output: output.trimEnd(), errors: errors.trimEnd() }
}

/** The text that a stream writes until the NUL with which the host ends a run. */
async function untilEnd(stream: Readable | null, signal: AbortSignal): Promise<string> {
  let written = ''
  if (stream)
    for await (const [chunk] of on(stream.setEncoding('utf8'), 'data', { signal })) {
      written += chunk
      if (written.endsWith('\0')) break
    }
  return written.slice(0, -1)
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

/** Creates an application in its own folder, with the packages of this checkout installed. */
export async function newApplication(...options: string[]): Promise<{ folder: string; remove: () => void }> {
  const parent = temporaryFolder()
  const run = await kit(parent, [
    'new',
    'blog',
    '--skip-install',
    '--skip-git',
    '--kit',
    '^0.1.0',
    ...options,
  ])
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
