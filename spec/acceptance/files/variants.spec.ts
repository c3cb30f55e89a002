import { randomBytes } from 'node:crypto'
import { crc32, deflateSync } from 'node:zlib'
import { expect } from 'chai'
import sharp from 'sharp'
import type { Database } from '../../../src/index.js'
import type { StoredFiles } from '../../../src/files/index.js'
import { captureLog } from '../../../src/testing/index.js'
import { Item, itemsApp, openItems } from '../../support/applications/items.js'
import { formWith, png } from '../../support/file-contents.js'
import { Site } from '../../support/site.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const hour = 60 * 60 * 1000

describe('Variants, signed URLs and uploads before a record', () => {
  let database: Database
  let files: StoredFiles
  let site: Site
  let photo: Buffer
  let now = Date.now()
  const log = captureLog()

  before(async () => {
    process.env['BASE_URL'] = 'https://shop.example'
    database = await openItems()
    const made = itemsApp(database, temporaryFolder(), { now: () => now, logger: log.logger })
    files = made.files
    site = await Site.open(made.app)
    await site.get('/items/new')
    const image = sharp({ create: { width: 40, height: 20, channels: 3, background: 'red' } })
    photo = await image.withMetadata({ orientation: 6 }).jpeg().toBuffer()
  })
  after(async () => {
    delete process.env['BASE_URL']
    await site.close()
  })

  const create = async (content: Buffer = photo) => {
    const form = formWith({ name: 'Lamp' }, [['photo', 'lamp.jpg', content]])
    const { json, status } = await site.post('/items', { form, accept: 'json' })
    expect(status).to.equal(201)
    return json
  }
  const bytes = async (path: string) => Buffer.from(await (await fetch(site.url + path)).arrayBuffer())
  const find = (id: string) => database.manager.findOneByOrFail(Item, { id })

  it('are made once, turned, without metadata, and deleted with their image', async () => {
    const item = await create()
    const { thumb } = item.photo.variants
    const [first, second] = await Promise.all([bytes(thumb), bytes(thumb)])
    const metadata = await sharp(first).metadata()
    expect(metadata).to.include({ format: 'jpeg', width: 10, height: 20 })
    expect(metadata.orientation).to.equal(undefined)
    expect(second?.equals(first ?? Buffer.alloc(0))).to.equal(true)
    const rows = async () =>
      Number((await database.query('SELECT COUNT(*) AS count FROM stored_files'))[0].count)
    const made = await rows()
    await bytes(thumb)
    expect(await rows()).to.equal(made)
    // `kit files` counts the image alone.
    expect((await files.internal.table.count()).kept).to.equal(1)
    await site.delete(`/items/${item.id}`, { form: {} })
    now += 25 * hour
    expect((await files.sweep()).files).to.equal(2)
    expect((await site.get(thumb)).status).to.equal(404)
  })

  it('are 404 for an image that cannot be decoded, which is not tried again for ten minutes', async () => {
    const item = await create(png(30, 30))
    const reads: string[] = []
    const { byteStore } = files.internal
    const read = byteStore.read.bind(byteStore)
    byteStore.read = (key, range) => {
      reads.push(key)
      return read(key, range)
    }
    for (let count = 0; count < 3; count++)
      expect((await site.get(item.photo.variants.thumb)).status).to.equal(404)
    expect(reads).to.have.length(1)
    Reflect.deleteProperty(byteStore, 'read')
  })

  it('neither end nor block the process, whatever an image contains', async () => {
    const flat = sharp({ create: { width: 300, height: 300, channels: 3, background: 'red' } })
    const [large, jpeg, gif] = [await flat.png().toBuffer(), photo, await flat.resize(9).gif().toBuffer()]
    const small = Buffer.from(large)
    small.writeUInt32BE(2, 16)
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>'
    const text = deflateSync(Buffer.alloc(50_000_000))
    const hostile: Record<string, Buffer> = {
      'another size in its header than in its data': small,
      'a header and no more': png(1000, 1000),
      'a text that unpacks to 9 MB': Buffer.concat([
        large.subarray(0, 33),
        chunk('zTXt', Buffer.concat([Buffer.from('Comment\0\0'), text.subarray(0, 9000)])),
        large.subarray(33),
      ]),
      'an SVG behind the signature of a PNG': Buffer.concat([png(20, 20), Buffer.from(svg)]),
      'half of a JPEG': jpeg.subarray(0, jpeg.length / 2),
      'a JPEG with 4,000 comments': Buffer.concat([
        jpeg.subarray(0, jpeg.indexOf(Buffer.from('ffda', 'hex'))),
        Buffer.concat(Array.from({ length: 4000 }, () => Buffer.from('fffe0002', 'hex'))),
        jpeg.subarray(jpeg.indexOf(Buffer.from('ffda', 'hex'))),
      ]),
      'a GIF with trailing frames': Buffer.concat([
        gif.subarray(0, -1),
        ...Array.from({ length: 200 }, () => gif.subarray(-20, -1)),
        gif.subarray(-1),
      ]),
      'noise behind the signature of a JPEG': Buffer.concat([jpeg.subarray(0, 200), randomBytes(5000)]),
    }
    for (const [what, content] of Object.entries(hostile)) {
      const form = formWith({ name: 'Lamp' }, [['photo', 'lamp.jpg', content]])
      const { status, json } = await site.post('/items', { form, accept: 'json' })
      expect(status, what).to.be.oneOf([201, 422])
      if (status === 201)
        expect((await site.get(json.photo.variants.thumb)).status, what).to.be.oneOf([200, 404])
      else expect(json.codes.photo?.[0], what).to.be.oneOf(['file_type', 'image_size'])
      expect((await site.get('/items', { accept: 'json' })).status, what).to.equal(200)
    }
  })

  it('let anybody with a signed URL read one file until it expires, or is removed', async () => {
    const item = await create()
    const [row] = await files.internal.table.find([item.photo.id])
    expect(row?.expires_at).to.equal(null)
    let url = ''
    let thumb = ''
    await database.transaction(async (tx) => {
      const { findRecord } = await import('../../support/records.js')
      const record = await findRecord(tx, Item, item.id)
      url = files.signedUrl(record.photo, { expires: '1 hour' })
      thumb = files.signedUrl(record.photo, { expires: '1 hour', variant: 'thumb' })
      expect(() => files.signedUrl(record.photo, { expires: '1 hour', variant: 'big' })).to.throw(
        /no variant "big"/,
      )
    })
    expect(url).to.match(/^https:\/\/shop\.example\/downloads\//)
    const path = url.replace('https://shop.example', '')
    const response = await site.another().get(path)
    expect(response.status).to.equal(200)
    expect(response.headers.get('cross-origin-resource-policy')).to.equal('cross-origin')
    expect((await bytes(path)).equals(photo)).to.equal(true)
    const small = await sharp(await bytes(thumb.replace('https://shop.example', ''))).metadata()
    expect(small.width).to.equal(10)
    expect((await site.get(`${path}x`)).status).to.equal(404)
    now += hour
    expect((await site.get(path)).status).to.equal(404)
    now -= hour
    await site.delete(`/items/${item.id}`, { form: {} })
    expect((await site.get(path)).status).to.equal(404)
  })

  it('return a token for a file that another request attaches', async () => {
    const form = formWith({}, [['file', 'lamp.jpg', photo]])
    const uploaded = await site.post('/uploads', { form, accept: 'json' })
    expect(uploaded.status).to.equal(201)
    expect(uploaded.headers.get('cache-control')).to.equal('no-store')
    const { token, ...rest } = uploaded.json
    expect(rest).to.deep.equal({
      filename: 'lamp.jpg',
      content_type: 'image/jpeg',
      byte_size: photo.length,
      expires_at: new Date(now + 24 * hour).toISOString(),
    })
    const headers = { 'x-csrf-token': site.token ?? '', origin: site.url }
    const json = { name: 'Lamp', photo: token }
    const item = await site.post('/items', { json, accept: 'json', headers })
    expect([item.status, item.json.photo.filename]).to.deep.equal([201, 'lamp.jpg'])
    const wrong = formWith({}, [['file', 'empty', '']])
    expect((await site.post('/uploads', { form: wrong, accept: 'json' })).status).to.equal(400)
    expect(log.text()).to.contain('Strangers can fill the disk by POST /uploads')
    expect(log.text()).to.not.contain(token)
    expect((await find(item.json.id)).name).to.equal('Lamp')
  })
})

/** A chunk of a PNG. */
function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data])
  const ends = [Buffer.alloc(4), Buffer.alloc(4)] as const
  ends[0].writeUInt32BE(data.length)
  ends[1].writeUInt32BE(crc32(body))
  return Buffer.concat([ends[0], body, ends[1]])
}
