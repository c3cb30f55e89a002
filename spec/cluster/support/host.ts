import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { DatabaseSettings } from '../../../src/index.js'

/** How many responses had each status; 0 for a lost connection. */
export type Statuses = Map<number, number>

/** A process that serves the application. */
export class Host {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  /** @param release the number of a release of `releases.ts`, instead of the application of `application.ts` */
  static async start(
    settings: DatabaseSettings,
    release?: number,
    env: NodeJS.ProcessEnv = {},
  ): Promise<Host> {
    const child = start(settings, [], release, env)
    const [url]: unknown[] = await once(child, 'message', { signal: ending(child) })
    return new Host(child, String(url))
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null
  }

  async post(path: string, body: object = {}, headers: Record<string, string> = {}): Promise<Answer> {
    return send(this.url + path, 'POST', headers, body)
  }

  async put(path: string, body: object = {}, headers: Record<string, string> = {}): Promise<Answer> {
    return send(this.url + path, 'PUT', headers, body)
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return send(this.url + path, 'GET', headers)
  }

  async remove(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (!this.isRunning) return
    const ended = once(this.child, 'exit')
    this.child.kill(signal)
    await ended
  }
}

/** A response, or status 0 for none. */
export interface Answer {
  status: number
  headers: Headers
  json: { id?: string; title?: string; count?: number; name?: string | null; detail?: string }
}

export async function send(
  url: string,
  method: string,
  headers: Record<string, string>,
  body?: object,
): Promise<Answer> {
  try {
    const response = await fetch(url, {
      method,
      headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = /json/.test(response.headers.get('content-type') ?? '')
    return { status: response.status, headers: response.headers, json: isJson ? JSON.parse(text) : {} }
  } catch {
    return { status: 0, headers: new Headers(), json: {} }
  }
}

/** Runs the pending migrations in its own process. Returns their names. */
export async function migrateIn(
  settings: DatabaseSettings,
  { release, env }: { release?: number; env?: NodeJS.ProcessEnv } = {},
): Promise<string[]> {
  const child = start(settings, ['migrate'], release, env)
  const [names] = await once(child, 'message', { signal: ending(child) })
  return names as string[]
}

/** Counts a response. */
export function note(statuses: Statuses, { status }: { status: number }): void {
  statuses.set(status, (statuses.get(status) ?? 0) + 1)
}

/** Changes one record at the same time by requests with the tag of its first version. Returns the statuses but 503, sorted. */
export async function putWithOneTag(hosts: readonly Host[], times: number): Promise<number[]> {
  const created = await hosts[0]?.post('/pages', { title: 'first' })
  const answers = Array.from({ length: times }, async (_, index) => {
    const path = `/pages/${created?.json.id}`
    return hosts[index % hosts.length]?.put(path, { title: `${index}` }, { 'if-match': '"1"' })
  })
  const statuses = (await Promise.all(answers)).map((answer) => answer?.status ?? 0)
  return statuses.filter((status) => status !== 503).toSorted((a, b) => a - b)
}

/**
 * Sends a POST with each key to all hosts at the same time, and again while it fails.
 *
 * @returns the ids that the hosts have returned for each key
 */
export async function postWithKeys(
  hosts: readonly Host[],
  keys: readonly string[],
  statuses: Statuses,
): Promise<Map<string, (string | undefined)[]>> {
  const created = new Map<string, (string | undefined)[]>()
  await repeat({ times: keys.length, atOnce: 4 }, async (index) => {
    const key = keys[index] ?? ''
    const ids = hosts.map(async (host) => {
      for (;;) {
        const answer = await host.post('/posts', { title: key }, { 'idempotency-key': key })
        note(statuses, answer)
        if (answer.status > 0 && answer.status < 500) return answer.json.id
        await delay(10)
      }
    })
    created.set(key, [...new Set(await Promise.all(ids))])
  })
  return created
}

/** Calls work many times, some at a time, until it is done or `isOver`. */
export async function repeat(
  {
    times = Infinity,
    atOnce,
    isOver = () => false,
  }: { times?: number; atOnce: number; isOver?: () => boolean },
  work: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < times && !isOver()) await work(next++)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

function start(
  settings: DatabaseSettings,
  args: string[],
  release?: number,
  env: NodeJS.ProcessEnv = {},
): ChildProcess {
  const file = new URL(release ? './releases.js' : './main.js', import.meta.url)
  const all = [JSON.stringify(settings), ...(release ? [String(release)] : []), ...args]
  const child = fork(file, all, {
    execArgv: ['--enable-source-maps'],
    env: { ...process.env, SESSION_SECRET: 'a secret of thirty-two characters', ...env },
  })
  const end = (): unknown => child.kill('SIGKILL')
  process.once('exit', end)
  child.once('exit', () => process.off('exit', end))
  return child
}

/** A signal that a process has ended too early. */
function ending(child: ChildProcess): AbortSignal {
  const controller = new AbortController()
  child.once('exit', (code) =>
    controller.abort(new Error(`A process of the application ended with ${code}.`)),
  )
  return controller.signal
}
