import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import type { Database, Middleware } from '../../../src/index.js'
import {
  migrate,
  Note,
  openKeyed,
  save,
  saveOrFail,
  withKeyed,
  type Keyed,
} from '../../support/applications/keyed.js'
import { newDatabase } from '../../support/databases.js'
import { engine } from '../../support/engine.js'
import { Gate } from '../../support/gate.js'
import type { SpecRequest, SpecResponse } from '../../support/site.js'
import { openProxy } from '../../support/servers/proxy.js'

const long = { acquireTimeout: 60_000 }

/** A note in JSON with a key. */
function note(key: string, title = 'a') {
  return { json: { title }, accept: 'json', headers: { 'Idempotency-Key': key } }
}

describe('A request that is sent twice at the same time', () => {
  /** Sends a request several times at once, and returns the sorted statuses, with `replayed` for a repetition. */
  async function sendAtOnce({ site }: Keyed, count: number): Promise<(number | string)[]> {
    const responses = await Promise.all(Array.from({ length: count }, () => site.post('/notes', note('k1'))))
    const ids = new Set(responses.filter(({ status }) => status < 400).map(({ json }) => json.id))
    expect(ids.size).to.equal(1)
    return responses
      .map(({ status, headers }) => (headers.has('idempotent-replayed') ? 'replayed' : status))
      .toSorted()
  }

  it('is carried out once: the others wait for its response', () =>
    withKeyed({ settings: long }, async (keyed) => {
      expect(await sendAtOnce(keyed, 8)).to.deep.equal([201, ...Array.from({ length: 7 }, () => 'replayed')])
      expect(await keyed.titles()).to.deep.equal(['a'])
    }))

  for (const isolation of ['REPEATABLE READ', 'SERIALIZABLE'] as const)
    it(`is carried out once in ${isolation}`, () =>
      withKeyed({ settings: long, isolation }, async (keyed) => {
        expect(await sendAtOnce(keyed, 3)).to.deep.equal([201, 'replayed', 'replayed'])
        expect(await keyed.titles()).to.deep.equal(['a'])
      }))

  it('is carried out once although both have read the database before the first one has saved its key', async () => {
    let readers = 0
    let meet = (): void => {}
    const met = new Promise<void>((resolve) => (meet = resolve))
    const read: Middleware = async function read(ctx, next) {
      await ctx.tx.query('SELECT * FROM idempotency_keys')
      // On SQLite, the second one waits for the end of the first one before it reads.
      if (++readers === 2 || engine === 'sqlite') meet()
      await met
      await next()
    }
    await withKeyed({ settings: long, above: [read] }, async (keyed) => {
      // A request with files is not retried.
      const send = () =>
        keyed.site.post('/notes', { ...note('k1'), json: undefined, form: upload() } as SpecRequest)
      const responses = await Promise.all([send(), send()])
      expect(responses.map(({ status }) => status)).to.deep.equal([201, 201])
      expect(await keyed.titles()).to.deep.equal(['a'])
    })
  })

  it('is carried out by one of the others if it fails', () =>
    withKeyed({ settings: long }, async (keyed) => {
      let runs = 0
      keyed.handle(async (ctx) => {
        runs += 1
        const isFirst = runs === 1
        await save(ctx)
        if (isFirst) throw new Error('after the insert')
      })
      expect(await sendAtOnce(keyed, 5)).to.deep.equal([201, 500, 'replayed', 'replayed', 'replayed'])
      expect(await keyed.titles()).to.deep.equal(['a'])
    }))

  it('returns 503 with Retry-After if the first one takes longer than acquireTimeout', () =>
    // MariaDB waits for whole seconds.
    withKeyed({ settings: { acquireTimeout: 1000 } }, async ({ site, handle, titles }) => {
      const gate = new Gate()
      handle(async (ctx) => {
        await save(ctx)
        await gate.wait()
      })
      const first = site.post('/notes', note('k1'))
      await gate.reached
      const second = await site.post('/notes', note('k1'))
      expect([second.status, second.headers.get('retry-after')]).to.deep.equal([503, '1'])
      gate.pass()
      expect((await first).status).to.equal(201)
      expect((await site.post('/notes', note('k1'))).headers.get('idempotent-replayed')).to.equal('true')
      expect(await titles()).to.deep.equal(['a'])
    }))

  it('leaves the connections of the process to others while it waits', () => {
    let [count, meet] = [0, (): void => {}]
    const allHaveCome = new Promise<void>((resolve) => (meet = resolve))
    const arrive: Middleware = function arrive(_ctx, next) {
      count += 1
      if (count === 5) meet()
      return next()
    }
    const settings = { pool: 2, acquireTimeout: 2000 }
    return withKeyed({ settings, above: [arrive] }, async ({ site, handle, database, titles }) => {
      const gate = new Gate()
      handle(async (ctx) => {
        await save(ctx)
        await gate.wait()
      })
      const first = site.post('/notes', note('k1'))
      await gate.reached
      const repetitions = [1, 2, 3, 4].map(() => site.post('/notes', note('k1')))
      await allHaveCome
      // Each repetition has sent a statement by now, if it does so at all.
      await delay(100)
      await database.read((tx) => tx.find(Note))
      gate.pass()
      const responses = await Promise.all([first, ...repetitions])
      expect(responses.map(({ status }) => status)).to.deep.equal([201, 201, 201, 201, 201])
      expect(await titles()).to.deep.equal(['a'])
    })
  })

  it('waits with two connections of the process at most if their transactions have begun before', function () {
    // Its transactions wait for the lock when they begin.
    if (engine === 'sqlite') this.skip()
    const read: Middleware = async function read(ctx, next) {
      await ctx.tx.query('SELECT * FROM notes')
      await next()
    }
    return withKeyed({ settings: long, above: [read] }, async ({ site, handle, titles }) => {
      const gate = new Gate()
      handle(async (ctx) => {
        await save(ctx)
        await gate.wait()
      })
      const first = site.post('/notes', note('k1'))
      await gate.reached
      const repetitions = [1, 2, 3, 4].map(() => site.post('/notes', note('k1')))
      let rejected = 0
      const statusOf = async (sent: Promise<SpecResponse>): Promise<number> => {
        const { status } = await sent
        if (status === 503 && ++rejected === 2) gate.pass()
        return status
      }
      const statuses = await Promise.all([first, ...repetitions].map(statusOf))
      expect(statuses[0]).to.equal(201)
      expect(statuses.slice(1).toSorted()).to.deep.equal([201, 201, 503, 503])
      expect(await titles()).to.deep.equal(['a'])
    })
  })

  it('is carried out once although the key has expired', () =>
    withKeyed({ settings: long }, async (keyed) => {
      await keyed.site.post('/notes', note('k1', 'old'))
      await keyed.database.query('UPDATE idempotency_keys SET expires_at = 1')
      expect(await sendAtOnce(keyed, 3)).to.deep.equal([201, 'replayed', 'replayed'])
      expect(await keyed.titles()).to.deep.equal(['a', 'old'])
    }))
})

