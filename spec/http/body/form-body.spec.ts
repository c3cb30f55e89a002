import { expect } from 'chai'
import { readdirSync, readFileSync, rmSync, watch } from 'node:fs'
import { rename } from 'node:fs/promises'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { App } from '../../../src/index.js'
import { Site } from '../../support/site.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const body = 64 * 1024
const files = 128 * 1024

describe('A multipart form', () => {
  let site: Site
  const keep = temporaryFolder()
  const temporary = temporaryFolder()
  const usual = process.env['TMPDIR']
  const crashes: unknown[] = []
  const note = (error: unknown) => crashes.push(error)

  before(async () => {
    process.env['TMPDIR'] = temporary
    process.on('uncaughtException', note).on('unhandledRejection', note)
    const app = new App({ api: true, bodyLimit: body, filesLimit: files })
    app.post('/echo', (ctx) => {
      const uploads = Object.entries(ctx.request.files ?? {}).flatMap(([name, file]) =>
        [file]
          .flat()
          .map(({ originalFilename, filepath, size }) => [
            name,
            originalFilename,
            size,
            readFileSync(filepath).length,
          ]),
      )
      ctx.body = JSON.stringify({ fields: ctx.request.body, files: uploads.toSorted() })
    })
    app.post('/read', (ctx) => {
      const [upload] = Object.values(ctx.request.files ?? {}).flat()
      const { size, originalFilename: name, mimetype: type } = upload!
      ctx.body = JSON.stringify([{ size, name, type }, readFileSync(upload!.filepath, 'latin1')])
    })
    app.post('/keep', async (ctx) => {
      const [file] = Object.values(ctx.request.files ?? {}).flat()
      await rename(file!.filepath, join(keep, 'kept'))
      ctx.body = 'kept'
    })
    app.post('/fail', () => {
      throw new Error('this one fails')
    })
    app.put('/put', (ctx) => {
      ctx.body = 'put'
    })
    site = await Site.open(app)
  })

  after(async () => {
    await site.close()
    if (usual === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = usual
    for (const folder of [keep, temporary]) rmSync(folder, { recursive: true })
    process.off('uncaughtException', note).off('unhandledRejection', note)
  })

  beforeEach(() => expect(leftovers()).to.deep.equal([]))

  afterEach('no file remains, and no error remains unhandled', async () => {
    await new Promise(setImmediate)
    expect(leftovers()).to.deep.equal([])
    expect(crashes.splice(0)).to.deep.equal([])
  })

  function leftovers(): string[] {
    return readdirSync(temporary)
  }

  function post(
    parts: Array<[head: string, content: string]>,
    { path = '/echo', end = '\r\n--X--\r\n', type = 'multipart/form-data; boundary=X' } = {},
  ) {
    const content = parts.map(([head, text]) => `--X\r\n${head}\r\n\r\n${text}`).join('\r\n') + end
    return site.post(path, { body: content, accept: 'application/json', headers: { 'content-type': type } })
  }

  /** The content of an uploaded file, as the handler reads it. */
  async function kept(content: string, headers = '') {
    const response = await post([[`${file('a')}${headers}`, content]], { path: '/read' })
    return response.json
  }

  const field = (name: string) => `Content-Disposition: form-data; name="${name}"`
  const file = (name: string) => `${field(name)}; filename="a.txt"\r\nContent-Type: text/plain`

  it('has fields and files', async () => {
    const response = await post([
      [field('title'), 'A'],
      [file('photo'), 'content'],
      [file('empty'), ''],
    ])
    expect(response.json).to.deep.equal({
      fields: { title: 'A' },
      files: [
        ['empty', 'a.txt', 0, 0],
        ['photo', 'a.txt', 7, 7],
      ],
    })
  })

  describe('has the same fields as the urlencoded form', () => {
    for (const [fields, meaning] of [
      ['a=1', { a: '1' }],
      ['a=1&a=2', { a: ['1', '2'] }],
      ['a=', { a: '' }],
      ['a=&a=1', { a: ['', '1'] }],
      ['ids[]=1&ids[]=2', { ids: ['1', '2'] }],
      ['ids[]=1', { ids: ['1'] }],
      ['ids[]=', { ids: [''] }],
      ['ids[0]=1&ids[1]=2', { ids: ['1', '2'] }],
      ['ids=&ids[]=1', { ids: ['', '1'] }],
      ['a[b]=1&a[c]=2', { a: { b: '1', c: '2' } }],
      ['a[b][]=1&a[b][]=2', { a: { b: ['1', '2'] } }],
      ['a[b][c][d][e][f][g]=1', { a: { b: { c: { d: { e: { f: { '[g]': '1' } } } } } } }],
      ['a.b=1', { 'a.b': '1' }],
      ['=1&a=2', { a: '2' }],
      ['a%26b=c%3Dd%25', { 'a&b': 'c=d%' }],
      ['a[__proto__][x]=1&a[b]=2', { a: { b: '2' } }],
      [
        Array.from({ length: 500 }, (_, i) => `ids[]=${i}`).join('&'),
        { ids: Array.from({ length: 500 }, (_, i) => String(i)) },
      ],
    ] as const) {
      it(fields.slice(0, 60), async () => {
        const headers = { 'content-type': 'application/x-www-form-urlencoded' }
        const urlencoded = await site.post('/echo', { body: fields, accept: 'application/json', headers })
        const parts = fields
          .split('&')
          .map((pair) => pair.split('=').map(decodeURIComponent) as [string, string])
          .map(([name, value]): [string, string] => [field(name), value])
        const multipart = await post(parts)
        expect(urlencoded.json.fields).to.deep.equal(meaning)
        expect(multipart.json.fields).to.deep.equal(meaning)
      })
    }
  })

  it('has several files with one name', async () => {
    const response = await post([
      [file('photos'), 'one'],
      [file('photos'), 'second'],
    ])
    expect(response.json.files).to.deep.equal([
      ['photos', 'a.txt', 3, 3],
      ['photos', 'a.txt', 6, 6],
    ])
  })

  it('has the exact content of a file', async () => {
    for (const content of ['\r', '\n', '\r\n', '\r\n-', '\r\n--', '\r\n--Y', 'v--X', '-', '\0']) {
      const [{ size }, text] = await kept(content.repeat(files / content.length - 1))
      expect([size, text], JSON.stringify(content)).to.deep.equal([
        content.length * Math.floor(files / content.length - 1),
        content.repeat(files / content.length - 1),
      ])
    }
  })

  it('has a file that was sent in base64', async () => {
    const text = 'The quick brown fox. '.repeat(4000)
    const lines = Buffer.from(text).toString('base64').replaceAll(/.{76}/g, '$&\r\n')
    expect(await kept(lines, '\r\nContent-Transfer-Encoding: base64')).to.deep.equal([
      { size: text.length, name: 'a.txt', type: 'text/plain' },
      text,
    ])
  })

  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '__defineGetter__']) {
    it(`has neither a field nor a file ${name}`, async () => {
      const response = await post([
        [field(name), 'v'],
        [file(name), 'v'],
        [field('ok'), '1'],
      ])
      expect(response.json).to.deep.equal({ fields: { ok: '1' }, files: [] })
    })
  }

  it('is rejected with 400 if a part is not form-data, however long it is', async () => {
    for (const length of [1, 100_000]) {
      const response = await post([['Content-Disposition: attachment; name="a"', 'x'.repeat(length)]])
      expect(response.status).to.equal(400)
    }
  })

  describe('with a header that is not allowed is rejected with 400, however long the part is:', () => {
    for (const [what, lines] of [
      ['a line without a colon', ['foo', field('a')]],
      ['a line that begins with a colon', [': foo', field('a')]],
      ['a name with a space', [`Content-Disposition : ${field('a').slice(21)}`]],
      ['a folded line', ['X: y', ` z`, field('a')]],
      ['a folded first line', [' X: y', field('a')]],
      ['two dispositions', [field('a'), field('b')]],
      ['a line break of another system', ['X: y\nz', field('a')]],
    ] as const)
      it(what, async () => {
        for (const length of [1, 70_000]) {
          const response = await post([[lines.join('\r\n'), 'x'.repeat(length)]])
          expect(response.status, String(length)).to.equal(400)
        }
      })
  })

  it('is rejected with 400 if a file begins with the boundary, so that no file is lost', async () => {
    for (const content of ['--X--\r\ncontent', '--X\r\ncontent'])
      expect((await post([[file('a'), content]])).status).to.equal(400)
    expect((await post([[file('a'), '\r\ncontent']])).json.files).to.deep.equal([['a', 'a.txt', 9, 9]])
  })

  it('ignores a part without a name', async () => {
    const response = await post([
      ['Content-Disposition: form-data', 'v'],
      ['Content-Disposition: form-data\r\nContent-Type: text/plain', 'v'],
      [field('ok'), '1'],
    ])
    expect(response.json).to.deep.equal({ fields: { ok: '1' }, files: [] })
  })

  for (const [encoding, text] of [
    ['7bit', 'aGk='],
    ['8bit', 'aGk='],
    ['binary', 'aGk='],
    ['base64', 'hi'],
  ] as const) {
    it(`is read if a part has the transfer encoding ${encoding}`, async () => {
      const response = await post([[`${field('a')}\r\nContent-Transfer-Encoding: ${encoding}`, 'aGk=']])
      expect(response.json.fields).to.deep.equal({ a: text })
    })
  }

  for (const encoding of ['quoted-printable', 'nonsense', '__proto__']) {
    it(`is rejected with 415 if a part has the transfer encoding ${encoding}`, async () => {
      const response = await post([
        [file('a'), 'v'],
        [`${file('b')}\r\nContent-Transfer-Encoding: ${encoding}`, 'v'],
        [file('c'), 'v'],
      ])
      expect(response.status).to.equal(415)
    })
  }

  describe('that cannot be read', () => {
    it('is rejected with 400 without a boundary', async () => {
      expect((await post([[field('a'), '1']], { type: 'multipart/form-data' })).status).to.equal(400)
      expect((await post([[field('a'), '1']], { type: 'multipart/form-data; boundary=' })).status).to.equal(
        400,
      )
      expect((await post([[field('a'), '1']], { type: 'multipart/form-data; boundary=Y' })).status).to.equal(
        400,
      )
    })

    for (const end of [
      '',
      '\r\n--',
      '\r\n--X',
      '\r\n--X\r\n',
      `\r\n--X\r\n${'Content-Disposition: form-data; name="b"'}`,
    ]) {
      it(`is rejected with 400, or read up to that point, if it ends in ${JSON.stringify(end)}`, async () => {
        expect((await post([[file('a'), '1']], { end })).status).to.be.oneOf([200, 400])
      })
    }

    it('is rejected with 413 for many parts without a name', async () => {
      const parts = Array.from({ length: 1200 }, (): [string, string] => [
        'Content-Disposition: form-data',
        '',
      ])
      expect((await post(parts)).status).to.equal(413)
    })

    it("is rejected with 400 if it isn't multipart", async () => {
      expect((await post([], { end: '{"a":1}' })).status).to.equal(400)
    })

    it('is rejected with 400 immediately if the headers of a part are long', async () => {
      const response = await post([[`Content-Disposition: form-data; ${'filename="'.repeat(100_000)}`, 'v']])
      expect(response.status).to.equal(400)
    })
  })

  describe('that is too large', () => {
    it('is rejected with 413 because of its fields', async () => {
      expect((await post([[field('a'), 'v'.repeat(body)]])).status).to.equal(200)
      const response = await post([[field('a'), 'v'.repeat(body + 1)]])
      expect([response.status, response.json.detail]).to.deep.equal([
        413,
        `The body is larger than ${body} bytes.`,
      ])
    })

    it('is rejected with 413 because of the total size of its files', async () => {
      expect(
        (
          await post([
            [file('a'), 'v'.repeat(files / 2)],
            [file('b'), 'v'.repeat(files / 2)],
          ])
        ).status,
      ).to.equal(200)
      const response = await post([
        [file('a'), 'v'.repeat(files / 2)],
        [file('b'), 'v'.repeat(files / 2 + 1)],
        [file('c'), 'v'],
      ])
      expect([response.status, response.json.detail]).to.deep.equal([
        413,
        `The body is larger than ${files} bytes.`,
      ])
    })

    it('is rejected with 413 because of the number of its fields or files', async () => {
      for (const part of [field, file]) {
        const response = await post(Array.from({ length: 1001 }, (_, index) => [part(`f${index}`), '']))
        expect([response.status, response.json.detail]).to.deep.equal([
          413,
          'The form has too many fields or files.',
        ])
      }
    })

    it('is rejected with 413 because of a field with an inherited name', async () => {
      expect((await post([[field('toString'), 'v'.repeat(2 * body + files)]])).status).to.equal(413)
    })
  })

  describe('when the maximum number of forms is being read', () => {
    for (const [limit, options] of [
      [2, { uploadsLimit: 2 }],
      [50, {}],
    ] as const)
      it(`is rejected with 503 and Retry-After until one of them has been read: ${limit}`, async () => {
        const app = new App({ api: true, ...options })
        app.post('/', (ctx) => void (ctx.body = 'read'))
        const one = await Site.open(app)
        try {
          const headers = { 'content-type': 'multipart/form-data; boundary=X' }
          const part = `--X\r\n${field('a')}\r\n\r\n1`
          // A client may send five forms at the same time, so there are several.
          const uploads = Array.from({ length: limit }, (_, index) => {
            const localAddress = `127.0.0.${10 + Math.floor(index / 5)}`
            return request(one.url, { method: 'POST', headers, agent: false, localAddress })
          })
          const begun = uploads.map(async (upload) => {
            const [response] = await once(upload, 'response')
            return (response as IncomingMessage).statusCode
          })
          const whole = () =>
            one.post('/', { body: `${part}\r\n--X--\r\n`, headers, accept: 'application/json' })
          for (const upload of uploads) upload.write(part)
          let rejected = await whole()
          while (rejected.status !== 503) rejected = await whole()
          expect(rejected.headers.get('retry-after')).to.equal('1')
          expect((await one.post('/', { json: {} })).status).to.equal(200)
          for (const upload of uploads) upload.end('\r\n--X--\r\n')
          expect(new Set(await Promise.all(begun))).to.deep.equal(new Set([200]))
          expect((await whole()).status).to.equal(200)
        } finally {
          await one.close()
        }
      })
  })

  it('leaves no upload in progress when it is malformed, or its client disconnects', async () => {
    const app = new App({ api: true, uploadsLimit: 1 })
    app.post('/', (ctx) => void (ctx.body = 'read'))
    const one = await Site.open(app)
    try {
      const headers = { 'content-type': 'multipart/form-data; boundary=X' }
      const hostile = `--X\r\nfoo\r\n${field('a')}\r\n\r\n${'x'.repeat(70_000)}`
      for (const content of [`${hostile}\r\n--X--`, hostile, '', '--X', '--X--']) {
        const sent = await one.post('/', { body: content, headers, accept: 'application/json' })
        expect(sent.status, content.slice(0, 20)).to.equal(content === '--X--' || content === '' ? 200 : 400)
        const closed = new Promise((resolve) => {
          const call = request(one.url, { method: 'POST', headers, agent: false })
          call.on('error', () => {}).on('close', resolve)
          call.write(`${content}x`, () => call.destroy())
        })
        await closed
      }
      const whole = () => one.post('/', { body: `--X--\r\n`, headers, accept: 'application/json' })
      let next = await whole()
      // The end of the last connection may arrive later.
      while (next.status === 503) next = await whole()
      expect(next.status).to.equal(200)
    } finally {
      await one.close()
    }
  })

  describe('deletes its files', () => {
    it('when the handler fails', async () => {
      expect((await post([[file('a'), 'v']], { path: '/fail' })).status).to.equal(500)
    })

    it('when its method turns out to be not allowed', async () => {
      expect(
        (
          await post(
            [
              [field('_method'), 'DELETE'],
              [file('a'), 'v'],
            ],
            { path: '/put' },
          )
        ).status,
      ).to.equal(405)
    })

    it('when the client disconnects', async () => {
      const headers = { 'content-type': 'multipart/form-data; boundary=X', 'content-length': '200000' }
      const call = request(`${site.url}/echo`, { method: 'POST', headers, agent: false }).on(
        'error',
        () => {},
      )
      await new Promise<void>((gone) => {
        const watcher = watch(temporary, () => {
          if (leftovers().length > 0) return call.destroy()
          watcher.close()
          return gone()
        })
        call.write(`--X\r\n${file('a')}\r\n\r\n${'v'.repeat(100_000)}`)
      })
    })

    it('unless the handler moves them', async () => {
      expect((await post([[file('a'), 'v']], { path: '/keep' })).status).to.equal(200)
      expect(readFileSync(join(keep, 'kept'), 'utf8')).to.equal('v')
    })
  })
})
