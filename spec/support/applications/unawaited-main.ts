/** The `src/main.ts` of an application that awaits nothing. Its database is that of `DATABASE_URL`. */
import 'reflect-metadata'
import { App, Database, transaction, type Context } from '../../../src/index.js'

const database = new Database({ test: { url: process.env['DATABASE_URL'] ?? '' } }, 'test')
const app = new App({ api: true })
app.use(transaction(database))

/** Work that fails. */
const work: Record<string, (ctx: Context) => unknown> = {
  query: (ctx) => ctx.tx.query('SELECT nothing FROM nowhere'),
  builder: (ctx) => ctx.tx.createQueryBuilder().select('nothing').from('nowhere', 'n').getRawMany(),
  unrelated: () => Promise.reject(new Error('unrelated')),
  async function(ctx) {
    await ctx.tx.query('SELECT nothing FROM nowhere')
  },
}
app.post('/{what}', (ctx) => {
  void work[ctx.params['what'] ?? '']?.(ctx)
  ctx.status = 201
})
app.get('/', (ctx) => void (ctx.status = 204))
await app.listen()
