import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { temporaryFolder } from '../../support/temporary-folder.js'

/** How a server's program runs. */
export interface DaemonOptions {
  program: string
  args: readonly string[]
  /** The user that runs it if the specs run as root, which most servers refuse. */
  user: string
  folder: string
  /** Whether it does its work. */
  isReady: () => Promise<boolean>
}

/** Milliseconds within which a program must be ready. */
const patience = 60_000

/** A server's program, which a spec starts, stops, kills and freezes. */
export class Daemon {
  private child: ChildProcess | undefined
  /** Its output, for the message of a failure. */
  private output = ''
  private readonly end = (): void => {
    for (const pid of this.tree()) signal(pid, 'SIGKILL')
  }

  constructor(private readonly options: DaemonOptions) {
    process.on('exit', this.end)
  }

  get isRunning(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null
  }

  /** Starts it, and waits until it does its work. */
  async start(more: readonly string[] = []): Promise<void> {
    this.launch(more)
    const until = performance.now() + patience
    while (!(await this.options.isReady())) {
      if (!this.isRunning || performance.now() > until)
        throw new Error(`${this.options.program} does not start:\n${this.output.slice(-3000)}`)
      await delay(50)
    }
  }

  /** Starts it without waiting. */
  launch(more: readonly string[] = []): void {
    const { program, args, user, folder } = this.options
    const [command = '', ...all] = [...asUser(user), program, ...args, ...more]
    const env = { PATH: process.env['PATH'], LC_ALL: 'C', TMPDIR: folder }
    this.child = spawn(command, all, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.on('data', (chunk: Buffer) => (this.output = (this.output + chunk.toString()).slice(-10_000)))
  }

  /** Ends it with a signal. With SIGKILL, its child processes are killed, too. */
  async stop(name: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const { child } = this
    if (!child || !this.isRunning) return
    const ended = once(child, 'exit')
    if (name === 'SIGKILL') this.end()
    else child.kill(name)
    await ended
  }

  /** Stops all of its processes without ending them: it accepts connections and never answers. */
  freeze(): void {
    for (const pid of this.tree()) signal(pid, 'SIGSTOP')
  }

  thaw(): void {
    for (const pid of this.tree()) signal(pid, 'SIGCONT')
  }

  /** Kills it, and deletes its folder. */
  async remove(): Promise<void> {
    await this.stop('SIGKILL')
    process.off('exit', this.end)
    rmSync(this.options.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }

  /** The process and its children: those of PostgreSQL have their own groups. */
  private tree(): number[] {
    return this.isRunning && this.child?.pid ? withChildren(this.child.pid) : []
  }
}

/** A folder that belongs to the user of a server. */
export function folderOf(user: string, ...folders: string[]): string {
  const folder = temporaryFolder()
  const all = [folder, ...folders.map((name) => join(folder, name))]
  for (const path of all.slice(1)) mkdirSync(path)
  for (const path of all) {
    chmodSync(path, 0o700)
    own(user, path)
  }
  return folder
}

/** Writes a file that belongs to the user of a server. */
export function writeFor(user: string, file: string, text: string): void {
  writeFileSync(file, text)
  own(user, file)
}

function own(user: string, path: string): void {
  if (isRoot) chownSync(path, idOf('-u', user), idOf('-g', user))
}

/** Runs a program as the user of a server, to its end. */
export function runAs(user: string, folder: string, program: string, ...args: string[]): string {
  const [command = '', ...all] = [...asUser(user), program, ...args]
  const env = { PATH: process.env['PATH'], LC_ALL: 'C', TMPDIR: folder }
  const { status, stdout, stderr } = spawnSync(command, all, { cwd: folder, env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`)
  return stdout
}

const isRoot = process.getuid?.() === 0

function asUser(user: string): string[] {
  if (!isRoot) return []
  return ['setpriv', `--reuid=${user}`, `--regid=${idOf('-g', user)}`, '--clear-groups']
}

function idOf(flag: string, user: string): number {
  return Number(spawnSync('id', [flag, user], { encoding: 'utf8' }).stdout)
}

function withChildren(pid: number): number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number)
  return [pid, ...children.flatMap(withChildren)]
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended.
  }
}
