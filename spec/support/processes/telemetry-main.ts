// Serves an application with telemetry(), sends requests with secrets to it, and prints the spans and the log as JSON. The
// arguments are the url of a database with the tables of the blog, a secret, and a folder of templates.
import { register } from 'node:module'
import { registerInstrumentations } from '@opentelemetry/instrumentation'
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'

// Instrumentations change modules while they load, so the application is loaded after this.
register('@opentelemetry/instrumentation/hook.mjs', import.meta.url)
const exporter = new InMemorySpanExporter()
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register()
registerInstrumentations({ instrumentations: [new HttpInstrumentation()] })

await import('reflect-metadata')
const { App, transaction, translations } = await import('../../../src/index.js')
const { mailer, sendMail } = await import('../../../src/mail/index.js')
const { telemetry } = await import('../../../src/telemetry/index.js')
const { captureLog } = await import('../../../src/testing/index.js')
const { failingStatement } = await import('../failing-statement.js')
const { blogDatabase, newPost, Post } = await import('../applications/blog-database.js')
type Context = import('../../../src/index.js').Context

/** An error of MariaDB, which detects conflicts by its locks only. */
const DEADLOCK = "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213"

const [url = '', secret = '', templates = ''] = process.argv.slice(2)
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
app.use(telemetry())
// No mail server listens there.
app.use(mailer({ from: 'blog@blog.example', url: 'smtp://127.0.0.1:1' }))
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
await fetch(`${address}/sessions/${secret}`, { method: 'DELETE', headers })
// Its end waits for the mail and the connections.
await app.close()
const spans = exporter.getFinishedSpans().map((span) => ({
  name: span.name,
  attributes: span.attributes,
  events: span.events.map(({ name, attributes }) => ({ name, attributes })),
  status: span.status.code,
  parent: span.parentSpanContext?.spanId,
  id: span.spanContext().spanId,
  trace: span.spanContext().traceId,
}))
console.log(JSON.stringify({ spans, lines: log.lines }))
