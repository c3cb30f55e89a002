import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import type { Database } from '../../../src/index.js'
import {
  Item,
  linesApp,
  linesDatabase,
  openLinesAt,
  Order,
  OrderLine,
} from '../../support/applications/lines.js'
import { Random } from '../../support/random.js'
import { Site, type SpecResponse } from '../../support/site.js'

const main = fileURLToPath(new URL('../../support/applications/lines-main.js', import.meta.url))
const seed = Number(process.env['KIT_NESTED_SEED'] ?? Date.now() % 2 ** 31)
/** `.ci/run` sends more requests, and kills a process at each second statement. */
const thorough = Number(process.env['KIT_NESTED'] ?? 50) >= 250
const requests = thorough ? 400 : 80
const unknown = '0193b6a2-7c3e-7000-8000-00000000000a'

describe('The guarantees of nested records', () => {
  let url: string
  let database: Database
  let site: Site
  /** An item of each user. */
  let items: Record<'me' | 'other', string>

  before(async () => {
    url = await linesDatabase()
    database = await openLinesAt(url)
    site = await Site.open(linesApp(database))
    const made = ['me', 'other'].map((user_id) => Object.assign(new Item(), { name: user_id, user_id }))
    const [mine, foreign] = await database.manager.save(made)
    items = { me: mine?.id ?? '', other: foreign?.id ?? '' }
  })
  after(async () => {
    await site.close()
    await database.close()
  })

  const send = (
    method: 'post' | 'put',
    path: string,
    json: object,
    user = 'me',
    headers: Record<string, string> = {},
  ): Promise<SpecResponse> =>
    site[method](path, { json, accept: 'json', fromPage: true, headers: { 'x-user': user, ...headers } })
  const linesWith = (quantity: number, count = 3, user: 'me' | 'other' = 'me') =>
    Array.from({ length: count }, () => ({ item_id: items[user], quantity }))
  const create = async (lines: object[], user: 'me' | 'other' = 'me') => {
    const { status, json } = await send('post', '/orders', { number: '1', lines }, user)
    expect(status, JSON.stringify(json)).to.equal(201)
    return json as { id: string; lock_version: number; lines: { id: string; quantity: number }[] }
  }
  const linesOf = (order_id: string) =>
    database.manager.find(OrderLine, { where: { order_id }, order: { position: 'ASC' } })

  /** Expects that each order has a whole list: lines of one quantity, as many as the number of the order says. */
  async function expectWhole(): Promise<number> {
    const orders = await database.manager.find(Order)
    for (const { id } of orders) {
      const lines = await linesOf(id)
      expect(lines.map(({ position }) => position)).to.deep.equal([0, 1, 2])
      expect(new Set(lines.map(({ quantity }) => quantity))).to.have.property('size', 1)
    }
    return orders.length
  }

  it(`hold for ${requests} requests at once of which half fail at a line`, async () => {
    const stored = await Promise.all(Array.from({ length: 20 }, () => create(linesWith(1))))
    const before = await database.manager.count(Order)
    const responses = await Promise.all(
      Array.from({ length: requests }, (_request, index) => {
        const lines = linesWith(index + 2)
        const fails = index % 4 > 1
        const sent = fails ? [...lines.slice(0, 2), { item_id: unknown, quantity: index + 2 }] : lines
        const order = stored[Math.floor(index / 4) % stored.length]
        const number = String(index)
        return index % 2
          ? send('put', `/orders/${order?.id}`, { number, lines: sent })
          : send('post', '/orders', { number, lines: sent })
      }),
    )
    const statuses = responses.map(({ status }) => status)
    expect(statuses.filter((status) => status === 422)).to.have.length(requests / 2)
    expect(statuses.filter((status) => status === 201)).to.have.length(requests / 4)
    // The version of an order can have changed since it was read.
    for (const status of statuses) expect(status).to.be.oneOf([200, 201, 409, 422])
    expect(await expectWhole()).to.equal(before + requests / 4)
  })

  // It takes a while to start a process, so that only some statements are tried, which the seed chooses.
  for (const [method, what, statements] of [
    ['post', 'create', 3],
    ['put', 'change', 5],
  ] as const)
    it(`hold when the process is killed at a statement of a ${what} (KIT_NESTED_SEED=${seed})`, async function () {
      this.timeout(0)
      let status = 0
      let killAt = thorough ? 1 + (seed % 2) : 1 + (seed % statements)
      for (; status === 0; killAt += 2) {
        const order = await create(linesWith(1))
        const [kept] = order.lines
        const lines = [{ item_id: items.me, quantity: 9 }, { id: kept?.id, quantity: 9 }, ...linesWith(9, 1)]
        const body = { number: 'killed', lines: method === 'post' ? linesWith(9) : lines }
        const path = method === 'post' ? '/orders' : `/orders/${order.id}`
        status = await sendToDying(killAt, method, path, body)
        await expectWhole()
        if (!thorough) break
      }
      if (thorough) expect(killAt - 2, 'the first statement that was not reached').to.be.above(statements)
      else expect(status, `the process was killed at statement ${killAt}`).to.equal(0)
    })

  /** Sends a request to a process that kills itself at a statement. Returns the status of the response; 0 without one. */
  async function sendToDying(killAt: number, method: string, path: string, body: object): Promise<number> {
    const env = { ...process.env, LINES_URL: url, KILL_AT: String(killAt), LOG_LEVEL: 'silent' }
    const child = fork(main, { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    const closed = once(child, 'close')
    const ended = closed.then(() => expect.fail('The process ended before it served.'))
    const [address] = (await Promise.race([once(child, 'message'), ended])) as [string]
    const headers = { 'content-type': 'application/json', accept: 'application/json', 'x-user': 'me' }
    const response = await fetch(address + path, { method, headers, body: JSON.stringify(body) }).catch(
      () => undefined,
    )
    child.kill('SIGKILL')
    await closed
    if (response) expect(response.status).to.be.oneOf([200, 201])
    return response?.status ?? 0
  }

  it(`hold for ids of other orders and users in every place of a body (KIT_NESTED_SEED=${seed})`, async () => {
    const random = new Random(seed)
    const [own, second, foreign] = [
      await create(linesWith(1)),
      await create(linesWith(2)),
      await create(linesWith(3, 3, 'other'), 'other'),
    ]
    const others = async () => [await linesOf(second.id), await linesOf(foreign.id)]
    const before = await others()
    const ids = [second, foreign].flatMap(({ id, lines }) => [id, ...lines.map((line) => line.id)])
    const any = () => random.of([unknown, items.other, own.id, ...ids])
    for (let round = 0; round < 60; round++) {
      const lines = (await linesOf(own.id)).map(({ id }) => ({ id, quantity: 1 + random.below(9) }))
      const line = lines[random.below(lines.length)] ?? {}
      const place = random.of(['id', 'item_id', 'order_id', 'order', 'item', 'position', 'user_id'])
      Object.assign(line, { [place]: place === 'order' || place === 'item' ? { id: any() } : any() })
      const top: object = random.of<object>([
        {},
        { id: any() },
        { user_id: any() },
        { order_id: any() },
        { lines: any() },
      ])
      const { status, text } = await send('put', `/orders/${own.id}`, { lines, ...top })
      expect(status, JSON.stringify([lines, top])).to.be.oneOf([200, 422])
      expect(text).not.to.include('"quantity":3,"item_id"')
      expect(await others()).to.deep.equal(before)
      const stored = await linesOf(own.id)
      expect(new Set(stored.map(({ item_id }) => item_id))).to.deep.equal(new Set([items.me]))
    }
    for (const id of [foreign.id, unknown])
      expect((await send('put', `/orders/${id}`, { lines: linesWith(1) })).status).to.equal(404)
  })

  it('hold for two who edit the same order, with and without a version', async () => {
    const order = await create(linesWith(1))
    const path = `/orders/${order.id}`
    const [first, second] = [2, 3].map((quantity) => {
      return { lock_version: order.lock_version, lines: linesWith(quantity) }
    })
    expect((await send('put', path, { ...first })).status).to.equal(200)
    const late = await send('put', path, { ...second })
    expect(late.status).to.equal(409)
    expect(late.json.codes).to.deep.include({ base: ['stale'], lines: ['changed'] })
    const tagged = await send('put', path, { lines: linesWith(4) }, 'me', { 'if-match': '"1"' })
    expect(tagged.status).to.equal(412)
    expect((await linesOf(order.id)).map(({ quantity }) => quantity)).to.deep.equal([2, 2, 2])
    const responses = await Promise.all(
      [5, 6].map((quantity) => send('put', path, { lines: linesWith(quantity) })),
    )
    for (const { status } of responses) expect(status).to.be.oneOf([200, 409])
    const [one, ...more] = (await linesOf(order.id)).map(({ quantity }) => quantity)
    expect([5, 6]).to.include(one)
    expect(more).to.deep.equal([one, one])
  })

  it('need at most four statements for a create with 20 lines, and five for a change, beside the check of references', async () => {
    const statements: string[] = []
    const { logger } = database
    const logQuery = (sql: string) => /^\s*(SELECT|INSERT|UPDATE|DELETE)/i.test(sql) && statements.push(sql)
    database.logger = Object.assign(Object.create(logger), { logQuery })
    try {
      const order = await create(linesWith(1, 20))
      expect(statements.splice(0), 'create').to.have.length.at.most(4)
      const kept = order.lines.slice(0, 10).map(({ id }) => ({ id, quantity: 7 }))
      await send('put', `/orders/${order.id}`, { number: '2', lines: [...linesWith(7, 10), ...kept] })
      // Two more statements read the order and its lines, and one checks the items to which the lines refer.
      expect(statements, 'change').to.have.length.at.most(5 + 3)
    } finally {
      database.logger = logger
    }
  })
})
