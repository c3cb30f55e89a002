import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { In } from 'typeorm'
import type { Database } from '../../../src/index.js'
import { HistoryEntry } from '../../../src/history/index.js'
import {
  behavior,
  Claim,
  ClaimLabel,
  claimsApp,
  claimsDatabase,
  openClaimsAt,
} from '../../support/applications/claims.js'
import { engine } from '../../support/engine.js'
import { Site } from '../../support/site.js'

const main = fileURLToPath(new URL('../../support/applications/claims-main.js', import.meta.url))
/** Requests at once. A process is killed beside as many. */
const total = Number(process.env['KIT_HISTORY'] ?? 40)

/** The values of a record that its entries tell. */
type Values = Record<string, unknown>

describe('The guarantees of a history', () => {
  let url: string
  let database: Database
  let site: Site
  let labels: string[]

  before(async () => {
    url = await claimsDatabase()
    database = await openClaimsAt(url)
    site = await Site.open(claimsApp(database))
    const made = await database.manager.save(
      ['a', 'b'].map((name) => Object.assign(new ClaimLabel(), { name })),
    )
    labels = made.map(({ id }) => id).toSorted()
  })
  after(async () => {
    await site.close()
    await database.close()
  })

  const create = async (title: string): Promise<string> => {
    const { status, json } = await site.post('/claims', { json: { title }, accept: 'json' })
    expect(status).to.equal(200)
    return json.id
  }
  /** A body whose title is in no other, with values of all kinds. */
  const bodyOf = (name: string, index: number) => ({
    title: `${name} ${index}`,
    amount: index % 3 === 0 ? null : `${index}.5`,
    label_ids: labels.slice(0, index % 3),
  })

  /** The values at the end of the entries of a record: each begins with the values with which another one ends. */
  function replay(entries: readonly HistoryEntry[]): Values | undefined {
    const byTitle = new Map(
      entries.flatMap(({ changes }) =>
        changes.filter(({ attribute }) => attribute === 'title').map(({ from }) => [from, changes]),
      ),
    )
    const values: Values = { title: null, amount: null, label_ids: [] }
    let changes = byTitle.get(null)
    let count = 0
    for (; changes; count += 1) {
      byTitle.delete(values['title'])
      for (const { attribute, from, to } of changes) {
        expect(from ?? []).to.deep.equal(values[attribute] ?? [])
        values[attribute] = to
      }
      changes = byTitle.get(values['title'])
    }
    const moves = entries.filter(({ action }) => action === 'trash' || action === 'restore')
    const isTrashed = moves.filter(({ action }) => action === 'trash').length * 2 > moves.length
    expect(count + moves.length, 'entries that no other one leads to').to.equal(entries.length)
    return count === 0 ? undefined : { ...values, isTrashed }
  }

  /** Expects that replaying the entries of each record gives its row, in one snapshot of the database. */
  async function expectExact(): Promise<void> {
    const level = database.options.type === 'better-sqlite3' ? 'SERIALIZABLE' : 'REPEATABLE READ'
    await database.transaction(level, async (tx) => {
      const rows = await tx.find(Claim, { withDeleted: true, relations: { labels: true } })
      const entries = await tx.find(HistoryEntry)
      expect(new Set(entries.map(({ record_id }) => record_id))).to.have.property('size', rows.length)
      for (const { id, title, amount, labels: linked = [], deleted_at } of rows)
        expect(replay(entries.filter(({ record_id }) => record_id === id))).to.deep.equal({
          title,
          amount: amount === null ? null : Number(amount).toFixed(2),
          label_ids: linked.map((label) => label.id).toSorted(),
          isTrashed: deleted_at !== null,
        })
      expect(JSON.stringify(entries)).not.to.include('undone')
    })
  }

  it(`hold for ${total} requests at once of which half fail, and undone savepoints`, async () => {
    const ids = [await create('first'), await create('second')]
    const answers = await Promise.all(
      Array.from({ length: total }, async (_request, index) => {
        const path = `/claims/${ids[index % 2]}`
        const way = Math.floor(index / 2) % 8
        const send = (query: string, json: object = bodyOf('put', index)) =>
          site.put(path + query, { accept: 'json', json })
        if (way === 1) return send('?fails=error')
        if (way === 3) return send('?fails=conflict')
        if (way === 5) return send('', { title: '' })
        if (way === 7) return send('', { label_ids: [crypto.randomUUID()] })
        return send(way === 2 ? '?fails=savepoint' : '')
      }),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).to.have.length(total / 2)
    for (const status of statuses) expect(status).to.be.oneOf([200, 409, 422, 500])
    await expectExact()
  })

  it('hold for moves to the trash and back at once', async () => {
    const id = await create('moved')
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_request, index) =>
        index % 2
          ? site.post(`/claims/${id}/restore`, { accept: 'json' })
          : site.delete(`/claims/${id}`, { accept: 'json' }),
      ),
    )
    const done = answers.filter(({ status }) => status < 300)
    const moves = await database.manager.find(HistoryEntry, {
      where: { record_id: id },
      order: { id: 'ASC' },
    })
    expect(moves).to.have.length(done.length + 1)
    for (const [index, { action }] of moves.slice(1).entries())
      expect(action).to.equal(index % 2 ? 'restore' : 'trash')
    await expectExact()
  })

  /** Lets two requests wait for each other in between. Returns how many have arrived there. */
  function letTwoMeet(): { count: number } {
    const arrivals = { count: 0 }
    let meet = (): void => {}
    const met = new Promise<void>((resolve) => (meet = resolve))
    behavior.between = async () => {
      arrivals.count += 1
      if (arrivals.count === 2) meet()
      await met
    }
    return arrivals
  }

  it('let requests create records with links beside each other', async function () {
    // SQLite has one writer at a time.
    if (engine === 'sqlite') this.skip()
    letTwoMeet()
    const answers = await Promise.all(
      [1, 2].map((index) => site.post('/claims?first', { accept: 'json', json: bodyOf('beside', index) })),
    )
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200])
  })

  it('hold for a request that is retried after a deadlock', async function () {
    // SQLite has one writer at a time.
    if (engine === 'sqlite') this.skip()
    const ids = [await create('fifth'), await create('sixth')]
    const arrivals = letTwoMeet()
    const answers = await Promise.all(
      [ids, ids.toReversed()].map(([id, then], index) =>
        site.put(`/claims/${id}?then=${then}`, { accept: 'json', json: { title: `crossed ${index}` } }),
      ),
    )
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200])
    expect(arrivals.count, 'attempts').to.equal(3)
    const made = await database.manager.find(HistoryEntry, { where: { record_id: In(ids) } })
    expect(made).to.have.length(2 + 4)
    await expectExact()
  })

  it('hold for requests that are sent twice with a key', async () => {
    const before = await database.manager.count(HistoryEntry)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_request, index) =>
        site.post('/claims', {
          accept: 'json',
          json: bodyOf('keyed', index % 5),
          headers: { 'Idempotency-Key': `key-${index % 5}` },
        }),
      ),
    )
    expect(new Set(answers.map(({ json }) => json.id))).to.have.property('size', 5)
    expect(await database.manager.count(HistoryEntry)).to.equal(before + 5)
    await expectExact()
  })

  it(`hold when a process is killed beside ${total} requests`, async function () {
    this.timeout(0)
    const ids = [await create('third'), await create('fourth')]
    const env = { ...process.env, CLAIMS_URL: url, LOG_LEVEL: 'silent' }
    const child = fork(main, { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    const closed = once(child, 'close')
    const ended = closed.then(() => expect.fail('The process ended before it served.'))
    const [address] = (await Promise.race([once(child, 'message'), ended])) as [string]
    let answered = 0
    const sent = Array.from({ length: total }, async (_request, index) => {
      const isNew = index % 4 === 0
      const response = await fetch(`${address}/claims${isNew ? '' : `/${ids[index % 2]}`}`, {
        method: isNew ? 'POST' : 'PUT',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify(bodyOf('killed', index)),
      }).catch(() => undefined)
      if (response?.ok && (answered += 1) === Math.ceil(total / 3)) child.kill('SIGKILL')
    })
    await Promise.all(sent)
    await closed
    expect(answered).to.be.within(1, total)
    await expectExact()
  })
})
