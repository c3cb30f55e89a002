import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { ApplicationEnded } from '../errors.js'

/** What is kept of what the application says before it ends. */
const remembered = 20_000

/** The application in a process of its own, on a port of its own, which it tells us when it listens. */
export class ChildServer {
  private child: ChildProcess | undefined

  /** @param onEnd what happens when the application ends by itself after it has listened */
  constructor(
    private readonly root: string,
    private readonly onEnd: (error: Error) => unknown,
  ) {}

  /**
   * Starts the application, in the place of the one that runs.
   *
   * @returns where it listens
   * @throws ApplicationEnded when it ends before it listens, with its last words
   */
  async start(): Promise<string> {
    await this.stop()
    const child = fork(join(import.meta.dirname, 'main.js'), ['start'], {
      cwd: this.root,
      env: {
        ...process.env,
        GO_ENV: process.env['GO_ENV'] || process.env['NODE_ENV'] || 'development',
        KIT_DEV: '1',
        PORT: '0',
        HOST: '127.0.0.1',
      },
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    })
    this.child = child
    let words = ''
    child.stderr?.on('data', (chunk: Buffer) => {
      process.stderr.write(chunk)
      words = (words + chunk.toString()).slice(-remembered)
    })
    return new Promise((listening, fail) => {
      let isListening = false
      child.on('message', (message: { address?: string }) => {
        if (message.address === undefined) return
        isListening = true
        listening(message.address)
      })
      child.once('close', (status) => {
        const error = new ApplicationEnded(status, words)
        if (isListening && this.child === child) void this.onEnd(error)
        fail(error)
      })
    })
  }

  /** Ends the application, if it runs; what it is doing has a second to finish. */
  async stop(): Promise<void> {
    const { child } = this
    this.child = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'close')
    child.kill('SIGTERM')
    const patience = setTimeout(() => child.kill('SIGKILL'), 1000)
    await ended
    clearTimeout(patience)
  }
}
