import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { environment, kitFile } from '../kit.js'
import { temporaryFolder } from '../temporary-folder.js'

/** How a process has ended. */
export interface End {
  status: number | null
  signal: NodeJS.Signals | null
}

/** A line of the log. */
export interface Line {
  msg: string
  level: number
  pid: number
  worker?: number
  request_id?: string
  status?: number
  err?: { type: string; stack: string }
}

/** The command that `kit start` runs in the folder of a built application. */
export class Served {
  readonly log: Line[] = []
  errors = ''
  url = ''
  readonly ended: Promise<End>
  private readonly folder: string
  private readonly child: ChildProcessByStdio<null, Readable, Readable>

  /**
   * Starts an application.
   *
   * @param main the url of the compiled file of its `src/main.ts`, or the path of the folder of a whole application
   * @param args the arguments of `kit`; without any the file runs without `kit`
   */
  static async start(main: string, args: string[], env: NodeJS.ProcessEnv): Promise<Served> {
    const served = new Served(main, args, env)
    while (served.url === '') {
      const end = await Promise.race([served.ended, delay(10)])
      if (end) throw new Error(`kit ${args.join(' ')} ended: ${served.errors}${JSON.stringify(served.log)}`)
    }
    return served
  }

  constructor(main: string, args: string[], env: NodeJS.ProcessEnv) {
    this.folder = main.startsWith('file:') ? builtApplication(main) : main
    const what = args.length > 0 ? [kitFile, ...args] : [join(this.folder, 'dist/src/main.js')]
    this.child = spawn(process.execPath, what, {
      cwd: this.folder,
      env: environment({ GO_ENV: 'test', LOG_LEVEL: 'info', PORT: '0', ...env }),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const stop = (): boolean => this.child.kill('SIGKILL')
    process.once('exit', stop)
    this.child.once('close', () => process.off('exit', stop))
    this.ended = once(this.child, 'close').then(([status, signal]) => ({ status, signal }))
    this.child.stderr.on('data', (chunk: Buffer) => (this.errors += chunk.toString()))
    createInterface(this.child.stdout).on('line', (text) => {
      const line: Line = JSON.parse(text)
      this.log.push(line)
      const [, address] = /^listening on (http:[^,]+)/.exec(line.msg) ?? []
      if (address) this.url = address
    })
  }

  get pid(): number {
    return this.child.pid ?? 0
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal)
  }

  /** Waits until a process of the application has logged this message. */
  async logged(message: string): Promise<void> {
    while (!this.log.some(({ msg }) => msg.startsWith(message))) await delay(5)
  }

  /** Waits until it has written this text to its error output. */
  async warned(text: string): Promise<void> {
    while (!this.errors.includes(text)) await delay(5)
  }

  /** The processes that respond, as soon as there are this many. */
  async workers(count: number): Promise<number[]> {
    const pids = new Set<number>()
    while (pids.size < count) {
      const response = await fetch(`${this.url}/pid`, { headers: { connection: 'close' } }).catch(
        () => undefined,
      )
      if (response?.ok) pids.add((JSON.parse(await response.text()) as { pid: number }).pid)
      await delay(10)
    }
    return [...pids]
  }

  /** Ends it, if it is still running, and deletes its folder. */
  async remove(): Promise<void> {
    this.kill('SIGKILL')
    await this.ended
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** The folder of an application that is deployed without its sources. */
function builtApplication(main: string): string {
  const folder = temporaryFolder()
  const files = {
    'package.json': JSON.stringify({ type: 'module', dependencies: { 'resource-kit': '*' } }),
    'dist/src/main.js': `await import(${JSON.stringify(main)})`,
    // For `kit work`: the module that exports the application.
    'dist/src/app.js': `export * from ${JSON.stringify(main.replace('-main.js', '-app.js'))}`,
  }
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(folder, file, '..'), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  return folder
}
