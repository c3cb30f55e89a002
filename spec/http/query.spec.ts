import { expect } from 'chai'
import { App } from '../../src/index.js'
import { Site } from '../support/site.js'

describe('ctx.query', () => {
  let site: Site

  before(async () => {
    const app = new App({ api: true })
    app.get('/', (ctx) => {
      ctx.body = JSON.stringify(ctx.query)
    })
    app.get('/changed', (ctx) => {
      const before = { ...ctx.query }
      ctx.query = { b: ['2', '3'] }
      ctx.body = JSON.stringify([before, ctx.query, ctx.search])
    })
    app.get('/unread', (ctx) => void (ctx.body = 'unread'))
    site = await Site.open(app)
  })

  after(() => site.close())

  it('has the value of each parameter, or the list of its values', async () => {
    expect((await site.get('/')).json).to.deep.equal({})
    expect((await site.get('/?a=1&b=&c&d=%C3%A4+%zz&a=2&a=3')).json).to.deep.equal({
      a: ['1', '2', '3'],
      b: '',
      c: '',
      d: 'ä %zz',
    })
  })

  it('inherits nothing from the names of parameters', async () => {
    expect((await site.get('/?__proto__=1&constructor=2')).text).to.equal(
      '{"__proto__":"1","constructor":"2"}',
    )
  })

  it('can be changed', async () => {
    expect((await site.get('/changed?a=1')).json).to.deep.equal([{ a: '1' }, { b: ['2', '3'] }, '?b=2&b=3'])
  })

  it('has up to 1,000 parameters, and more are rejected with 400 on every route', async () => {
    for (const path of ['/', '/unread'])
      for (const parameter of ['a', 'a=1', '']) {
        const query = (count: number) => `${path}?${Array.from({ length: count }, () => parameter).join('&')}`
        expect((await site.get(query(1000))).status).to.equal(200)
        // Without names, these are only 1,500 characters.
        const response = await site.get(query(1500), { accept: 'application/json' })
        expect(response.json, path).to.include({
          status: 400,
          detail: 'The query has more than 1000 parameters.',
        })
      }
    expect((await site.get(`/unread?${'a'.repeat(5000)}`)).status).to.equal(200)
  })
})
