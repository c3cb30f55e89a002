import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Shop } from '../applications/hostile-shop.js'
import { engine } from '../engine.js'
import { countConnections } from '../open-transactions.js'
import type { Line } from '../processes/served.js'
import type { Victim } from './attacks.js'
import type { Visitor, Vitals } from './visitor.js'

/** The connections of the application's pool. */
const poolSize = engine === 'sqlite' ? 8 : 10

/** Multipart forms that an application reads at the same time. */
const uploads = 50

/** By how much each may grow between the first and the last quarter of an assault. */
const mayGrow: Vitals = { heap: 24 * 2 ** 20, rss: 128 * 2 ** 20, files: 8 }

/** Lists in sentences the things that an application lacks after an assault. */
export async function findDamage(shop: Shop, visitor: Visitor, victim: Victim): Promise<string[]> {
  const end = await Promise.race([shop.served.ended, delay(20)])
  if (end) return [`The process has ended: ${JSON.stringify(end)} ${shop.served.errors.slice(-3000)}`]
  const port = Number(new URL(shop.served.url).port)
  const checks: Record<string, () => Promise<string | undefined>> = {
    'GET /up': async () => statusFlaw(await visitor.get('/up'), 200),
    'The open transactions': async () => {
      const { connections, transactions } = await countConnections(shop.database, shop.databaseUrl)
      // GET /up has its own connection.
      if (connections > poolSize + 1) return `there are ${connections} connections`
      return transactions > 0 ? `there are ${transactions}` : undefined
    },
    'The connections of the pool': () => meet(visitor),
    [`${uploads} uploads at once`]: () => upload(port, victim),
    'The temporary files': async () => {
      const left = readdirSync(shop.temporary)
      return left.length > 0 ? `there are ${left.length}` : undefined
    },
    'A create and a show': () => visitor.createAndShow(victim),
    'A sign-in': async () => void (await visitor.signIn(victim.email)),
  }
  const flaws: string[] = []
  for (const [what, check] of Object.entries(checks)) {
    const flaw = await lasting(check)
    if (flaw) flaws.push(`${what}: ${flaw}.`)
  }
  return flaws
}

/** The flaw that is still there after some seconds; undefined as soon as there is none. */
async function lasting(check: () => Promise<string | undefined>): Promise<string | undefined> {
  const end = performance.now() + 60_000
  for (;;) {
    const flaw = await check().catch((error: unknown) => String(error))
    if (!flaw || performance.now() > end) return flaw
    await delay(100)
  }
}

function statusFlaw({ status }: { status: number }, expected: number): string | undefined {
  return status === expected ? undefined : `its status is ${status}`
}

/** Uses all connections of the pool at the same time. */
export async function meet(visitor: Visitor): Promise<string | undefined> {
  const all = Array.from({ length: poolSize }, () => visitor.get(`/meet/${poolSize}`))
  return (await Promise.all(all)).map((response) => statusFlaw(response, 204)).find((flaw) => flaw)
}

/** Begins uploads from as many addresses as there are slots, until a further one is rejected, and completes them. */
async function upload(port: number, victim: Victim): Promise<string | undefined> {
  const begun = await Promise.all(
    Array.from({ length: uploads }, (_, number) => Upload.begin(port, victim, number)),
  )
  try {
    let status = 0
    // An upload that overtakes a begun upload takes its slot.
    let overtaking = 0
    for (let number = uploads; status !== 503 && number < uploads + 100; number++) {
      const further = await Upload.begin(port, victim, number)
      status = await further.complete()
      if (status === 201) overtaking += 1
      await delay(20)
    }
    if (status !== 503) return `a further one returns ${status}`
    const statuses = await Promise.all(begun.map((one) => one.complete()))
    const rejected = statuses.filter((one) => one !== 201)
    return rejected.length > overtaking ? `${rejected.length} return ${rejected[0]}` : undefined
  } finally {
    for (const one of begun) one.end()
  }
}

/** An upload in two halves. */
class Upload {
  private received = ''

  private constructor(private readonly socket: Socket) {
    socket.on('error', () => {}).on('data', (data) => (this.received += data.toString('latin1')))
  }

  static async begin(port: number, victim: Victim, number: number): Promise<Upload> {
    const socket = connect(port, '127.0.0.1')
    const upload = new Upload(socket)
    await once(socket, 'connect')
    const head = [
      'POST /uploads HTTP/1.1',
      'Host: shop.example',
      'Connection: close',
      'X-Forwarded-Proto: https',
      `X-Forwarded-For: 192.0.2.${number}`,
      `Authorization: Bearer ${victim.bearer}`,
      'Content-Type: multipart/form-data; boundary=x',
      `Content-Length: ${first.length + second.length}`,
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n${first}`)
    return upload
  }

  /** The status of the response. */
  async complete(): Promise<number> {
    const closed = new Promise((close) => this.socket.once('close', close))
    if (this.socket.writable) this.socket.write(second)
    if (!this.socket.closed) await Promise.race([closed, delay(30_000, undefined, { ref: false })])
    this.end()
    return Number(/^HTTP\/1\.1 (\d+)/.exec(this.received)?.[1])
  }

  end(): void {
    this.socket.destroy()
  }
}

const first = `--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n${'x'.repeat(5000)}`
const second = `${'x'.repeat(5000)}\r\n--x--\r\n`

/** Lists in sentences the vitals that have grown between the first and the last quarter. */
export function findGrowth(quarters: readonly Vitals[]): string[] {
  const [before] = quarters
  const after = quarters.at(-1)
  if (!before || !after) return []
  return (Object.keys(mayGrow) as (keyof Vitals)[])
    .filter((name) => after[name] > before[name] + mayGrow[name])
    .map((name) => `${name} has grown from ${before[name]} to ${after[name]}.`)
}

/**
 * The errors of an application with a status of 5xx other than 503, in sentences, each once. The outcome of a POST whose
 * connection to the database is lost during the commit is unknown, and 500.
 */
export function findErrors(log: readonly Line[]): string[] {
  const errors = new Map<string, string[]>()
  const ofRequest = new Map(log.filter(({ err }) => err).map((line) => [line.request_id, line.err]))
  for (const { status = 0, msg, request_id } of log) {
    if (status < 500 || status === 503) continue
    const err = ofRequest.get(request_id)
    if (err?.type === 'OutcomeUnknown') continue
    const stack = err?.stack.split('\n').slice(0, 8).join('\n') ?? 'without an error in the log'
    errors.set(stack, [...(errors.get(stack) ?? []), msg])
  }
  return [...errors].map(([stack, [first, ...others]]) => `${first}, and ${others.length} others: ${stack}`)
}
