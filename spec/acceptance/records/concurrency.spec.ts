import { fork, type ChildProcess } from 'node:child_process'
import { expect } from 'chai'
import { App, Database, Resource, transaction, type Context } from '../../../src/index.js'
import { newDatabase } from '../../support/databases.js'
import { engine } from '../../support/engine.js'
import { config, Post, PostsResource } from '../../support/applications/failing-posts.js'
import { Site } from '../../support/site.js'

const accept = 'application/json'

/** Half of the posts fail after their insert. Each waits a while in between. */
async function createHalf(request: (number: number) => Promise<number>, count: number): Promise<number[]> {
  return Promise.all(Array.from({ length: count }, (_, number) => request(number)))
}

describe(`Concurrent requests on ${engine}`, () => {
  let url: string
  let database: Database

  beforeEach(async () => {
    url = await newDatabase()
    database = new Database(config(url), 'test')
    await database.open()
    await database.migrate()
  })

  afterEach(() => database.close())

  it('keep exactly the successful half of 100 creates, and no read sees the failing half', async () => {
    const app = new App({ api: true })
    app.use(transaction(database))
    app.resource(PostsResource)
    const site = await Site.open(app)

    let isWriting = true
    const seen = new Set<string>()
    const reading = (async () => {
      while (isWriting) {
        const response = await site.get('/posts?per_page=100', { accept })
        expect(response.status).to.equal(200)
        for (const { title } of response.json) seen.add(title)
      }
    })()
    const statuses = await createHalf(async (number) => {
      const title = number % 2 === 0 ? `kept ${number}` : `fails ${number}`
      return (await site.post('/posts', { accept, json: { title } })).status
    }, 100)
    isWriting = false
    await reading

    expect(statuses.filter((status) => status === 201)).to.have.length(50)
    expect(statuses.filter((status) => status === 500)).to.have.length(50)
    const titles = (await database.manager.find(Post)).map(({ title }) => title)
    expect(titles.toSorted()).to.deep.equal(
      Array.from({ length: 50 }, (_, half) => `kept ${half * 2}`).toSorted(),
    )
    expect([...seen].filter((title) => title.startsWith('fails'))).to.deep.equal([])
    await site.close()
  })

  it('keep exactly the successful half with two processes on one database', async () => {
    const processes = await Promise.all([startServer(), startServer()])
    const statuses = await createHalf(async (number) => {
      const { url } = processes[number % 2] ?? { url: '' }
      const title = number % 4 < 2 ? `kept ${number}` : `fails ${number}`
      const response = await fetch(`${url}/posts`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ title }),
      })
      return response.status
    }, 60)
    for (const { child } of processes) child.kill('SIGTERM')

    expect(statuses.filter((status) => status === 201)).to.have.length(30)
    expect(statuses.filter((status) => status === 500)).to.have.length(30)
    const titles = (await database.manager.find(Post)).map(({ title }) => title)
    expect(titles).to.have.length(30)
    expect(titles.filter((title) => title.startsWith('fails'))).to.deep.equal([])
  })

  it('read without waiting for a writer in flight', async () => {
    let release = () => {}
    let entered = () => {}
    const isWriting = new Promise<void>((resolve) => (entered = resolve))
    const isReleased = new Promise<void>((resolve) => (release = resolve))

    @Resource('/slow')
    class SlowResource extends PostsResource {
      override async create(ctx: Context) {
        await ctx.tx.save(ctx.tx.create(Post, { title: 'slow' }))
        entered()
        await isReleased
        ctx.body = 'done'
      }
    }
    const app = new App({ api: true })
    app.use(transaction(database))
    app.resource('/posts', SlowResource)
    const site = await Site.open(app)

    const writing = site.post('/posts', { accept, json: {} })
    await isWriting
    expect((await site.get('/posts', { accept })).json).to.deep.equal([])
    release()
    expect((await writing).status).to.equal(200)
    expect((await site.get('/posts', { accept })).json).to.have.length(1)
    await site.close()
  })

  async function startServer(): Promise<{ url: string; child: ChildProcess }> {
    const child = fork(new URL('../../support/applications/posts-server.js', import.meta.url), [url], {
      execArgv: [],
    })
    const address = await new Promise<string>((listening) =>
      child.once('message', (message) => listening(String(message))),
    )
    return { url: address, child }
  }
})