describe('A request with a key', () => {
  before(function () {
    // SQLite has one writer at a time, and a file has no connections to lose.
    if (engine === 'sqlite') this.skip()
  })

  it('is retried after a conflict, unless it has files', () =>
    withKeyed({ settings: long }, async ({ site, database, handle, log }) => {
      for (const isForm of [false, true]) {
        const [first, second] = [await newNote(database, 'first'), await newNote(database, 'second')]
        let arrived = 0
        let meet = (): void => {}
        const met = new Promise<void>((resolve) => (meet = resolve))
        handle(async (ctx) => {
          const ids = ctx.query['way'] === 'back' ? [second.id, first.id] : [first.id, second.id]
          await ctx.tx.update(Note, { id: ids[0] ?? '' }, { title: 'changed' })
          if (++arrived === 2) meet()
          await met
          await ctx.tx.update(Note, { id: ids[1] ?? '' }, { title: 'changed' })
          ctx.status = 204
        })
        const body = () => (isForm ? { form: upload() } : { json: {} })
        const responses = await Promise.all(
          ['there', 'back'].map((way) =>
            site.post(`/notes?way=${way}`, {
              ...note(`${way} ${isForm}`.replace(' ', '-')),
              json: undefined,
              ...body(),
            }),
          ),
        )
        const statuses = responses.map(({ status }) => status).toSorted()
        expect(statuses).to.deep.equal(isForm ? [204, 503] : [204, 204])
      }
      expect(log.lines.filter(({ msg }) => String(msg).startsWith('the request is retried'))).to.have.length(
        1,
      )
    }))

  it('returns 503 if the connection is lost during the commit, and can be sent again', async () => {
    const url = await newDatabase()
    await migrate(url)
    const proxy = await openProxy(url)
    await withKeyed({ url: proxy.url }, async ({ site, titles }) => {
      for (const when of ['before', 'after'] as const) {
        proxy.cut('COMMIT', when)
        const { status, headers } = await site.post('/notes', note(when, when))
        expect([status, headers.get('retry-after')], when).to.deep.equal([503, '5'])
        const again = await site.post('/notes', note(when, when))
        expect([again.status, again.headers.get('idempotent-replayed')]).to.deep.equal([
          201,
          when === 'after' ? 'true' : null,
        ])
      }
      expect(await titles()).to.deep.equal(['after', 'before'])
    }).finally(() => proxy.close())
  })
})

