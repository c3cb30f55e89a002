import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { Database } from '../../../src/index.js'
import { engine } from '../../support/engine.js'
import { config, Post } from '../../support/applications/failing-posts.js'
import { hasServer, ownServer, type OwnServer } from '../../support/servers/own-server.js'

/** The responses that clients received while the server was down and after it returned. */
interface Seen {
  /** How many responses had each status. */
  statuses: Map<number, number>
  /** The ids of the posts whose create returned 201. */
  created: string[]
  /** The statuses of reads of created posts. */
  reads: Set<number>
}

describe('A restart of the database server under load', function () {
  let server: OwnServer
  let child: ChildProcess
  let url: string

  before(async function () {
    if (engine === 'sqlite') return this.skip()
    if (!hasServer(engine)) {
      if (process.env['KIT_REQUIRE_ALL'])
        throw new Error(`The programs of a ${engine} server are not installed.`)
      return this.skip()
    }
    server = await ownServer(engine)
    const database = await new Database(config(server.url), 'test').open()
    await database.migrate()
    await database.close()
    child = fork(new URL('../../support/applications/posts-server.js', import.meta.url), [server.url], {
      execArgv: [],
    })
    const [address]: unknown[] = await once(child, 'message')
    url = String(address)
  })

  after(async () => {
    if (child) {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
    }
    await server?.remove()
  })

  const signals: NodeJS.Signals[] = engine === 'postgres' ? ['SIGINT', 'SIGQUIT'] : ['SIGTERM', 'SIGKILL']
  for (const signal of signals) {
    it(`after ${signal} returns errors during the downtime, loses nothing, and needs no restart of the process`, async () => {
      const seen: Seen = { statuses: new Map(), created: [], reads: new Set() }
      let isOver = false
      const clients = Array.from({ length: 8 }, async () => {
        while (!isOver) await visit(url, seen)
      })
      await until(() => seen.created.length > 20)
      await server.stop(signal)
      // Each client has met the downtime.
      await until(() => (seen.statuses.get(503) ?? 0) >= 8)
      const before = seen.created.length
      await server.start()
      await until(() => seen.created.length > before + 20)
      isOver = true
      await Promise.all(clients)

      const counted = JSON.stringify([...seen.statuses])
      expect(seen.statuses.get(503), counted).to.be.above(0)
      // A commit to which the server has not responded returns 500.
      expect(
        [...seen.statuses.keys()].filter((status) => ![201, 500, 503].includes(status)),
        counted,
      ).to.deep.equal([])
      expect(seen.statuses.get(500) ?? 0, counted).to.be.at.most(8)
      expect([...seen.reads].filter((status) => status !== 200 && status !== 503)).to.deep.equal([])
      expect(child.exitCode).to.equal(null)
      expect(await missing(server.url, seen.created)).to.deep.equal([])
      expect((await fetch(`${url}/up`)).status).to.equal(200)
    })
  }
})

/** Creates a post, and reads one that was created earlier. */
async function visit(url: string, seen: Seen): Promise<void> {
  const response = await fetch(`${url}/posts`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"title":"kept"}',
  })
  const { id } = (await response.json()) as { id?: string }
  seen.statuses.set(response.status, (seen.statuses.get(response.status) ?? 0) + 1)
  if (response.status === 201 && id) seen.created.push(id)
  const known = seen.created[Math.floor(Math.random() * seen.created.length)]
  if (known) {
    const read = await fetch(`${url}/posts/${known}`)
    await read.text()
    seen.reads.add(read.status)
  }
  await delay(10)
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await delay(50)
}

/** The ids whose posts are not in the database. */
async function missing(url: string, ids: string[]): Promise<string[]> {
  const database = await new Database(config(url), 'test').open()
  const rows = await database.manager.find(Post, { select: { id: true } })
  await database.close()
  const there = new Set(rows.map(({ id }) => id))
  return ids.filter((id) => !there.has(id))
}
