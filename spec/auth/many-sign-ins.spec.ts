import { expect } from 'chai'
import { pino } from 'pino'
import { verifyPassword } from '../../src/auth/index.js'
import { App, Database, transaction } from '../../src/index.js'
import { newDatabase } from '../support/databases.js'
import { Gate } from '../support/gate.js'
import { Order, config } from '../support/applications/orders.js'
import { cheapHash } from '../support/passwords.js'
import { Site } from '../support/site.js'
import { occupyThreads } from '../support/threads.js'

describe('200 concurrent sign-ins', () => {
  let release: () => Promise<void>

  afterEach(() => release())

  it('do not block the writes of other requests: two are hashed, 100 wait without a transaction, and 98 return 503', async () => {
    const database = await new Database(config(await newDatabase()), 'test').open()
    await database.migrate()
    const all = new Gate()
    let arrived = 0
    const app = new App({ logger: pino({ level: 'silent' }) })
    app.use(transaction(database))
    app.post('/session', async (ctx) => {
      await database.read((tx) => tx.count(Order))
      arrived += 1
      if (arrived === 200) void all.wait()
      const isCorrect = await verifyPassword('secret', cheapHash('secret'))
      await ctx.save(Object.assign(new Order(), { title: 'sign-in' }))
      ctx.body = { isCorrect }
    })
    app.post('/orders', async (ctx) => {
      await ctx.save(Object.assign(new Order(), { title: 'order' }))
      ctx.body = 'saved'
    })
    const site = await Site.open(app)
    release = occupyThreads()
    const signIns = Array.from({ length: 200 }, () => site.post('/session'))
    await all.reached
    // While no hash is ready, 20 other requests write.
    const orders = await Promise.all(Array.from({ length: 20 }, () => site.post('/orders')))
    const saved = await database.manager.count(Order)
    await release()
    const results = await Promise.all(signIns)
    await site.close()

    expect(orders.map(({ status }) => status)).to.deep.equal(Array.from({ length: 20 }, () => 200))
    expect(saved).to.equal(20)
    const refused = results.filter(({ status }) => status === 503)
    expect(refused.length).to.equal(98)
    expect(new Set(refused.map(({ headers }) => headers.get('Retry-After')))).to.deep.equal(new Set(['5']))
    const accepted = results.filter(({ status }) => status === 200)
    expect(accepted.length).to.equal(102)
    expect(accepted.every(({ json }) => json.isCorrect)).to.equal(true)
  })
})
