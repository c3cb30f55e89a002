import 'reflect-metadata'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, createServer, request, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import Koa from 'koa'
import pino from 'pino'
import { DataSource, Entity, PrimaryColumn, type EntityManager } from 'typeorm'
import { App, Database, transaction } from '../../src/index.js'

/**
 * npm run bench:lost-writes: 200 requests at once, each in a transaction that inserts a row and waits 2 ms. One of them
 * fails. How many rows are missing although their request returned 201? Koa with TypeORM alone, then this framework, on SQLite.
 */
const requests = 200
const failing = 100

@Entity('notes')
class Note {
  @PrimaryColumn('integer')
  number!: number
}

/** A server with its database, and how to end both. */
interface Side {
  listener: RequestListener
  notes: DataSource
  close(): Promise<void>
}

const folder = mkdtempSync(join(tmpdir(), 'kit-lost-writes-'))
const rows = []
for (const [name, open] of Object.entries({
  'Koa, dataSource.transaction()': koa,
  'resource-kit, transaction(database)': resourceKit,
})) {
  const side = await open()
  rows.push({ Server: name, ...(await measure(side)) })
  await side.close()
}
console.table(rows)
rmSync(folder, { recursive: true })

async function koa(): Promise<Side> {
  const notes = new DataSource({
    type: 'better-sqlite3',
    database: join(folder, 'koa.sqlite'),
    enableWAL: true,
    entities: [Note],
    synchronize: true,
  })
  await notes.initialize()
  const app = new Koa()
  app.silent = true
  app.use(async (ctx) => {
    const number = Number(ctx.query['number'])
    await notes.transaction((tx) => write(tx, number))
    ctx.status = 201
  })
  return { listener: app.callback(), notes, close: () => notes.destroy() }
}

async function resourceKit(): Promise<Side> {
  const url = `sqlite:${join(folder, 'kit.sqlite')}`
  const notes = new Database({ models: [Note], test: { url } }, 'test')
  await notes.open()
  await notes.synchronize()
  const app = new App({ api: true, env: 'test', logger: pino({ level: 'silent' }) })
  app.use(transaction(notes))
  app.post('/', async (ctx) => {
    await write(ctx.tx, Number(ctx.query['number']))
    ctx.status = 201
  })
  await app.start()
  return { listener: app.callback(), notes, close: () => app.close() }
}

async function write(tx: EntityManager, number: number): Promise<void> {
  await tx.insert(Note, { number })
  await wait(2)
  if (number === failing) throw new Error('this request fails')
}

async function measure({ listener, notes }: Side) {
  let isReady = (): void => {}
  const open = new Promise<void>((resolve) => (isReady = resolve))
  let waiting = 0
  // The first request of each connection waits for those of all others, so that all 200 connections are open.
  const server = createServer((req, res) => {
    if (req.method === 'POST') return void listener(req, res)
    if (++waiting === requests) isReady()
    void open.then(() => res.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const agent = new Agent({ keepAlive: true, maxSockets: requests })
  const send = (method: string, number: number): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = request(
        { port, host: '127.0.0.1', method, path: `/?number=${number}`, agent },
        (response) => response.resume().once('end', () => resolve(response.statusCode ?? 0)),
      )
      sent.once('error', reject).end()
    })
  const numbers = Array.from({ length: requests }, (_, number) => number)
  await Promise.all(numbers.map((number) => send('GET', number)))
  const statuses = await Promise.all(numbers.map((number) => send('POST', number)))
  agent.destroy()
  await new Promise((resolve) => server.close(resolve))
  const kept = new Set((await notes.manager.find(Note)).map(({ number }) => number))
  const created = numbers.filter((number) => statuses[number] === 201)
  return {
    'Returned 201': created.length,
    'Rows kept': kept.size,
    'Lost after a 201': created.filter((number) => !kept.has(number)).length,
  }
}
