import 'reflect-metadata'
import { join } from 'node:path'
import { Router } from '@koa/router'
import { validate } from 'class-validator'
import Koa from 'koa'
import { koaBody } from 'koa-body'
import pug from 'pug'
import { DataSource } from 'typeorm'
import { assign, Post, stamp } from '../peer/post.js'

/**
 * Koa, @koa/router and TypeORM, and nothing else: no log, no security headers, no problem documents, no transaction of the
 * request.
 */
const url = process.env['DATABASE_URL'] ?? ''
const dataSource = new DataSource(
  url.startsWith('postgres')
    ? { type: 'postgres', url, poolSize: 10, entities: [Post] }
    : {
        type: 'better-sqlite3',
        database: url.replace(/^sqlite:/, ''),
        entities: [Post],
        enableWAL: true,
        prepareDatabase: (database) => {
          database.pragma('synchronous = NORMAL')
          database.pragma('foreign_keys = ON')
        },
      },
)
const posts = dataSource.getRepository(Post)
const index = pug.compileFile(
  join(import.meta.dirname, '../../../../bench/applications/peer/templates/index.pug'),
)
const app = new Koa()
const router = new Router()

router.get('/posts', async (ctx) => {
  const page = Number(ctx.query['page'] ?? 1) || 1
  const [found, total] = await posts.findAndCount({ order: { id: 'DESC' }, skip: (page - 1) * 20, take: 20 })
  ctx.set('X-Total-Count', String(total))
  if (ctx.accepts('json', 'html') === 'json') ctx.body = found
  else {
    const links = (to: number): string => `?page=${to}`
    ctx.body = index({ posts: found, page, pages: Math.ceil(total / 20), links, token: '', flash: [] })
  }
})

router.get('/posts/:id', async (ctx) => {
  ctx.body = await find(ctx)
})

router.post('/posts', async (ctx) => {
  const post = assign(new Post(), ctx.request.body)
  if (await isInvalid(ctx, post)) return
  stamp(post)
  ctx.status = 201
  ctx.body = await posts.save(post)
})

router.put('/posts/:id', async (ctx) => {
  const post = assign(await find(ctx), ctx.request.body)
  if (await isInvalid(ctx, post)) return
  post.updated_at = new Date()
  ctx.body = await posts.save(post)
})

router.delete('/posts/:id', async (ctx) => {
  const post = await find(ctx)
  const { id } = post
  await posts.remove(post)
  ctx.body = { ...post, id }
})

async function find(ctx: Koa.ParameterizedContext): Promise<Post> {
  const post = await posts.findOneBy({ id: ctx['params'].id })
  return post ?? ctx.throw(404)
}

async function isInvalid(ctx: Koa.ParameterizedContext, post: Post): Promise<boolean> {
  const errors = await validate(post)
  if (errors.length === 0) return false
  ctx.status = 422
  ctx.body = { errors: errors.map(({ property, constraints }) => ({ property, constraints })) }
  return true
}

app.use(koaBody())
app.use(router.routes())
await dataSource.initialize()
app.listen(Number(process.env['PORT']), '127.0.0.1')
