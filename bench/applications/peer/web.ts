import 'reflect-metadata'
import { join } from 'node:path'
import { Router } from '@koa/router'
import Koa, { type Context } from 'koa'
import { koaBody } from 'koa-body'
import koaHelmet from 'koa-helmet'
import session from 'koa-session'
import pug from 'pug'
import { found, idOf, Invalid, json, messagesOf, paginate, problems } from './answers.js'
import { guard, tokenOf } from './csrf.js'
import { dataSource, write } from './database.js'
import { log, logger } from './log.js'
import { assign, Post, stamp } from './post.js'

/** The posts as pages, by hand: as the API, and koa-session, koa-helmet, tokens, flash messages and pug. */
const app = new Koa()
const router = new Router()
const templates = join(import.meta.dirname, '../../../../bench/applications/peer/templates')
const index = pug.compileFile(join(templates, 'index.pug'))

router.get('/posts', async (ctx) => {
  const { posts, page, pages, links } = await paginate(ctx)
  if (ctx.accepts('html', 'json') === 'json') return json(ctx, posts)
  ctx.vary('Accept')
  html(ctx, index({ posts, page, pages, links, flash: takeFlash(ctx), token: tokenOf(ctx) }))
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
  const path = `/posts/${post.id}`
  ctx.vary('Accept')
  sessionOf(ctx)['flash'] = [{ type: 'success', message: 'The post was created.' }]
  ctx.set('Cache-Control', 'private, no-cache')
  ctx.status = 303
  ctx.redirect(path)
})

function html(ctx: Context, page: string): void {
  ctx.vary('Cookie')
  ctx.set('Content-Language', 'en-US')
  ctx.set('Cache-Control', 'private, no-cache')
  ctx.type = 'html'
  ctx.body = page
}

function takeFlash(ctx: Context): unknown {
  const { flash } = sessionOf(ctx)
  if (flash) delete sessionOf(ctx)['flash']
  return flash ?? []
}

function sessionOf(ctx: Context): Record<string, unknown> {
  return ctx['session']
}

app.proxy = true
app.keys = [process.env['SESSION_SECRET'] ?? '']
app.use(
  koaHelmet({
    referrerPolicy: { policy: 'strict-origin-when-cross-origin' },
    strictTransportSecurity: false,
    contentSecurityPolicy: { directives: { 'font-src': ["'self'"], 'style-src': ["'self'"] } },
  }),
)
app.use(log)
app.use(problems)
app.use(async (ctx, next) => {
  if (!ctx.secure) return ctx.redirect(`https://${ctx.host}${ctx.url}`)
  ctx.set('Strict-Transport-Security', 'max-age=31536000; includeSubDomains')
  ctx.cookies.secure = true
  await next()
})
app.use(
  session({ key: '_blog_session', sameSite: 'lax', secure: true, renew: true, maxAge: 1_209_600_000 }, app),
)
app.use(koaBody({ jsonLimit: '1mb' }))
app.use(guard)
app.use(router.routes())

await dataSource.initialize()
app.listen(Number(process.env['PORT']), '127.0.0.1')
logger.info('listening')
