import 'reflect-metadata'
import { once } from 'node:events'
import { App, BaseResource, Resource, transaction, translations, type Context } from '../../../src/index.js'
import { mailer, sendMail } from '../../../src/mail/index.js'
import { telemetry } from '../../../src/telemetry/index.js'
import { captureLog } from '../../../src/testing/index.js'
import { failingStatement } from '../failing-statement.js'
import { blogDatabase, newPost, Post } from './blog-database.js'

/** An error of MariaDB, which detects conflicts by its locks only. */
const DEADLOCK = "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213"

@Resource('/exported', { model: Post, csv: ['title'] })
class ExportedResource extends BaseResource {
  override async list(ctx: Context) {
    const { records } = await ctx.paginate(Post)
    return ctx.respond({ data: records })
  }
}

/**
 * Serves an application with telemetry(), and sends requests with a secret to it: in the query, path, body, cookie, header,
 * session, in SQL that is written by hand, and in an error of the database. Import it after the SDK has started.
 *
 * @param url of a database with the tables of the blog
 * @param templates a folder with templates that show the secret
 * @returns the lines of the log
 */
export async function sendTracedRequests(url: string, secret: string, templates: string): Promise<unknown[]> {
  process.env['BASE_URL'] = 'https://blog.example'
  const database = blogDatabase(url)
  const log = captureLog()
  const app = new App({
    env: 'production',
    templates,
    secret: 'of-the-specs-0123456789-0123456789',
    logger: log.logger,
  })
  const isPostgres = url.startsWith('postgres')
  /** Two requests have read the same post before one of them writes it. */
  let readers = 0
  let meet = (): void => {}
  const met = new Promise<void>((resolve) => (meet = resolve))
  app.extend(telemetry())
  // No mail server listens there.
  app.extend(mailer({ from: 'blog@blog.example', url: 'smtp://127.0.0.1:1' }))
  app.use(
    transaction(database, {
      checksMigrations: false,
      ...(isPostgres && { isolation: 'SERIALIZABLE' as const }),
    }),
  )
  app.use(translations(templates))
  app.get('/posts', async function listPosts(ctx: Context) {
    ctx.log.info('listing')
    ctx.body = await ctx.findAll(Post)
  })
  app.post('/posts', async function createPost(ctx: Context) {
    const errors = await ctx.save(newPost(''))
    if (errors) ctx.respond(errors, { data: {} })
  })
  app.resource(ExportedResource)
  app.get('/conflicts', async function countPosts(ctx: Context) {
    const { id, title } = await ctx.tx.findOneOrFail(Post, { where: {} })
    const isSecond = (readers += 1) === 2
    if (isSecond) meet()
    await met
    if (isSecond && url.startsWith('mysql')) await ctx.tx.query(DEADLOCK)
    else await ctx.tx.update(Post, { id }, { title: `${title}.` })
    ctx.body = {}
  })
  app.get('/sessions/{token}', async (ctx: Context) => {
    ctx.body = await ctx.tx.query(`SELECT title FROM posts WHERE title = '${secret}'`)
  })
  app.get('/broken', (ctx: Context) => ctx.tx.query(failingStatement(secret)))
  app.get('/pages/{token}', async (ctx: Context) => {
    ctx.session['token'] = secret
    sendMail(ctx, { to: `${secret}@blog.example`, name: 'welcome', locals: { secret } })
    ctx.body = ctx.render('page', { secret })
  })
  const leaving = new AbortController()
  app.get('/closed', async (ctx: Context) => {
    ctx.status = 201
    const closed = once(ctx.res, 'close')
    leaving.abort()
    await closed
    ctx.log.info({ chosen: ctx.status }, 'closed')
  })
  const address = await app.listen(0, '127.0.0.1')
  const headers = {
    Cookie: `name=${secret}`,
    Authorization: `Bearer ${secret}`,
    'Content-Type': 'application/json',
  }
  const body = JSON.stringify({ title: secret })
  await fetch(`${address}/posts?token=${secret}`, { headers })
  await fetch(`${address}/posts`, { method: 'POST', headers, body })
  await database.manager.save(newPost('First'))
  await Promise.all([fetch(`${address}/conflicts`), fetch(`${address}/conflicts`)])
  await fetch(`${address}/sessions/${secret}`, { headers })
  await fetch(`${address}/broken`, { headers })
  await fetch(`${address}/pages/${secret}`, { headers })
  await fetch(`${address}/nothing`, { headers })
  await fetch(`${address}/exported.csv`, { headers }).then((response) => response.text())
  await fetch(`${address}/closed`, { signal: leaving.signal }).catch(() => undefined)
  await fetch(`${address}/sessions/${secret}`, { method: 'DELETE', headers })
  // Its end waits for the mail and the connections.
  await app.close()
  return log.lines
}
