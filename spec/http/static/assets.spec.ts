import { createHash } from 'node:crypto'
import { mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { pino } from 'pino'
import { App } from '../../../src/index.js'
import { Site } from '../../support/site.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const forever = 'public, max-age=31536000, immutable'

describe("asset('application.css')", () => {
  let folder: string
  let site: Site

  const open = async (env: string) => {
    const app = new App({
      env,
      secret: 'x'.repeat(32),
      templates: folder,
      securityHeaders: false,
      logger: pino({ level: 'silent' }),
    })
    app.get('/page', (ctx) => ctx.render('page', { names: ctx.query['names']?.toString().split(',') }))
    app.static('/files', join(folder, 'files'))
    app.static('/@größe', join(folder, 'files'))
    app.static('/', join(folder, 'public'))
    return Site.open(app)
  }

  /** The paths that a template gets for names. */
  const pathsOf = async (...names: string[]) =>
    (await site.get(`/page?names=${encodeURIComponent(names.join())}`)).text.split('\n').filter(Boolean)

  beforeEach(async () => {
    folder = temporaryFolder()
    for (const name of ['public/images', 'files']) mkdirSync(join(folder, name), { recursive: true })
    writeFileSync(join(folder, 'page.pug'), "each name in names\n  != asset(name) + '\\n'")
    writeFileSync(join(folder, 'public/application.css'), 'p { color: red }')
    writeFileSync(join(folder, 'public/images/my logo.min.svg'), '<svg/>')
    writeFileSync(join(folder, 'public/LICENSE'), 'free')
    writeFileSync(join(folder, 'files/a.txt'), 'a')
    writeFileSync(join(folder, 'secret.txt'), 'secret')
    site = await open('development')
  })

  afterEach(async () => {
    await site.close()
    rmSync(folder, { recursive: true })
  })

  it('returns a path with the digest of the content, which is served as immutable', async () => {
    const [path = ''] = await pathsOf('application.css')
    expect(path).to.match(/^\/application-[0-9a-f]{16}\.css$/)
    const { status, text, headers } = await site.get(path)
    expect([status, text]).to.deep.equal([200, 'p { color: red }'])
    expect(headers.get('cache-control')).to.equal(forever)
    expect(headers.get('content-type')).to.contain('text/css')
  })

  it('contains the digest of the whole content, which is read in blocks', async () => {
    const content = Buffer.alloc(300_001, 'abcde')
    writeFileSync(join(folder, 'public/long.bin'), content)
    const digest = createHash('sha256').update(content).digest('hex').slice(0, 16)
    expect(await pathsOf('long.bin')).to.deep.equal([`/long-${digest}.bin`])
  })

  it('finds files of any folder, in subfolders and without an extension', async () => {
    writeFileSync(join(folder, 'public/images/c#?.svg'), '<svg/>')
    const names = [
      'images/my logo.min.svg',
      'images/c#?.svg',
      'LICENSE',
      'files/a.txt',
      '@größe/a.txt',
      '/application.css',
    ]
    for (const path of await pathsOf(...names)) {
      const { status, headers } = await site.get(path)
      expect([status, headers.get('cache-control')], path).to.deep.equal([200, forever])
    }
  })

  it('returns another path when the file changes, and 404 for the old one', async () => {
    const [old = ''] = await pathsOf('application.css')
    const file = join(folder, 'public/application.css')
    writeFileSync(file, 'p { color: blue }')
    utimesSync(file, 1, 1)
    const [path = ''] = await pathsOf('application.css')
    expect(path).to.not.equal(old)
    expect((await site.get(path)).text).to.equal('p { color: blue }')
    expect((await site.get(old)).status).to.equal(404)
  })

  it('does not read the file again in production', async () => {
    await site.close()
    site = await open('production')
    const [path = ''] = await pathsOf('application.css')
    writeFileSync(join(folder, 'public/application.css'), 'p { color: green }')
    expect(await pathsOf('application.css')).to.deep.equal([path])
  })

  it('returns the plain path of a file that does not exist', async () => {
    expect(await pathsOf('missing.css', 'images', '../secret.txt')).to.deep.equal([
      '/missing.css',
      '/images',
      '/secret.txt',
    ])
  })

  it('leaves the plain path as it was, which browsers check each time', async () => {
    const { status, headers } = await site.get('/application.css')
    expect([status, headers.get('cache-control')]).to.deep.equal([200, 'public, max-age=0'])
  })

  it('returns 404 for an unknown digest, and for a file outside of the folder', async () => {
    symlinkSync('../secret.txt', join(folder, 'public/linked.txt'))
    const digest = '0123456789abcdef'
    for (const path of ['application', 'missing', 'linked', '..%2fsecret', '.env'])
      expect((await site.get(`/${path}-${digest}.css`)).status, path).to.equal(404)
    expect((await site.get(`/application-${digest}.css`)).headers.get('cache-control')).to.equal('no-store')
  })

  it('serves a file whose own name ends like a digest', async () => {
    writeFileSync(join(folder, 'public/app-0123456789abcdef.js'), 'bundled')
    const { text, headers } = await site.get('/app-0123456789abcdef.js')
    expect([text, headers.get('cache-control')]).to.deep.equal(['bundled', 'public, max-age=0'])
  })
})
