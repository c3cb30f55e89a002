import { createHash } from 'node:crypto'
import { expect } from 'chai'
import type { Database } from '../../../src/index.js'
import type { StoredFiles } from '../../../src/files/index.js'
import { itemsApp, openItems } from '../../support/applications/items.js'
import { formWith, png } from '../../support/file-contents.js'
import { Site, type SpecResponse } from '../../support/site.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const day = 24 * 60 * 60 * 1000

describe('Stored files of a resource', () => {
  let database: Database
  let files: StoredFiles
  let site: Site
  let now = Date.now()

  before(async () => {
    database = await openItems()
    const made = itemsApp(database, temporaryFolder(), { now: () => now })
    files = made.files
    site = await Site.open(made.app)
  })
  after(() => site.close())
  beforeEach(() => {
    site.forget()
    now = Date.now()
  })

  async function post(form: FormData, accept = 'json', client: Site | ReturnType<Site['another']> = site) {
    await client.get('/items/new')
    return client.post('/items', { form, accept })
  }

  async function put(path: string, form: FormData, accept = 'json') {
    await site.get('/items/new')
    return site.put(path, { form, accept })
  }

  const create = async (): Promise<SpecResponse['json']> => {
    const form = formWith({ name: 'Lamp' }, [
      ['photo', 'lamp.png', png(3, 4)],
      ['manual', 'manual.txt', 'How to use it'],
      ['documents', 'a.txt', 'a'],
      ['documents', 'b.txt', 'b'],
    ])
    const response = await post(form)
    expect(response.status, response.text).to.equal(201)
    return response.json
  }

  const names = (item: SpecResponse['json']): string[] =>
    item.documents.map(({ filename }: { filename: string }) => filename)
  const counts = () => files.internal.table.count()
  const codes = ({ status, json }: SpecResponse) => ({ status, codes: json.codes })

  describe('in a multipart form', () => {
    it('are stored, and are part of the record in JSON and XML', async () => {
      const item = await create()
      const { id, url, ...rest } = item.photo
      expect(rest).to.deep.equal({
        filename: 'lamp.png',
        content_type: 'image/png',
        byte_size: 33,
        width: 3,
        height: 4,
        variants: { thumb: `${url}?variant=thumb` },
      })
      expect(url).to.equal(`/items/${item.id}/files/${id}`)
      expect(item.manual.content_type).to.equal('text/plain')
      expect(names(item)).to.deep.equal(['a.txt', 'b.txt'])
      expect(item).to.not.have.any.keys('photo_id', 'manual_id')
      const shown = await site.get(`/items/${item.id}`, { accept: 'json' })
      expect(shown.json).to.deep.equal(item)
      const list = await site.get('/items', { accept: 'json' })
      expect(list.json.find((one: { id: string }) => one.id === item.id)).to.deep.equal(item)
      const { text } = await site.get(`/items/${item.id}`, { accept: 'xml' })
      expect(text).to.contain(`<photo><id>${id}</id><filename>lamp.png</filename>`)
      expect(text).to.match(/<documents><document><id>.*<\/document><\/documents>/)
    })

    it('are served byte for byte', async () => {
      const content = png(5, 5, 7)
      const { json } = await post(formWith({ name: 'Lamp' }, [['photo', 'x.png', content]]))
      const response = await fetch(site.url + json.photo.url)
      expect(Buffer.from(await response.arrayBuffer()).equals(content)).to.equal(true)
      const digest = createHash('sha256').update(content).digest('hex')
      expect(response.headers.get('etag')).to.equal(`"${digest.slice(0, 32)}"`)
    })

    it('replace, follow, and leave the others as they are', async () => {
      const item = await create()
      const changed = await put(
        `/items/${item.id}`,
        formWith({}, [
          ['photo', 'other.png', png(1, 1, 9)],
          ['documents', 'c.txt', 'c'],
        ]),
      )
      expect(changed.status).to.equal(200)
      expect(changed.json.photo.filename).to.equal('other.png')
      expect(changed.json.manual).to.deep.equal(item.manual)
      expect(names(changed.json)).to.deep.equal(['a.txt', 'b.txt', 'c.txt'])
      expect((await site.get(`/items/${item.id}`, { accept: 'json' })).json).to.deep.include({
        photo: changed.json.photo,
        documents: changed.json.documents,
      })
      expect((await site.get(item.photo.url)).status).to.equal(404)
    })

    it('stay if the browser sends a part without a file', async () => {
      const item = await create()
      await site.get('/items/new')
      const parts = ['photo', 'manual', 'documents'].map(
        (name) =>
          `--x\r\nContent-Disposition: form-data; name="${name}"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n\r\n`,
      )
      const token = `--x\r\nContent-Disposition: form-data; name="authenticity_token"\r\n\r\n${site.token}\r\n`
      const response = await site.put(`/items/${item.id}`, {
        body: `${token}${parts.join('')}--x--\r\n`,
        accept: 'json',
        headers: { 'content-type': 'multipart/form-data; boundary=x', origin: site.url },
      })
      const { photo, manual, documents } = item
      expect(response.json).to.deep.include({ photo, manual, documents })
    })

    it('are removed by empty text, reordered and removed by their ids', async () => {
      const item = await create()
      const [a, b] = item.documents
      const changed = await put(
        `/items/${item.id}`,
        formWith({ manual: '', documents: ['', b.id, a.id] }, []),
      )
      expect(changed.json.manual).to.equal(null)
      expect(names(changed.json)).to.deep.equal(['b.txt', 'a.txt'])
      const emptied = await put(`/items/${item.id}`, formWith({ documents: '' }, []))
      expect(names(emptied.json)).to.deep.equal([])
      expect(codes(await put(`/items/${item.id}`, formWith({ photo: '' }, [])))).to.deep.equal({
        status: 422,
        codes: { photo: ['present'] },
      })
    })

    const wrong: Record<string, [files: [string, string, Buffer | string][], codes: object]> = {
      'a file of another type': [[['photo', 'x.png', '<html><script>1</script>']], { photo: ['file_type'] }],
      'a file that is too large': [
        [['photo', 'x.png', Buffer.concat([png(), Buffer.alloc(20_480)])]],
        { photo: ['file_size'] },
      ],
      'an empty file': [[['photo', 'x.png', '']], { photo: ['file_empty'] }],
      'an image with too many pixels': [[['photo', 'x.png', png(1001, 1000)]], { photo: ['image_size'] }],
      'too many files': [
        ['a', 'b', 'c', 'd'].map((name): [string, string, string] => ['documents', name, name]),
        { photo: ['present'], documents: ['file_count'] },
      ],
    }
    for (const [what, [given, expected]] of Object.entries(wrong))
      it(`reject ${what} beside the errors of other fields, and store nothing`, async () => {
        const before = await counts()
        const response = await post(formWith({ name: ' ' }, given))
        expect(codes(response)).to.deep.equal({ status: 422, codes: { name: ['present'], ...expected } })
        expect(await counts()).to.deep.equal(before)
      })

    it('name the attribute, and what is allowed and found', async () => {
      const { json } = await post(formWith({ name: 'x' }, [['photo', 'x.png', 'text']]))
      expect(json.errors.photo).to.deep.equal(['Photo is text, and may only be JPEG, PNG, GIF.'])
    })

    it('are dropped by a request that csrf() rejects', async () => {
      const before = await counts()
      const form = formWith({ name: 'Lamp' }, [['photo', 'x.png', png()]])
      expect((await site.post('/items', { form, fromPage: false })).status).to.equal(403)
      expect(await counts()).to.deep.equal(before)
    })

    it('have cleaned names', async () => {
      const given = ['../../etc/passwd', 'a\u202egnp.exe', '', `${'x'.repeat(300)}.png`]
      for (const name of given) {
        const form = formWith({ name: 'x' }, [['photo', 'ok.png', png()]])
        if (name !== '') form.append('documents', new Blob(['1']), name)
        const { json } = await post(form)
        const [document] = json.documents
        if (name === '') expect(document).to.equal(undefined)
        else expect(document.filename).to.not.match(/[/\\\u202e]/)
        expect(document?.filename.length ?? 0).to.be.at.most(200)
      }
    })
  })

  describe('after a 422', () => {
    async function stage(client: Pick<Site, 'get' | 'post'> = site, headers = {}): Promise<string[]> {
      await client.get('/items/new')
      const form = formWith({ name: ' ' }, [
        ['photo', 'lamp.png', png(3, 4, 5)],
        ['documents', 'a.txt', 'a'],
      ])
      const { text, status } = await client.post('/items', { form, headers })
      expect(status).to.equal(422)
      expect(text).to.contain('lamp.png')
      const tokens = [...text.matchAll(/name="(?:photo|documents)" value="([^"]+\.[^"]+)"/g)]
      return tokens.map(([, token = '']) => token)
    }

    it('are attached by the tokens of the form', async () => {
      const [photo = '', document = ''] = await stage()
      const response = await site.post('/items', {
        form: { name: 'Lamp', photo, documents: ['', document] },
        accept: 'json',
      })
      expect(response.status).to.equal(201)
      expect(response.json.photo.filename).to.equal('lamp.png')
      expect(names(response.json)).to.deep.equal(['a.txt'])
      expect((await site.get(response.json.photo.url)).status).to.equal(200)
    })

    it('are attached by the tokens in JSON and XML', async () => {
      for (const format of ['json', 'xml']) {
        const [photo = '', document = ''] = await stage()
        const values = { name: 'Lamp', photo, documents: [document] }
        const body = format === 'json' ? { json: values } : { xml: { item: values } }
        const headers = { 'x-csrf-token': site.token ?? '', origin: site.url }
        const response = await site.post('/items', { ...body, accept: 'json', headers })
        expect(response.status).to.equal(201)
        expect(names(response.json)).to.deep.equal(['a.txt'])
      }
    })

    const unknown = { status: 422, codes: { photo: ['file_unknown'] } }
    const send = (photo: string, client: Pick<Site, 'post'> = site, headers = {}) =>
      client.post('/items', { form: { name: 'Lamp', photo }, accept: 'json', headers })

    it('are attached once', async () => {
      const [photo = ''] = await stage()
      expect((await send(photo)).status).to.equal(201)
      expect(codes(await send(photo))).to.deep.equal(unknown)
    })

    it('are of no use to another session, another user, with another bit or after a day', async () => {
      const [photo = ''] = await stage()
      const other = site.another()
      await other.get('/items/new')
      expect(codes(await send(photo, other as Site))).to.deep.equal(unknown)
      expect(codes(await send(photo, site, { user: '1' }))).to.deep.equal(unknown)
      expect(codes(await send(photo.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))))).to.deep.equal(
        unknown,
      )
      const [ofUser = ''] = await stage(site, { user: '1' })
      expect(codes(await send(ofUser, site, { user: '2' }))).to.deep.equal(unknown)
      now += day
      expect(codes(await send(photo))).to.deep.equal(unknown)
      now -= day
      expect((await send(photo)).status).to.equal(201)
      expect((await send(ofUser, site, { user: '1' })).status).to.equal(201)
    })

    it('are replaced by a new file, and removed by the box below them', async () => {
      const [photo = ''] = await stage()
      const form = formWith({ name: 'Lamp', photo }, [['photo', 'new.png', png(1, 1)]])
      expect((await site.post('/items', { form, accept: 'json' })).json.photo.filename).to.equal('new.png')
      expect(codes(await send([photo, ''] as never))).to.deep.equal({
        status: 422,
        codes: { photo: ['present'] },
      })
    })

    it('are not attached by an id, by the file of another record, or twice at once', async () => {
      const item = await create()
      expect(codes(await send(item.photo.id))).to.deep.equal(unknown)
      const another = await create()
      const stolen = await put(`/items/${another.id}`, formWith({ photo: item.photo.id }, []))
      expect(codes(stolen)).to.deep.equal(unknown)
      const [photo = ''] = await stage()
      const responses = await Promise.all([send(photo), send(photo), send(photo)])
      expect(responses.map(({ status }) => status).toSorted()).to.deep.equal([201, 422, 422])
    })
  })

  describe('in JSON', () => {
    const headers = () => ({ 'x-csrf-token': site.token ?? '', origin: site.url })
    const change = async (path: string, json: object) => {
      await site.get('/items/new')
      return site.put(path, { json, accept: 'json', headers: headers() })
    }

    it('stay if they are absent, or named by their id or by the object of a response', async () => {
      const item = await create()
      for (const json of [
        { name: 'Other' },
        { photo: item.photo.id, documents: item.documents.map(({ id }: { id: string }) => id) },
        { photo: item.photo, manual: item.manual, documents: item.documents },
      ]) {
        const response = await change(`/items/${item.id}`, json)
        expect(response.status).to.equal(200)
        const { photo, manual, documents } = item
        expect(response.json).to.deep.include({ photo, manual, documents })
      }
    })

    it('are removed by null and by an empty list', async () => {
      const item = await create()
      const response = await change(`/items/${item.id}`, { manual: null, documents: [] })
      expect(response.json).to.deep.include({ manual: null, documents: [] })
      expect(codes(await change(`/items/${item.id}`, { photo: null }))).to.deep.equal({
        status: 422,
        codes: { photo: ['present'] },
      })
    })

    it('are rejected if they are anything else', async () => {
      const item = await create()
      for (const value of [1, true, '', 'x', {}, [], [null], { id: 1 }, 'a.b', '0'.repeat(50_000)])
        for (const name of ['photo', 'manual'])
          expect(codes(await change(`/items/${item.id}`, { [name]: value }))).to.deep.equal({
            status: 422,
            codes: { [name]: ['file_unknown'] },
          })
      for (const value of [null, 1, 'x', { a: 1 }, [1], ['x'], [null], [[]]])
        expect(codes(await change(`/items/${item.id}`, { documents: value }))).to.deep.equal({
          status: 422,
          codes: { documents: ['file_unknown'] },
        })
    })
  })

  describe('after a day', () => {
    it('are deleted if no record has them', async () => {
      await files.sweep()
      const item = await create()
      await put(
        `/items/${item.id}`,
        formWith({ manual: '', documents: '' }, [['photo', 'n.png', png(2, 2, 3)]]),
      )
      const removed = await create()
      await site.delete(`/items/${removed.id}`, { form: {} })
      expect((await counts()).unused).to.be.at.least(8)
      now += day / 2
      expect((await files.sweep()).files).to.equal(0)
      now += day
      expect((await files.sweep()).files).to.be.at.least(8)
      expect((await counts()).unused).to.equal(0)
      const { json } = await site.get(`/items/${item.id}`, { accept: 'json' })
      expect((await site.get(json.photo.url)).status).to.equal(200)
    })

    it('are deleted if their record was deleted by SQL, and stay if SQL refers to them', async () => {
      const item = await create()
      const kept = await create()
      await database.query(`DELETE FROM items WHERE id = '${item.id}'`)
      const staged = await files.store(Buffer.from('x'), { filename: 'x.txt' })
      await database.query(`UPDATE items SET manual_id = '${staged.id}' WHERE id = '${kept.id}'`)
      await files.sweep()
      now += day
      await files.sweep()
      now += day
      await files.sweep()
      expect((await counts()).unused).to.equal(0)
      const { json } = await site.get(`/items/${kept.id}`, { accept: 'json' })
      expect(json.manual.filename).to.equal('x.txt')
      expect((await site.get(json.manual.url)).text).to.equal('x')
    })
  })
})
