/** The `src/main.ts` of the application that `soak.ts` wears on: orders, sessions, and how the process is. */
import 'reflect-metadata'
import { readdirSync } from 'node:fs'
import { memoryUsage } from 'node:process'
import { App, Database, databaseSessions, transaction, type Context } from '../../src/index.js'
import { config, Order, OrderLine, OrdersResource } from '../../spec/support/applications/orders.js'

class SoakedOrders extends OrdersResource {
  override async destroy(ctx: Context) {
    const order = await ctx.find(Order, ctx.params['order_id'])
    await ctx.tx.delete(OrderLine, { order_id: order.id })
    await ctx.tx.remove(order)
    return ctx.respond({ json: {} })
  }
}

const database = new Database(config(''), 'test')
const app = new App({
  sessionStore: databaseSessions(database, { cleanUpEvery: 10_000 }),
  sessionMaxAge: 60_000,
})
app.get('/pid', (ctx) => void (ctx.body = { pid: process.pid }))
app.get('/vitals', (ctx) => {
  for (let round = 0; round < 3; round++) globalThis.gc?.()
  const { rss, heapUsed, external } = memoryUsage()
  ctx.body = { pid: process.pid, rss, heap: heapUsed + external, files: readdirSync('/proc/self/fd').length }
})
app.put('/basket', (ctx) => {
  Object.assign(ctx.session, ctx.request.body)
  ctx.status = 204
})
app.use(transaction(database))
app.resource('/orders', SoakedOrders)
await app.listen()
