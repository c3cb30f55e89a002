import 'reflect-metadata'
import { createHash, randomBytes } from 'node:crypto'
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Transform, Writable, type Readable } from 'node:stream'
import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { Column, Entity, Table } from 'typeorm'
import { HasFile, storedFiles, storedFilesTable, type StoredFile } from '../../src/files/index.js'
import { FolderStore } from '../../src/files/stores/folder.js'
import {
  App,
  BaseResource,
  column,
  Database,
  Model,
  primaryKey,
  Resource,
  Route,
  timestamps,
  transaction,
  type Context,
} from '../../src/index.js'
import { machine } from '../shared/machine.js'
import { median } from '../shared/statistics.js'

/**
 * npm run bench:files: uploads beside busboy and fs with the same hash, and downloads beside send. A round sends eight files of 10 MiB at
 * once. The client runs in the same process, and costs both sides the same.
 *
 *     npm run bench:files -- --rounds 5 --mebibytes 10
 */
const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '9' }, mebibytes: { type: 'string', default: '10' } },
})
const rounds = Number(options.rounds)
const content = randomBytes(Number(options.mebibytes) * 2 ** 20)
const atOnce = 8
const folder = mkdtempSync(join(tmpdir(), 'bench-files-'))

/** Packages of the development without types. */
const require = createRequire(import.meta.url)
const busboy: (options: object) => Writable = require('busboy')
const send: (request: unknown, path: string, options: object) => { pipe(to: unknown): void } = require('send')

@Entity('clips')
class Clip extends Model {
  @Column('varchar', { nullable: true }) name?: string | null
  @HasFile({ maxSize: '1 GiB' }) file!: StoredFile | null
}

@Resource('/clips', { model: Clip, fields: ['name', 'file'] })
class ClipsResource extends BaseResource {
  override async create(ctx: Context) {
    const clip = ctx.bind(new Clip())
    const errors = await ctx.save(clip)
    return errors ? ctx.respond(errors) : ctx.respond(201, { data: clip })
  }

  @Route('GET', '/{clip_id}/files/{stored_file_id}', { responses: { 200: '*/*' } })
  async file(ctx: Context) {
    return ctx.sendFile(await ctx.find(Clip, ctx.params['clip_id']))
  }
}

/** Our application, which responds to an upload with the path of the file. */
async function openOwn(): Promise<{ app: App; address: string }> {
  const database = new Database(
    { test: { url: `sqlite:${join(folder, 'clips.sqlite')}` }, models: [Clip] },
    'test',
  )
  await database.open()
  const runner = database.createQueryRunner()
  await runner.createTable(storedFilesTable(runner))
  const isNullable = true
  const columns = [
    primaryKey(runner),
    column(runner, 'name', 'string', { isNullable }),
    column(runner, 'file_id', 'uuid', { isNullable }),
    ...timestamps(runner),
  ]
  await runner.createTable(new Table({ name: 'clips', columns }))
  await runner.release()
  const app = new App({ logger: pino({ level: 'silent' }), uploadsLimit: 2 ** 33 })
  app.use(transaction(database))
  app.extend(storedFiles(database, { store: new FolderStore(join(folder, 'storage')) }))
  app.resource(ClipsResource)
  return { app, address: await app.listen(0, '127.0.0.1') }
}

/** The same by hand: a file is written, hashed and flushed while it arrives. */
async function openPeer(): Promise<{ server: Server; address: string }> {
  let count = 0
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      send(request, request.url ?? '', { root: folder }).pipe(response)
      return
    }
    const form = busboy({ headers: request.headers })
    form.on('file', (_name: string, file: Readable) => {
      const name = `${count++}`
      const hash = createHash('sha256')
      const digest = new Transform({
        transform(piece: Buffer, _encoding, done) {
          hash.update(piece)
          done(null, piece)
        },
      })
      void pipeline(file, digest, createWriteStream(join(folder, name), { flush: true })).then(() =>
        response.end(JSON.stringify({ file: { url: `/${name}`, sha256: hash.digest('hex') } })),
      )
    })
    request.pipe(form)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

async function upload(address: string): Promise<string> {
  const form = new FormData()
  form.append('file', new Blob([content]), 'clip.bin')
  const headers = { accept: 'application/json' }
  const response = await fetch(`${address}/clips`, { method: 'POST', body: form, headers })
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.status} ${text}`)
  return (JSON.parse(text) as { file: { url: string } }).file.url
}

async function download(url: string): Promise<void> {
  const { body, status } = await fetch(url)
  let size = 0
  if (body) for await (const piece of body) size += (piece as Uint8Array).length
  if (status !== 200 || size !== content.length) throw new Error(`${status} with ${size} bytes`)
}

const times = new Map<string, { cpu: number[]; wall: number[] }>()

/** Does some work eight times at once, and notes the milliseconds of the CPU and of the clock. */
async function measure<T>(name: string, work: () => Promise<T>): Promise<T[]> {
  const [cpu, start] = [process.cpuUsage(), performance.now()]
  const results = await Promise.all(Array.from({ length: atOnce }, work))
  const { user, system } = process.cpuUsage(cpu)
  const all = times.get(name) ?? { cpu: [], wall: [] }
  all.cpu.push((user + system) / 1000)
  all.wall.push(performance.now() - start)
  times.set(name, all)
  return results
}

const own = await openOwn()
const peer = await openPeer()
for (let round = 0; round <= rounds; round += 1) {
  // The first round only compiles the code.
  if (round === 1) times.clear()
  for (const [name, address] of [
    ['stored files', own.address],
    ['by hand', peer.address],
  ] as const) {
    const [path = ''] = await measure(`upload, ${name}`, () => upload(address))
    await measure(`download, ${name}`, () => download(address + path))
  }
}
console.log(JSON.stringify(machine()))
for (const [name, { cpu, wall }] of times)
  console.log(`${name}: ${Math.round(median(cpu))} ms of CPU, ${Math.round(median(wall))} ms`)
await own.app.close()
peer.server.close()
peer.server.closeAllConnections()
rmSync(folder, { recursive: true, force: true })
