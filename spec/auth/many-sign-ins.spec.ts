import { expect } from 'chai'
import { pino } from 'pino'
import { hashPassword, verifyPassword } from '../../src/auth/index.js'
import { App, Database, transaction } from '../../src/index.js'
import { newDatabase } from '../support/engine.js'
import { Order, config } from '../support/orders.js'
import { Site } from '../support/site.js'

describe('200 sign-ins at once', () => {
  it('leave other requests their writes, and those beyond the queue return 503', async () => {
    const database = await new Database(config(await newDatabase()), 'test').open()
    await database.migrate()
    const stored = await hashPassword('secret')
    const app = new App({ logger: pino({ level: 'silent' }) })
    app.use(transaction(database))
    app.post('/session', async (ctx) => {
      await database.read((tx) => tx.count(Order))
      const isRight = await verifyPassword('secret', stored)
      await ctx.save(Object.assign(new Order(), { title: 'sign-in' }))
      ctx.body = { isRight }
    })
    app.post('/orders', async (ctx) => {
      await ctx.save(Object.assign(new Order(), { title: 'order' }))
      ctx.body = 'saved'
    })
    const site = await Site.open(app)
    let ended = 0
    const signIns = Array.from({ length: 200 }, async () => {
      const { status, headers } = await site.post('/session')
      if (status === 200) ended += 1
      return { status, retry: headers.get('Retry-After') }
    })
    const orders = await Promise.all(Array.from({ length: 20 }, () => site.post('/orders')))
    const endedMeanwhile = ended
    const results = await Promise.all(signIns)
    await site.close()

    expect(orders.every(({ status }) => status === 200)).to.equal(true)
    // The writes did not wait for the passwords: two at a time are checked.
    expect(endedMeanwhile).to.be.lessThan(100)
    const refused = results.filter(({ status }) => status === 503)
    expect(results.filter(({ status }) => status === 200).length + refused.length).to.equal(200)
    expect(refused.length).to.be.within(1, 98)
    expect(refused.every(({ retry }) => retry === '5')).to.equal(true)
  })
})
