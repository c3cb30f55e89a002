import { expect } from 'chai'
import type { Database } from '../../../src/index.js'
import { App, transaction } from '../../../src/index.js'
import { newPost, openBlogDatabase, Post } from '../../support/applications/blog-database.js'
import { Site } from '../../support/site.js'

/** The characters of a path and a query (RFC 3986), and percent-encoded bytes, in the brackets of RFC 8288. */
const link = /^<((?:[\w.~:/?@!$&'()*+,;=-]|%[\dA-F]{2})*)>; rel="(first|prev|next|last)"$/

describe('The header Link of a page of records', () => {
  let database: Database
  let site: Site

  before(async () => {
    database = await openBlogDatabase()
    await database.manager.save(['one', 'two', 'three'].map(newPost))
    const app = new App({ api: true })
    app.use(transaction(database))
    app.get('/tags/{tag}/posts', async (ctx) => {
      const { records } = await ctx.paginate(Post)
      ctx.body = { tag: ctx.params['tag'], titles: records.map(({ title }) => title) }
    })
    app.get('/{*rest}', async (ctx) => {
      const { records } = await ctx.paginate(Post)
      ctx.body = records.length
    })
    site = await Site.open(app)
  })
  after(() => site.close())

  /** Requests a target byte by byte as given, and returns the target of the response's Link. */
  async function linksOf(target: string): Promise<Record<string, string>> {
    const response = await site.raw(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
    expect(response, target).to.match(/^HTTP\/1.1 200 /)
    const [, header = ''] = /^Link: (.*)\r$/im.exec(response) ?? []
    const found = header.split(', ').map((one) => {
      expect(one, target).to.match(link)
      const [, url = '', rel = ''] = link.exec(one) ?? []
      return [rel, url]
    })
    return Object.fromEntries(found)
  }

  const tags = {
    plain: 'plain',
    'a%20b': 'a%20b',
    '%c3%bc': '%C3%BC',
    '<b>;rel="next"': '%3Cb%3E%3Brel%3D%22next%22',
    'a"b\\c^d`e{f|g}': 'a%22b%5Cc%5Ed%60e%7Bf%7Cg%7D',
    '%0d%0aX-Evil:%201': '%0D%0AX-Evil%3A%201',
    '%F0%9F%98%80': '%F0%9F%98%80',
    '[x]': '%5Bx%5D',
  }
  for (const [sent, written] of Object.entries(tags)) {
    it(`is a valid reference for the path segment ${sent}`, async () => {
      expect(await linksOf(`/tags/${sent}/posts?per_page=2`)).to.deep.equal({
        first: `/tags/${written}/posts?per_page=2&page=1`,
        next: `/tags/${written}/posts?per_page=2&page=2`,
        last: `/tags/${written}/posts?per_page=2&page=2`,
      })
    })
  }

  it('is a valid reference for every byte in the path and in the query, and leads to the requested page', async () => {
    // Node rejects all but visible ASCII. `?` and `#` end the path, `/` ends a segment, and `%` begins an encoded byte.
    const characters = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code))
    const sendable = characters.filter((one) => /[!-~]/.test(one) && !'#?%/'.includes(one)).join('')
    const encoded = characters.map((one) => `%${one.charCodeAt(0).toString(16).padStart(2, '0')}`).join('')
    const titles = ['three', 'two', 'one']
    for (const text of [sendable, encoded, `${sendable}${encoded}`]) {
      const { last = '' } = await linksOf(`/tags/${text}/posts?per_page=3&q=${text}`)
      expect((await site.get(last)).json).to.deep.equal({ tag: decodeURIComponent(text), titles })
      expect(new URL(last, site.url).searchParams.get('per_page')).to.equal('3')
    }
  })

  it('stays on this site if a path begins with two slashes', async () => {
    const { first = '' } = await linksOf('//evil.example/posts')
    expect(new URL(first, site.url).origin).to.equal(site.url)
    expect((await site.get(first)).status).to.equal(200)
  })
})
