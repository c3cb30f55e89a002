import { execFileSync } from 'node:child_process'
import { expect } from 'chai'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { App, type Context } from '../../../src/index.js'
import { Site } from '../../support/site.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

describe('app.static(path, folder)', () => {
  const folder = temporaryFolder()
  let site: Site

  before(async () => {
    const root = join(folder, 'public')
    for (const name of ['', 'docs', 'empty', '.well-hidden', '.well-known/.hidden'])
      mkdirSync(join(root, name), { recursive: true })
    writeFileSync(join(folder, 'secret.txt'), 'secret')
    writeFileSync(join(root, 'a.txt'), '0123456789')
    writeFileSync(join(root, 'ä b.txt'), 'umlaut')
    writeFileSync(join(root, 'page.html'), '<h1>Page</h1>')
    writeFileSync(join(root, 'none.txt'), '')
    writeFileSync(join(root, '.env'), 'SECRET=1')
    writeFileSync(join(root, '.well-hidden', 'x.txt'), 'hidden')
    writeFileSync(join(root, '.well-known', 'security.txt'), 'Contact')
    writeFileSync(join(root, '.well-known', '.env'), 'SECRET=1')
    writeFileSync(join(root, '.well-known', '.hidden', 'x.txt'), 'hidden')
    writeFileSync(join(root, 'docs', 'index.html'), '<h1>Docs</h1>')
    symlinkSync('loop', join(root, 'loop'))
    symlinkSync('a.txt', join(root, 'inside.txt'))
    symlinkSync('../secret.txt', join(root, 'link.txt'))
    symlinkSync('../private', join(root, 'linked'))
    symlinkSync(root, join(folder, 'linked-public'))
    for (const name of ['private', 'public-private', 'public/indexed', 'private/docs'])
      mkdirSync(join(folder, name), { recursive: true })
    writeFileSync(join(folder, 'private', 'index.html'), 'secret')
    writeFileSync(join(folder, 'public-private', 'index.html'), 'secret')
    symlinkSync('../public-private', join(root, 'neighbour'))
    symlinkSync('../../private/index.html', join(root, 'indexed', 'index.html'))
    if (process.platform !== 'win32') execFileSync('mkfifo', [join(root, 'pipe')])

    const app = new App({ api: true })
    app.get('/route', (ctx) => {
      ctx.body = 'route'
    })
    app.static('/assets', root)
    app.static('/linked-assets', join(folder, 'linked-public'))
    app.get('/assets/a.txt', (ctx) => {
      ctx.body = 'never reached'
    })
    app.static('/', root)
    site = await Site.open(app)
  })

  after(async () => {
    await site.close()
    rmSync(folder, { recursive: true })
  })

  it('serves the files in .well-known', async () => {
    expect((await site.get('/.well-known/security.txt')).text).to.equal('Contact')
  })

  it('reads a relative folder from the working directory in which it was declared', async () => {
    const before = process.cwd()
    process.chdir(folder)
    const app = new App({ api: true }).static('/', 'public')
    process.chdir(before)
    const relative = await Site.open(app)
    expect((await relative.get('/a.txt')).text).to.equal('0123456789')
  })

  it('returns the file for GET, with its type and the headers for caches', async () => {
    const response = await site.get('/a.txt')
    expect([response.status, response.text]).to.deep.equal([200, '0123456789'])
    expect(response.headers.get('content-type')).to.equal('text/plain; charset=utf-8')
    expect(response.headers.get('etag')).to.match(/^W\/"/)
    expect(response.headers.get('last-modified')).to.match(/GMT$/)
    expect(response.headers.get('accept-ranges')).to.equal('bytes')
    expect(response.headers.get('x-request-id')).to.have.length(36)
  })

  it('returns only the headers for HEAD', async () => {
    const response = await site.request('HEAD', '/a.txt')
    expect([response.status, response.text, response.headers.get('content-length')]).to.deep.equal([
      200,
      '',
      '10',
    ])
  })

  it('serves an empty file, and one with a name in any language', async () => {
    expect(await site.get('/none.txt')).to.include({ status: 200, text: '' })
    expect(await site.get('/%C3%A4%20b.txt')).to.include({ status: 200, text: 'umlaut' })
  })

  it('serves files below its path, before later declarations', async () => {
    expect((await site.get('/assets/a.txt')).text).to.equal('0123456789')
    expect((await site.get('/route')).text).to.equal('route')
  })

  it('serves files below a path in any characters, and in any spelling', async () => {
    const root = join(folder, 'public')
    const paths = ['/@assets', '/größe', '/my files', '/a%2Cb']
    const app = new App({ api: true })
    for (const path of paths) app.static(path, root)
    const other = await Site.open(app)
    const requested = [...paths.map(encodeURI), '/@assets', '/%61%2cb', '/a,b', '/gr%c3%b6%C3%9fe']
    for (const path of requested.map((it) => it.replace('%252C', '%2C')))
      expect(await other.get(`${path}/%61.txt`), path).to.include({ status: 200, text: '0123456789' })
    await other.close()
  })

  it('runs the middleware of a group before its files, whatever the spelling of their path is', async () => {
    const app = new App({ api: true })
    const guard = Object.assign((ctx: Context) => ctx.throw(401), { guardsFiles: true })
    app.group('/docs', (docs) => docs.use(guard).static('/', join(folder, 'public', 'docs')))
    app.static('/', join(folder, 'public'))
    const other = await Site.open(app)
    const statusOf = async (path: string) =>
      (await other.raw(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)).slice(9, 12)
    for (const path of ['/docs/index.html', '/docs/', '/docs', '/%64ocs/index.html', '/docs//index.html'])
      expect(await statusOf(path), path).to.equal('401')
    for (const path of [
      '//docs/index.html',
      '/./docs/index.html',
      '/%2e/docs/',
      '/x/../docs/index.html',
      '/x/%2E%2e/docs/index.html',
      '/docs%2Findex.html',
      '/docs%2f',
      '/docs%5Cindex.html',
      '/docs\\index.html',
    ])
      expect(await statusOf(path), path).to.equal('404')
    expect(await statusOf('/a.txt')).to.equal('200')
    await other.close()
  })

  describe('with a Range header', () => {
    const ranges: Array<[range: string, status: number, text: string, contentRange: string | null]> = [
      ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
      ['bytes=5-', 206, '56789', 'bytes 5-9/10'],
      ['bytes=-2', 206, '89', 'bytes 8-9/10'],
      ['bytes=8-100', 206, '89', 'bytes 8-9/10'],
      ['bytes=0-1,5-6', 200, '0123456789', null],
      ['lines=0-3', 200, '0123456789', null],
      ['bytes=', 200, '0123456789', null],
    ]
    for (const [range, status, text, contentRange] of ranges) {
      it(`returns ${status} for ${range}`, async () => {
        const response = await site.get('/a.txt', { headers: { range } })
        expect([response.status, response.text, response.headers.get('content-range')]).to.deep.equal([
          status,
          text,
          contentRange,
        ])
      })
    }

    for (const range of ['bytes=10-', 'bytes=100-200', 'bytes=3-1']) {
      it(`returns 416 for ${range}, with the size and a problem document`, async () => {
        const response = await site.get('/a.txt', { headers: { range }, accept: 'application/json' })
        expect(response.status).to.equal(416)
        expect(response.headers.get('content-range')).to.equal('bytes */10')
        expect(response.headers.get('etag')).to.equal(null)
        expect(response.json).to.include({ status: 416, title: 'Range Not Satisfiable' })
      })
    }

    it('returns the whole file if it has changed since', async () => {
      const response = await site.get('/a.txt', { headers: { range: 'bytes=0-3', 'if-range': '"other"' } })
      expect(response).to.include({ status: 200, text: '0123456789' })
    })
  })

  describe('with conditional headers', () => {
    // `fetch` adds `Cache-Control: no-cache` to such requests, so this uses another client.
    function ask(header: string): Promise<string> {
      return site.raw(`GET /a.txt HTTP/1.1\r\nHost: x\r\n${header}\r\nConnection: close\r\n\r\n`)
    }

    it('returns 304 without a body for the current ETag', async () => {
      const etag = (await site.get('/a.txt')).headers.get('etag') ?? ''
      for (const known of [etag, `"x", ${etag}`, '*']) {
        expect(await ask(`If-None-Match: ${known}`)).to.match(/^HTTP\/1.1 304 Not Modified\r\n[^]*\r\n\r\n$/)
      }
      expect(await ask('If-None-Match: "x"')).to.match(/^HTTP\/1.1 200 OK\r\n[^]*0123456789$/)
    })

    it('returns 304 if the file has not been changed since', async () => {
      const since = (await site.get('/a.txt')).headers.get('last-modified') ?? ''
      expect(await ask(`If-Modified-Since: ${since}`)).to.match(/^HTTP\/1.1 304 /)
      expect(await ask('If-Modified-Since: yesterday')).to.match(/^HTTP\/1.1 200 /)
    })

    it('returns 412 with a problem document if the file is another version', async () => {
      const response = await site.get('/a.txt', {
        headers: { 'if-match': '"x"' },
        accept: 'application/json',
      })
      expect([response.status, response.json.title]).to.deep.equal([412, 'Precondition Failed'])
    })
  })

  describe('for a folder', () => {
    it('serves its index.html, at the path with a slash', async () => {
      expect((await site.get('/docs/')).text).to.equal('<h1>Docs</h1>')
      expect((await site.get('/docs')).status).to.equal(404)
    })

    it('returns 404 if there is no index.html', async () => {
      for (const path of ['/empty', '/empty/', '/', '/assets', '/assets/']) {
        expect((await site.get(path)).status, path).to.equal(404)
      }
    })

    it('returns 404 for a file with a trailing slash', async () => {
      expect((await site.get('/a.txt/')).status).to.equal(404)
    })
  })

  const hidden = [
    '/.env',
    '/%2eenv',
    '/.well-hidden/x.txt',
    '/.well-known/.env',
    '/.well-known/%2eenv',
    '/.well-known/.hidden/x.txt',
    '/docs/../.well-known/.env',
    '/%2ewell-hidden%2fx.txt',
    '/docs/../.env',
    '/../secret.txt',
    '/%2e%2e/secret.txt',
    '/%2e%2e%2fsecret.txt',
    '/docs/%2e%2e/%2e%2e/secret.txt',
    '/..%5csecret.txt',
    '/assets/../secret.txt',
    '/assets/%2e%2e/secret.txt',
    '/assets%2f..%2fsecret.txt',
    '//../secret.txt',
    '/....//secret.txt',
    '/a.txt%00',
    '/%00',
    '/a.txt%00.html',
    '/nope',
    '/a.txt/x',
    `/${'a'.repeat(5000)}`,
    '/%C0%AEenv',
  ]
  for (const path of hidden) {
    it(`has nothing at ${path.length > 60 ? `a path of ${path.length} characters` : path}`, async () => {
      const response = await site.raw(
        `GET ${path} HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\nConnection: close\r\n\r\n`,
      )
      expect(response).to.match(/^HTTP\/1\.1 (404 Not Found|400 Bad Request)\r\n/)
      expect(response).not.to.match(/secret\r?$|SECRET|hidden$/)
    })
  }

  it('returns 500 for a file that cannot be read, without a delay', async () => {
    expect((await site.get('/loop')).status).to.equal(500)
  })

  it('follows a link to a file of the folder, which may be a link itself', async () => {
    for (const path of ['/inside.txt', '/linked-assets/a.txt', '/linked-assets/inside.txt'])
      expect(await site.get(path), path).to.include({ status: 200, text: '0123456789' })
  })

  it('follows no link that leads outside of the folder, and waits for no FIFO', async () => {
    const links = ['link.txt', 'linked/', 'linked/index.html', 'neighbour/', 'indexed/', 'indexed/index.html']
    for (const path of [...links, 'pipe'].flatMap((name) => [`/${name}`, `/linked-assets/${name}`])) {
      const response = await site.get(path, { accept: 'application/json' })
      expect([response.status, response.text.includes('secret')], path).to.deep.equal([404, false])
    }
  })

  it('handles no other methods', async () => {
    expect((await site.post('/a.txt', { form: { a: '1' } })).status).to.equal(404)
    expect((await site.delete('/a.txt')).status).to.equal(404)
  })
})