describe('Two processes with one database', () => {
  let url: string
  let here: Keyed
  let child: ChildProcess
  let there: string

  before(async () => {
    url = await newDatabase()
    await migrate(url)
    ;[here] = await Promise.all([openKeyed({ url, settings: long, api: true }), startChild()])
    here.handle(saveOrFail)
  })

  after(async () => {
    child?.kill('SIGKILL')
    await here?.site.close()
  })

  async function startChild(): Promise<void> {
    child = fork(new URL('../../support/applications/keyed-process.js', import.meta.url), [url], {
      execArgv: [],
    })
    there = String((await once(child, 'message'))[0])
  }

  it('save one record for each key, however often it is sent, and whatever fails on the way', async () => {
    // Another process takes as long as all other specs of this file.
    const few = engine === 'sqlite' ? 1 : 0
    const [keys, kills] = process.env['KIT_REQUIRE_ALL'] ? [200, 3] : [30, few]
    const answers = new Map<string, Set<string>>()
    let begun = 0
    let killed = 0
    let restart = Promise.resolve()
    const work = async (): Promise<void> => {
      while (begun < keys) {
        const key = `key-${(begun += 1)}`
        const ids = new Set<string>()
        answers.set(key, ids)
        // The client gets one to three responses for each key.
        for (let left = 1 + Math.floor(Math.random() * 3); left > 0;) {
          if (killed < kills && begun > ((killed + 1) * keys) / (kills + 1)) {
            killed += 1
            child.kill('SIGKILL')
            restart = startChild()
          }
          const id = await send(Math.random() < 0.5 ? there : here.site.url, key)
          if (id === undefined) await delay(5)
          else left -= ids.add(id) && 1
        }
      }
    }
    await Promise.all(Array.from({ length: 8 }, work))
    await restart
    expect(killed).to.equal(kills)

    const notes = await here.database.manager.find(Note)
    expect(notes.map(({ title }) => title).toSorted()).to.deep.equal([...answers.keys()].toSorted())
    for (const { title, id } of notes) expect([...(answers.get(title) ?? [])], title).to.deep.equal([id])
    expect(await here.keys()).to.have.length(notes.length)
  })

  it('save one record for one key that both get at the same time', async () => {
    const key = crypto.randomUUID()
    const sent = Array.from({ length: 20 }, async (_, index) => {
      for (;;) {
        const id = await send(index % 2 === 0 ? there : here.site.url, key, 0)
        if (id !== undefined) return id
      }
    })
    const [id] = [...new Set(await Promise.all(sent))]
    const notes = await here.database.manager.findBy(Note, { title: key })
    expect(notes.map((one) => one.id)).to.deep.equal([id])
  })
})

/**
 * Sends a note with a key, and gives up after a while with some probability.
 *
 * @returns the id in the response; undefined for an error or a lost connection
 */
async function send(url: string, key: string, abortChance = 0.2): Promise<string | undefined> {
  const headers = { Accept: 'application/json', 'Content-Type': 'application/json', 'Idempotency-Key': key }
  const sent = request(`${url}/notes`, { method: 'POST', headers })
  sent.end(JSON.stringify({ title: key }))
  if (Math.random() < abortChance) setTimeout(() => sent.destroy(), Math.random() * 20)
  try {
    const [response] = await once(sent, 'response')
    const body = await text(response)
    return response.statusCode === 201 ? JSON.parse(body).id : undefined
  } catch {
    return undefined
  }
}

async function newNote(database: Database, title: string): Promise<Note> {
  return database.manager.save(Object.assign(new Note(), { title }))
}

function upload(): FormData {
  const form = new FormData()
  form.append('title', 'a')
  form.append('file', new Blob(['x']), 'a.txt')
  return form
}
