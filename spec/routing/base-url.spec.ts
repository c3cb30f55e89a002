import { expect } from 'chai'
import { pino } from 'pino'
import { App } from '../../src/index.js'
import { Site } from '../support/site.js'

describe('ctx.urlFor(name, ...args)', () => {
  const configured = process.env['BASE_URL']

  beforeEach(() => delete process.env['BASE_URL'])
  afterEach(() => {
    if (configured === undefined) delete process.env['BASE_URL']
    else process.env['BASE_URL'] = configured
  })

  /** The URL, or the error, in an environment. */
  async function urlIn(env: string): Promise<{ url?: string; own: string; error?: string }> {
    const app = new App({ env, secret: 'x'.repeat(32), logger: pino({ level: 'silent' }) })
    app.get('/posts/{post_id}', () => {}, { name: 'postPath' })
    app.get('/', (ctx) => {
      try {
        ctx.body = { url: ctx.urlFor('postPath', { post_id: 1 }, { page: 2 }) }
      } catch (error) {
        ctx.body = { error: String(error) }
      }
    })
    const site = await Site.open(app)
    try {
      return { ...(await site.get('/')).json, own: site.url }
    } finally {
      await site.close()
    }
  }

  it('begins with the origin of the request in development and specs', async () => {
    for (const env of ['development', 'test']) {
      const { url, own } = await urlIn(env)
      expect(url).to.equal(`${own}/posts/1?page=2`)
    }
  })

  for (const base of ['https://blog.example', 'https://blog.example/', 'http://blog.example:8080/app/']) {
    it(`begins with BASE_URL in every environment: ${base}`, async () => {
      process.env['BASE_URL'] = base
      for (const env of ['development', 'production'])
        expect((await urlIn(env)).url).to.equal(`${base.replace(/\/$/, '')}/posts/1?page=2`)
    })
  }

  it('throws in production without BASE_URL', async () => {
    expect((await urlIn('production')).error).to.equal(
      'MissingBaseUrl: ctx.urlFor needs the address of the application in production. Set BASE_URL, for example to https://blog.example.',
    )
  })

  for (const base of ['blog.example', 'ftp://blog.example', 'https://blog.example/?a=1']) {
    it(`throws if BASE_URL is ${base}`, async () => {
      process.env['BASE_URL'] = base
      expect((await urlIn('development')).error).to.equal(
        `BadBaseUrl: BASE_URL is "${base}". It must be an address such as https://blog.example, without a query.`,
      )
    })
  }
})
