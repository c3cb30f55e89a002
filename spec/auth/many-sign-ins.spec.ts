import { expect } from 'chai'
import { pino } from 'pino'
import { verifyPassword } from '../../src/auth/index.js'
import { App, Database, transaction } from '../../src/index.js'
import { newDatabase } from '../support/engine.js'
import { Gate } from '../support/gate.js'
import { Order, config } from '../support/orders.js'
import { cheapHash } from '../support/passwords.js'
import { Site } from '../support/site.js'

describe('200 sign-ins at once', () => {
  it('leave other requests their writes, and those beyond the queue return 503', async () => {
    const database = await new Database(config(await newDatabase()), 'test').open()
    await database.migrate()
    const stored = cheapHash('secret')
    const [all, gate] = [new Gate(), new Gate()]
    let waiting = 0
    const app = new App({ logger: pino({ level: 'silent' }) })
    app.use(transaction(database))
    app.post('/session', async (ctx) => {
      await database.read((tx) => tx.count(Order))
      waiting += 1
      if (waiting === 200) void all.wait()
      await gate.wait()
      const isRight = await verifyPassword('secret', stored)
      await ctx.save(Object.assign(new Order(), { title: 'sign-in' }))
      ctx.body = { isRight }
    })
    app.post('/orders', async (ctx) => {
      await ctx.save(Object.assign(new Order(), { title: 'order' }))
      ctx.body = 'saved'
    })
    const site = await Site.open(app)
    const signIns = Array.from({ length: 200 }, () => site.post('/session'))
    await all.reached
    const orders = await Promise.all(Array.from({ length: 20 }, () => site.post('/orders')))
    // Two passwords are checked at a time, and 100 wait.
    gate.pass()
    const results = await Promise.all(signIns)
    await site.close()

    expect(orders.every(({ status }) => status === 200)).to.equal(true)
    const refused = results.filter(({ status }) => status === 503)
    expect(results.filter(({ status }) => status === 200)).to.have.length(102)
    expect(refused.map(({ headers }) => headers.get('Retry-After'))).to.deep.equal(Array(98).fill('5'))
  })
})
