import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { currentEnvironment } from '../../common/environment.js'
import { ApplicationExited } from '../../command-errors.js'

/** The maximum number of characters of an application's output that are kept, from its end. */
const maxOutput = 20_000

/** Milliseconds until a process that should end is killed: a second for its work, another for its jobs. */
const maxShutdown = 2000

/** A process that has loaded the framework, and perhaps the application. */
interface Started {
  child: ChildProcess
  /** The end of its standard error. */
  output: string
}

/**
 * The application in its own process, on its own port, which it reports when it listens. The process of the
 * next start already exists, and has loaded the framework.
 */
export class ChildServer {
  private current: Started | undefined
  private next: Started | undefined

  /**
   * @param onEnd called when the application exits by itself after it has listened
   * @param onRoutes called with the types of the application's routes, when it has started
   */
  constructor(
    private readonly root: string,
    private readonly onEnd: (error: Error) => unknown,
    private readonly onRoutes: (types: string) => unknown,
  ) {}

  /**
   * Starts the application, which replaces the running one.
   *
   * @returns its address
   * @throws ApplicationExited when it exits before it listens, with its last output
   */
  async start(): Promise<string> {
    const before = this.current
    // An expected end is not reported to `onEnd`.
    this.current = undefined
    await end(before)
    const started = this.next && isAlive(this.next) ? this.next : this.fork()
    this.next = undefined
    this.current = started
    const address = await this.launch(started)
    this.next = this.fork()
    return address
  }

  /** Stops the application, if it is running. Pending requests and jobs have a second to finish. */
  async stop(): Promise<void> {
    const both = [this.current, this.next]
    this.current = undefined
    this.next = undefined
    await Promise.all(both.map(end))
  }

  /** Lets a process start the application. Resolves when the application listens. */
  private launch(started: Started): Promise<string> {
    const { child } = started
    return new Promise((resolve, reject) => {
      let isListening = false
      child.on('message', ({ address, routes }: { address?: string; routes?: string }) => {
        if (routes !== undefined && this.current === started) this.onRoutes(routes)
        if (address === undefined) return
        isListening = true
        resolve(address)
      })
      child.once('exit', async (status) => {
        // For the rest of its output. Processes that it has started may keep the pipe open.
        await Promise.race([once(child, 'close'), delay(300)])
        const error = new ApplicationExited(status, started.output)
        if (isListening && this.current === started) void this.onEnd(error)
        reject(error)
      })
      child.send('start')
    })
  }

  private fork(): Started {
    const child = fork(join(import.meta.dirname, '../main.js'), ['start'], {
      cwd: this.root,
      env: {
        ...process.env,
        // Without it, `kit start` would run in production.
        GO_ENV: currentEnvironment(),
        // Marks a process of `kit dev`, and names the host that visitors use, because `HOST` is that of the
        // forwarding.
        KIT_DEV: process.env['HOST'] || '127.0.0.1',
        PORT: '0',
        HOST: '127.0.0.1',
      },
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    })
    const started = { child, output: '' }
    child.stderr?.on('data', (chunk: Buffer) => {
      process.stderr.write(chunk)
      started.output = (started.output + chunk.toString()).slice(-maxOutput)
    })
    return started
  }
}

function isAlive({ child }: Started): boolean {
  return child.exitCode === null && child.signalCode === null
}

async function end(started: Started | undefined): Promise<void> {
  if (!started || !isAlive(started)) return
  const { child } = started
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const killTimer = setTimeout(() => child.kill('SIGKILL'), maxShutdown)
  await ended
  clearTimeout(killTimer)
}
