import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { blogFolder } from '../applications/generated.js'
import type { Usage } from './probe.js'

const root = join(import.meta.dirname, '../../..')
const probe = join(import.meta.dirname, 'probe.js')

/** What is measured against what. */
export interface ServerKind {
  name: string
  /** The compiled file that it begins with, from the root of the checkout. */
  main: string
  /** The folder that it is started in, from the root of the checkout. */
  folder?: string
}

/** The applications of the benchmark. */
export const kinds = {
  api: { name: 'resource-kit, API', main: 'dist/bench/applications/kit/main.js' },
  peerApi: { name: 'bare peer, API', main: 'dist/bench/applications/peer/api.js' },
  web: {
    name: 'resource-kit, web',
    main: `${blogFolder}/dist/src/main.js`,
    folder: blogFolder,
  },
  peerWeb: { name: 'bare peer, web', main: 'dist/bench/applications/peer/web.js' },
  nest: { name: 'NestJS on Fastify', main: 'bench/applications/nest/dist/main.js' },
  lean: { name: 'Koa and TypeORM', main: 'dist/bench/applications/lean/main.js' },
  floor: { name: 'node:http', main: 'dist/bench/applications/floor.js' },
} satisfies Record<string, ServerKind>

/** How the applications are called among themselves. */
export type KindName = keyof typeof kinds

/** A server in a process of its own. */
export class ServerProcess {
  private constructor(
    readonly port: number,
    private readonly child: ChildProcess,
    /** Milliseconds from the start of the process to its first answer. */
    readonly startTime: number,
  ) {}

  /**
   * Starts a server, and waits for its first answer.
   *
   * @param url the database that it works with
   */
  static async start(
    kind: ServerKind,
    url: string,
    port: number,
    settings: Record<string, string> = {},
    execArgv: string[] = [],
  ): Promise<ServerProcess> {
    const started = performance.now()
    const child = fork(join(root, kind.main), [], {
      cwd: join(root, kind.folder ?? '.'),
      execArgv: ['--import', `file://${probe}`, ...execArgv],
      env: {
        ...process.env,
        GO_ENV: 'production',
        NODE_ENV: 'production',
        LOG_LEVEL: 'info',
        SESSION_SECRET: 'a secret of the benchmark that is no secret at all',
        DATABASE_URL: url,
        HOST: '127.0.0.1',
        PORT: String(port),
        ...settings,
      },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const server = await new Promise<ServerProcess>((ready, fail) => {
      child.once('exit', (code) => fail(new Error(`${kind.name} ended with ${code} before it answered`)))
      void firstAnswer(port).then(() => ready(new ServerProcess(port, child, performance.now() - started)))
    })
    process.once('exit', server.kill)
    return server
  }

  /** What the process has used until now. */
  async usage(): Promise<Usage> {
    const answer = once(this.child, 'message')
    this.child.send('usage')
    const [usage]: Usage[] = await answer
    if (!usage) throw new Error('the server tells nothing of itself')
    return usage
  }

  /** Ends the process. With SIGTERM it may write its profile first. */
  async stop(): Promise<void> {
    process.off('exit', this.kill)
    const ended = once(this.child, 'exit')
    this.child.kill('SIGTERM')
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 5000)
    await ended
    clearTimeout(timer)
  }

  private readonly kill = (): void => void this.child.kill('SIGKILL')
}

async function firstAnswer(port: number): Promise<void> {
  while (!(await isListening(port))) await delay(1)
  await new Promise<void>((answered, failed) => {
    const headers = { Accept: 'application/json', 'X-Forwarded-Proto': 'https' }
    request({ host: '127.0.0.1', port, path: '/posts', headers }, (res) => {
      res.resume().once('end', () => answered())
    })
      .once('error', failed)
      .end()
  })
}

function isListening(port: number): Promise<boolean> {
  return new Promise((answer) => {
    const socket = connect(port, '127.0.0.1')
    const settle = (isOpen: boolean): void => {
      socket.destroy()
      answer(isOpen)
    }
    socket.once('connect', () => settle(true)).once('error', () => settle(false))
  })
}
