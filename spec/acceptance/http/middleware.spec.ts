import { expect } from 'chai'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { App } from '../../../src/index.js'
import { openExampleBlog } from '../../support/applications/example-blog.js'
import { startIn } from '../../support/applications/example.js'
import { Site } from '../../support/site.js'

const folder = new URL('../../../../examples/blog/', import.meta.url)
const source = readFileSync(new URL('dist/src/app.js', folder), 'utf8')
const line = (name: string) => new RegExp(`^app\\.use\\(${name}\\(.*\\n`, 'm')

describe('The middleware of app.ts', () => {
  let blog: Awaited<ReturnType<typeof openExampleBlog>>
  let site: Site

  beforeEach(async () => {
    blog = await openExampleBlog()
    await blog.site.close()
  })

  afterEach(() => site.close())

  /** The blog without this line of its app.ts. */
  async function openWithout(name: string): Promise<void> {
    const file = new URL(`dist/src/app-without-${name}.js`, folder)
    writeFileSync(file, source.replace(line(name), ''))
    try {
      site = await startIn(folder, async () => {
        const { app }: { app: App } = await import(file.href)
        return Site.open(app)
      })
      await site.get('/posts/new')
    } finally {
      rmSync(file)
    }
  }

  /** The requests of a visitor, and their results. */
  async function walk(): Promise<Record<string, unknown>> {
    const created = await site.post('/posts', { form: { title: 'Hello' } })
    const path = created.headers.get('location') ?? '/posts/00000000-0000-7000-8000-000000000000'
    const shown = await site.get(path)
    const [, flash] = /class="flash success">([^<]+)/.exec(shown.text) ?? []
    const forged = await site.post('/posts', { form: { title: 'Forged' }, fromPage: false })
    const changed = await site.put(path, { accept: 'application/json', json: { title: 'Changed' } })
    return {
      home: (await site.get('/')).status,
      created: created.status,
      flash,
      forged: forged.status,
      changed: changed.status,
      deleted: (await site.post(path, { form: { _method: 'DELETE' } })).status,
      file: (await site.get('/application.css')).status,
    }
  }

  const all = {
    home: 200,
    created: 303,
    flash: 'The post was created.',
    forged: 403,
    changed: 200,
    deleted: 303,
    file: 200,
  }

  it('is forceSSL, parameterLogger, csrf, transaction and translations, in this order', async () => {
    await openWithout('nothing')
    expect([...source.matchAll(/^app\.use\((\w+)/gm)].map(([, name]) => name)).to.deep.equal([
      'forceSSL',
      'parameterLogger',
      'csrf',
      'transaction',
      'translations',
    ])
    expect(await walk()).to.deep.equal(all)
  })

  const without: Record<string, Partial<Record<keyof typeof all, unknown>>> = {
    forceSSL: {},
    parameterLogger: {},
    csrf: { forged: 303 },
    // "no transaction found"
    transaction: { created: 500, flash: undefined, changed: 500, deleted: 500 },
    translations: { flash: 'post.created.success' },
  }
  for (const [name, difference] of Object.entries(without)) {
    it(`responds alike without ${name}${Object.keys(difference).length > 0 ? `, except for ${Object.keys(difference).join(', ')}` : ''}`, async () => {
      expect(source).to.match(line(name))
      await openWithout(name)
      expect(await walk()).to.deep.equal({ ...all, ...difference })
    })
  }
})
