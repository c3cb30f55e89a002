import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Database } from '../../../src/index.js'
import type { StoredFiles } from '../../../src/files/index.js'
import { FolderStore } from '../../../src/files/stores/folder.js'
import { captureLog } from '../../../src/testing/index.js'
import { itemsApp, openItems } from '../../support/applications/items.js'
import { formWith, png } from '../../support/file-contents.js'
import { Site } from '../../support/site.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const text = '0123456789'

describe('ctx.sendFile(record)', () => {
  let database: Database
  let files: StoredFiles
  let site: Site
  const log = captureLog()
  /** The URLs of a manual with ten digits and of other documents. */
  let manual: string
  let urls: string[]

  before(async () => {
    database = await openItems()
    const made = itemsApp(database, temporaryFolder(), { logger: log.logger })
    files = made.files
    site = await Site.open(made.app)
    await site.get('/items/new')
    const form = formWith({ name: 'Lamp' }, [
      ['photo', 'lämp (1).png', png()],
      ['manual', 'manual.txt', text],
      ['documents', 'page.png', '<!DOCTYPE html><script>alert(1)</script>'],
      ['documents', 'image.png', '<svg xmlns="http://www.w3.org/2000/svg"/>'],
      ['documents', 'paper.txt', '%PDF-1.7 x'],
    ])
    const { json } = await site.post('/items', { form, accept: 'json' })
    manual = json.manual.url
    urls = [json.photo, ...json.documents].map(({ url }) => url)
  })
  after(() => site.close())

  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    site.request(method, path, { headers })

  it('sends the type by content, and lets browsers show only what runs nothing', async () => {
    const shown = await Promise.all(urls.map((url) => get(url)))
    expect(shown.map(({ headers }) => headers.get('content-type'))).to.deep.equal([
      'image/png',
      'text/html',
      'image/svg+xml',
      'application/pdf',
    ])
    const dispositions = shown.map(({ headers }) => headers.get('content-disposition'))
    expect(dispositions).to.deep.equal([
      `inline; filename="l_mp (1).png"; filename*=UTF-8''l%C3%A4mp%20%281%29.png`,
      `attachment; filename="page.png"; filename*=UTF-8''page.png`,
      `attachment; filename="image.png"; filename*=UTF-8''image.png`,
      `inline; filename="paper.txt"; filename*=UTF-8''paper.txt`,
    ])
    for (const { headers, status } of shown) {
      expect(status).to.equal(200)
      expect(headers.get('x-content-type-options')).to.equal('nosniff')
      expect(headers.get('cross-origin-resource-policy')).to.equal('same-origin')
      expect(headers.get('cache-control')).to.equal('private, no-cache')
    }
    expect(shown.map(({ headers }) => headers.get('content-security-policy'))).to.deep.equal([
      `default-src 'none'; sandbox`,
      `default-src 'none'; sandbox`,
      `default-src 'none'; sandbox`,
      `default-src 'none'`,
    ])
  })

  const ranges: Record<string, [status: number, range: string | null, content: string]> = {
    'bytes=2-4': [206, 'bytes 2-4/10', '234'],
    'bytes=7-': [206, 'bytes 7-9/10', '789'],
    'bytes=-3': [206, 'bytes 7-9/10', '789'],
    'bytes=-30': [206, 'bytes 0-9/10', text],
    'bytes=5-100': [206, 'bytes 5-9/10', '56789'],
    'bytes=0-0': [206, 'bytes 0-0/10', '0'],
    'bytes=0-1,3-4': [200, null, text],
    'bytes=4-2': [200, null, text],
    'bytes=a-b': [200, null, text],
    'bytes=-': [200, null, text],
    'lines=1-2': [200, null, text],
  }
  for (const [range, [status, contentRange, content]] of Object.entries(ranges))
    it(`responds with ${status} to the range ${range}`, async () => {
      const response = await get(manual, { range })
      expect(response.status).to.equal(status)
      expect(response.headers.get('content-range')).to.equal(contentRange)
      expect(response.headers.get('content-length')).to.equal(String(content.length))
      expect(response.text).to.equal(content)
    })

  it('responds with 416 to a range behind the end', async () => {
    for (const range of ['bytes=10-', 'bytes=10-20', 'bytes=-0']) {
      const response = await get(manual, { range })
      expect(response.status).to.equal(416)
      expect(response.headers.get('content-range')).to.equal('bytes */10')
    }
  })

  it('sends the range only of the file that the client has', async () => {
    const etag = (await get(manual)).headers.get('etag') ?? ''
    expect((await get(manual, { range: 'bytes=2-4', 'if-range': etag })).status).to.equal(206)
    expect((await get(manual, { range: 'bytes=2-4', 'if-range': '"other"' })).text).to.equal(text)
  })

  it('responds to If-None-Match and HEAD without reading the store', async () => {
    const { internal } = files
    const { byteStore } = internal
    const etag = (await get(manual)).headers.get('etag') ?? ''
    const reads: string[] = []
    const original = byteStore.read.bind(byteStore)
    byteStore.read = (key, range) => {
      reads.push(key)
      return original(key, range)
    }
    const unchanged = await get(manual, { 'if-none-match': etag })
    expect([unchanged.status, unchanged.text]).to.deep.equal([304, ''])
    const head = await get(manual, {}, 'HEAD')
    expect([head.status, head.headers.get('content-length'), head.text]).to.deep.equal([200, '10', ''])
    expect(head.headers.get('content-type')).to.equal('text/plain; charset=utf-8')
    expect(reads).to.deep.equal([])
    Reflect.deleteProperty(byteStore, 'read')
  })

  it('responds with 404 to another file, another record, and an unknown variant', async () => {
    const form = formWith({ name: 'Other' }, [['photo', 'x.png', png(1, 1, 8)]])
    const { json } = await site.post('/items', { form, accept: 'json' })
    const ofOther = manual.replace(/items\/[^/]+/, `items/${json.id}`)
    for (const path of [
      ofOther,
      `${manual}0`,
      manual.replace(/.$/, '?'),
      `${manual}?variant=thumb`,
      `${urls[0]}?variant=other`,
    ])
      expect((await get(path)).status).to.equal(404)
    for (const accept of ['application/json', 'text/html', 'image/png'])
      expect((await get(manual, { accept })).text).to.equal(text)
  })

  it('responds with 500 and logs the file if its bytes are missing', async () => {
    const form = formWith({ name: 'Gone' }, [['photo', 'x.png', png(1, 1, 9)]])
    const { json } = await site.post('/items', { form, accept: 'json' })
    const { byteStore, table } = files.internal
    const [row] = await table.find([json.photo.id])
    const { key = '' } = row ?? {}
    const { folder } = byteStore as FolderStore
    rmSync(join(folder, key.slice(0, 2), key.slice(2, 4), key))
    expect((await get(json.photo.url)).status).to.equal(500)
    expect(log.lines.find(({ file, level }) => file === json.photo.id && level === 50)).to.include({
      key,
      level: 50,
    })
  })

  it('responds with 503 and Retry-After if the store fails, and stores nothing', async () => {
    const { byteStore, table } = files.internal
    const failing = () => Promise.reject(new Error('away'))
    Object.assign(byteStore, { read: failing, write: failing })
    const response = await get(manual)
    expect([response.status, response.headers.get('retry-after')]).to.deep.equal([503, '5'])
    const { kept } = await table.count()
    const form = formWith({ name: 'Lost' }, [['photo', 'x.png', png(1, 1, 10)]])
    const lost = await site.post('/items', { form, accept: 'json' })
    expect([lost.status, lost.headers.get('retry-after')]).to.deep.equal([503, '5'])
    expect((await table.count()).kept).to.equal(kept)
    for (const name of ['read', 'write']) Reflect.deleteProperty(byteStore, name)
  })

  it('holds no transaction while a store is slow: other writers do not wait', async () => {
    const { byteStore } = files.internal
    const write = byteStore.write.bind(byteStore)
    let release = () => {}
    let hasBegun = () => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    const begun = new Promise<void>((resolve) => (hasBegun = resolve))
    byteStore.write = async (key, file) => {
      hasBegun()
      await released
      await write(key, file)
    }
    const form = formWith({ name: 'Slow' }, [['photo', 'x.png', png(1, 1, 11)]])
    const slow = site.post('/items', { form, accept: 'json' })
    await begun
    const other = await site.put(manual.replace(/\/files.*/, ''), { form: { name: 'Quick' }, accept: 'json' })
    expect([other.status, other.json.name]).to.deep.equal([200, 'Quick'])
    release()
    expect((await slow).status).to.equal(201)
    Reflect.deleteProperty(byteStore, 'write')
  })
})
