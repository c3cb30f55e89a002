import 'reflect-metadata'
import { Router } from '@koa/router'
import Koa from 'koa'
import { koaBody } from 'koa-body'
import { And, LessThan, MoreThanOrEqual } from 'typeorm'
import { Failure, found, idOf, Invalid, json, messagesOf, paginate, problems } from './answers.js'
import { dataSource, write } from './database.js'
import { log, logger } from './log.js'
import { assign, Post, stamp } from './post.js'
import { securityHeaders } from './security-headers.js'

/** The posts as JSON, by hand: Koa, @koa/router, TypeORM and class-validator. */
const app = new Koa()
const router = new Router()

router.get('/posts', async (ctx) => {
  const { posts } = await paginate(ctx)
  json(ctx, posts)
})

/** `?title.prefix=Post+1&sort=-title`, of an index. The texts of a beginning are below that of the next letter. */
router.get('/filtered', async (ctx) => {
  const [prefix = '', sort = ''] = [ctx.query['title.prefix'], ctx.query['sort']].map((it) =>
    typeof it === 'string' ? it : '',
  )
  const end = prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)
  const direction = sort.startsWith('-') ? 'DESC' : 'ASC'
  const { posts } = await paginate(ctx, {
    where: { title: And(MoreThanOrEqual(prefix), LessThan(end)) },
    order: { title: direction, id: direction },
  })
  json(ctx, posts)
})

router.get('/posts/:post_id', async (ctx) => {
  json(ctx, found(await dataSource.manager.findOneBy(Post, { id: idOf(ctx) })))
})

router.post('/posts', async (ctx) => {
  const post = assign(new Post(), ctx.request.body)
  const errors = await messagesOf(post)
  if (errors) throw new Invalid(errors)
  stamp(post)
  await write((tx) => tx.insert(Post, post))
  ctx.status = 201
  ctx.set('Location', `/posts/${post.id}`)
  const { id, created_at, updated_at, title, description } = post
  json(ctx, { id, created_at, updated_at, title, description })
})

router.put('/posts/:post_id', async (ctx) => {
  const id = idOf(ctx)
  const post = await write(async (tx) => {
    const post = assign(found(await tx.findOneBy(Post, { id })), ctx.request.body)
    const errors = await messagesOf(post)
    if (errors) throw new Invalid(errors)
    post.updated_at = new Date()
    const { title, description, updated_at } = post
    await tx.update(Post, { id }, { title, description, updated_at })
    return post
  })
  json(ctx, post)
})

router.delete('/posts/:post_id', async (ctx) => {
  const id = idOf(ctx)
  const post = await write(async (tx) => {
    const post = found(await tx.findOneBy(Post, { id }))
    await tx.delete(Post, { id })
    return post
  })
  json(ctx, post)
})

app.use(securityHeaders)
app.use(log)
app.use(problems)
app.use(koaBody({ jsonLimit: '1mb' }))
app.use(async (ctx, next) => {
  if (!ctx.accepts('json')) throw new Failure(406, 'there is JSON alone')
  await next()
})
app.use(router.routes())

await dataSource.initialize()
app.listen(Number(process.env['PORT']), '127.0.0.1')
logger.info('listening')
