/** The routes of the application under attack that the generator does not write: uploads, streams, conflicts, queries. */
import { readdirSync } from 'node:fs'
import { memoryUsage } from 'node:process'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { App, Context, Model, UploadedFile } from '../../../src/index.js'

type Post = Model & { title: string; rank: number }

/** Declares them on an application with a model named `Post`. */
export function declareHostileRoutes(app: App): void {
  app.get('/vitals', vitals)
  app.get('/meet/{count}', meet)
  app.post('/uploads', upload)
  app.get('/query', (ctx) => void (ctx.body = { parameters: Object.keys(ctx.query).length }))
  app.get('/chunks', (ctx) => void (ctx.body = Readable.from(chunks())))
  app.get('/large', (ctx) => void (ctx.body = 'x'.repeat(4 * 1024 * 1024)))
  app.get('/rows', rows)
  app.put('/conflicts', conflict)
  app.post('/conflicts', conflict)
  app.put('/basket', (ctx) => {
    ctx.session['basket'] = String(Object(ctx.request.body).title).slice(0, 100)
    ctx.status = 204
  })
}

/** The process in bytes, after garbage collection, and its open files. */
function vitals(ctx: Context): void {
  for (let round = 0; round < 3; round++) globalThis.gc?.()
  const { rss, heapUsed, external } = memoryUsage()
  ctx.body = { rss, heap: heapUsed + external, files: readdirSync('/proc/self/fd').length }
}

let meeting: (() => void)[] = []

/** Keeps a connection of the database until this many requests have one: it succeeds only if none is lost. */
async function meet(ctx: Context): Promise<void> {
  await ctx.tx.query('SELECT 1')
  const all = new Promise<void>((arrive) => meeting.push(arrive))
  if (meeting.length >= Number(ctx.params['count'])) {
    for (const arrive of meeting) arrive()
    meeting = []
  }
  await Promise.race([all, delay(20_000, undefined, { ref: false })])
  ctx.status = 204
}

/** Returns the sizes of the files. It also needs the database. */
async function upload(ctx: Context): Promise<void> {
  const files = Object.values(ctx.request.files ?? {}).flat() as UploadedFile[]
  await ctx.tx.query('SELECT 1')
  ctx.status = 201
  ctx.body = { sizes: files.map(({ size }) => size) }
}

/** A megabyte in pieces that arrive later. */
async function* chunks(): AsyncGenerator<string> {
  for (let number = 0; number < 64; number++) {
    if (number % 8 === 0) await delay(1)
    yield 'chunk '.repeat(2730)
  }
}

/** All posts, as the database sends them. */
async function rows(ctx: Context): Promise<void> {
  const rows = await ctx.tx.createQueryBuilder<Post>('Post', 'post').stream()
  ctx.body = rows.map((row: unknown) => `${JSON.stringify(row)}\n`)
}

/** Writes two posts in either order: two such requests can wait for each other. */
async function conflict(ctx: Context): Promise<void> {
  const order = Math.random() < 0.5 ? 'ASC' : 'DESC'
  const posts = await ctx.tx.find<Post>('Post', { order: { id: order }, take: 2 })
  for (const post of posts) {
    await ctx.tx.update<Post>('Post', { id: post.id }, { rank: Math.floor(Math.random() * 1000) })
    await delay(1)
  }
  ctx.status = 204
}
