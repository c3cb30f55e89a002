import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import {
  App,
  BaseResource,
  Database,
  DeclarationError,
  idempotency,
  Resource,
  transaction,
  type Context,
  type Middleware,
} from '../../../src/index.js'
import { authenticate } from '../../../src/auth/index.js'
import {
  config,
  migrate,
  Note,
  save,
  silent,
  sharedKeyed,
  withKeyed,
} from '../../support/applications/keyed.js'
import { countQueries } from '../../support/count-queries.js'
import { databaseWithTables, newDatabase } from '../../support/databases.js'
import { describeOnce, itOnce } from '../../support/engine.js'
import { failure } from '../../support/failure.js'
import type { SpecRequest, SpecResponse } from '../../support/site.js'
import { inFolder } from '../../support/temporary-folder.js'
import { openapi } from '../../../src/openapi/index.js'

const json = { title: 'a' }

/** A request in JSON with a key. */
function keyed(key: string, request: SpecRequest = { json }): SpecRequest {
  return { accept: 'json', ...request, headers: { 'Idempotency-Key': key, ...request.headers } }
}

/** The status of a response, and whether it is a repetition, or the type of its problem. */
function summary({ status, headers, text }: SpecResponse): unknown[] {
  const { type } = headers.get('content-type')?.startsWith('application/problem') ? JSON.parse(text) : {}
  return [status, headers.get('idempotent-replayed') ?? type ?? 'carried out']
}

const carriedOut = [201, 'carried out']
const replayed = [201, 'true']
const reused = [422, 'urn:resource-kit:idempotency-key-reused']
const notKept = [409, 'urn:resource-kit:response-not-kept']

/** Inserts a note, and responds as a handler of the spec does. */
function inserting(respond: (ctx: Context) => unknown): (ctx: Context) => Promise<unknown> {
  return async (ctx) => {
    await ctx.tx.insert(Note, { title: 'a' })
    return respond(ctx)
  }
}

describe('idempotency(database)', () => {
  const withShared = sharedKeyed()

  it('carries a request out once, and responds to its repetition with the same response', () =>
    withShared(async ({ site, titles, log }) => {
      const [first, second] = [await site.post('/notes', keyed('k1')), await site.post('/notes', keyed('k1'))]
      expect([first, second].map(summary)).to.deep.equal([carriedOut, replayed])
      expect(second.text).to.equal(first.text)
      expect(second.location)
        .to.equal(first.location)
        .and.to.match(/^\/notes\/[\w-]{36}$/)
      expect(second.headers.get('content-type')).to.equal(first.headers.get('content-type'))
      expect(second.headers.get('x-request-id')).to.not.equal(first.headers.get('x-request-id'))
      expect(await titles()).to.deep.equal(['a'])
      const lines = log.lines.filter(({ status }) => status === 201)
      expect(lines.map((line) => line['replayed'])).to.deep.equal([undefined, true])
    }))

  it('takes an expired key as a new one, and deletes the expired rows of others by 500', () =>
    withShared(async ({ site, database, keys, titles }) => {
      await site.post('/notes', keyed('k1'))
      const [row] = await keys()
      expect(Number(row?.expires_at)).to.be.closeTo(Date.now() + 24 * 60 * 60 * 1000, 60_000)
      await database.query('UPDATE idempotency_keys SET expires_at = 1')
      expect(summary(await site.post('/notes', keyed('k1', { json: { title: 'b' } })))).to.deep.equal(
        carriedOut,
      )
      expect(await titles()).to.deep.equal(['a', 'b'])
      expect(summary(await site.post('/notes', keyed('k1', { json: { title: 'b' } })))).to.deep.equal(
        replayed,
      )

      const rows = Array.from({ length: 600 }, (_, index) => ({
        id: `${index}`,
        request: '',
        response: null,
        expires_at: 1,
      }))
      await database.createQueryBuilder().insert().into('idempotency_keys').values(rows).execute()
      // Another application, whose first key is the occasion to clean up.
      await withKeyed({ url: database.url }, async ({ site: other }) => {
        await other.post('/notes', keyed('k2'))
        expect(await keys()).to.have.length(102)
        await other.post('/notes', keyed('k3'))
        expect(await keys()).to.have.length(3)
      })
    }))

  it('keeps nothing of a request that fails, which can be sent again', () =>
    withShared(async ({ site, handle, keys, titles }) => {
      const failing: ((ctx: Context) => unknown)[] = [
        () => {
          throw new Error('the handler fails')
        },
        (ctx) => ctx.throw(404),
        (ctx) => void (ctx.status = 400),
        (ctx) => ctx.respond(409, { data: {} }),
        (ctx) => ctx.tx.insert(Note, { id: 'no id' }),
        (ctx) => void ctx.tx.insert(Note, { title: 'not awaited' }),
      ]
      for (const fail of failing) {
        handle(inserting(fail))
        expect((await site.post('/notes', keyed('k1'))).status).to.be.within(400, 500)
      }
      expect(await keys()).to.deep.equal([])
      handle(save)
      expect(summary(await site.post('/notes', keyed('k1')))).to.deep.equal(carriedOut)
      expect(await titles()).to.deep.equal(['a'])
    }))

  itOnce('takes a key again whose failed request a middleware has turned into a success', () => {
    const rescue: Middleware = async function rescue(ctx, next) {
      await Promise.resolve(next()).catch(() => (ctx.body = 'rescued'))
    }
    return withKeyed({ above: [rescue] }, async ({ site, handle, titles }) => {
      handle(() => {
        throw new Error('the handler fails')
      })
      expect(summary(await site.post('/notes', keyed('k1')))).to.deep.equal([200, 'carried out'])
      handle(save)
      expect(summary(await site.post('/notes', keyed('k1')))).to.deep.equal(carriedOut)
      expect(summary(await site.post('/notes', keyed('k1')))).to.deep.equal(replayed)
      expect(await titles()).to.deep.equal(['a'])
    })
  })

  itOnce(
    'runs neither the handler, nor the middleware below, nor work after the commit for a repetition',
    () =>
      withShared(async ({ site, handle }) => {
        let runs = 0
        handle((ctx) => {
          runs += 1
          ctx.afterCommit(() => void (runs += 10))
          return save(ctx)
        })
        for (let sent = 0; sent < 3; sent++) await site.post('/notes', keyed('k1'))
        expect(runs).to.equal(11)
      }),
  )

  itOnce('has compared the condition of a repetition before', () => {
    const declare = (app: App) =>
      void app.patch('/notes/{note_id}', async (ctx) => {
        const note = ctx.bind(await ctx.find(Note, ctx.params['note_id']))
        expect(await ctx.save(note)).to.equal(undefined)
        return ctx.respond({ data: note })
      })
    return withKeyed({ declare }, async ({ site }) => {
      const { location, headers } = await site.post('/notes', keyed('k1'))
      const condition = { json: { title: 'b' }, headers: { 'If-Match': headers.get('etag') ?? '' } }
      const send = async (key: string) => summary(await site.patch(location, keyed(key, condition)))
      expect(await send('k2')).to.deep.equal([200, 'carried out'])
      expect(await send('k2')).to.deep.equal([200, 'true'])
      expect(await send('k3')).to.deep.equal([412, 'urn:resource-kit:precondition-failed'])
    })
  })

  describeOnce('recognizes the key of', () => {
    const twice = [carriedOut, carriedOut]
    const once = [carriedOut, replayed]
    const malformed = [400, 'carried out']
    const rows: [title: string, method: string, headers: Record<string, string>, expected: unknown[][]][] = [
      ['POST', 'POST', { 'Idempotency-Key': 'k1' }, once],
      ['PATCH', 'PATCH', { 'Idempotency-Key': 'k1' }, once],
      ['no PUT', 'PUT', { 'Idempotency-Key': '' }, twice],
      ['no DELETE', 'DELETE', { 'Idempotency-Key': 'k1' }, twice],
      ['no request without a key', 'POST', {}, twice],
      ['a structured header', 'POST', { 'Idempotency-Key': '"k1"' }, once],
      ['255 visible characters', 'POST', { 'Idempotency-Key': '!~'.padEnd(255, 'x') }, once],
      ['no 256 characters: 400', 'POST', { 'Idempotency-Key': 'x'.repeat(256) }, [malformed, malformed]],
      ['an empty header: 400', 'POST', { 'Idempotency-Key': '' }, [malformed, malformed]],
      ['an empty structured header: 400', 'POST', { 'Idempotency-Key': '""' }, [malformed, malformed]],
      ['a header with a space: 400', 'PATCH', { 'Idempotency-Key': 'k 1' }, [malformed, malformed]],
      ['a header with another letter: 400', 'POST', { 'Idempotency-Key': 'k\u00e9' }, [malformed, malformed]],
    ]
    for (const [title, method, headers, expected] of rows)
      it(title, () =>
        withShared(async ({ site, handle, titles }) => {
          handle(inserting((ctx) => ctx.respond(201, { data: {} })))
          const send = () => site.request(method, '/notes', { json, accept: 'json', headers })
          expect([summary(await send()), summary(await send())]).to.deep.equal(expected)
          const created = expected.filter(([status, how]) => status === 201 && how === 'carried out')
          expect(await titles()).to.have.length(created.length)
        }),
      )

    it('the same text in quotes and without', () =>
      withShared(async ({ site }) => {
        await site.post('/notes', keyed('"k1"'))
        expect(summary(await site.post('/notes', keyed('k1')))).to.deep.equal(replayed)
      }))
  })

  describeOnce('compares', () => {
    const rows: [
      title: string,
      path: string,
      first: SpecRequest,
      second: SpecRequest,
      expected: unknown[],
    ][] = [
      ['the content', '/notes', { json }, { json: { title: 'b' } }, reused],
      ['the path', '/other', { json }, { json }, reused],
      ['the query', '/notes?draft=1', { json }, { json }, reused],
      ['the kind of the body', '/notes', { json }, { xml: { note: json } }, reused],
      ['no Accept header', '/notes', { json }, { json, accept: 'xml' }, replayed],
      ['no other header', '/notes', { json }, { json, headers: { 'User-Agent': 'another' } }, replayed],
      [
        'the spaces in JSON not',
        '/notes',
        { json },
        { body: '{ "title" : "a" }', headers: type('json') },
        replayed,
      ],
      ['an absent body with an empty one', '/notes', { json }, {}, reused],
      [
        'the name of a file',
        '/notes',
        { form: upload('a.txt', 'x') },
        { form: upload('b.txt', 'x') },
        reused,
      ],
      [
        'the content of a file',
        '/notes',
        { form: upload('a.txt', 'x') },
        { form: upload('a.txt', 'y') },
        reused,
      ],
      ['equal files', '/notes', { form: upload('a.txt', 'x') }, { form: upload('a.txt', 'x') }, replayed],
    ]
    for (const [title, path, first, second, expected] of rows)
      it(title, () =>
        withShared(async ({ site, titles }) => {
          expect(summary(await site.post('/notes', keyed('k1', first)))).to.deep.equal(carriedOut)
          const response = await site.post(path, keyed('k1', second))
          expect(summary(response)).to.deep.equal(expected)
          if (expected === reused) expect(response.json).to.not.have.property('errors')
          expect(await titles()).to.deep.equal(['a'])
        }),
      )

    it('the method', () =>
      withShared(async ({ site }) => {
        await site.post('/notes', keyed('k1'))
        expect(summary(await site.patch('/notes', keyed('k1')))).to.deep.equal(reused)
      }))

    it('the host of a virtual host', () =>
      withKeyed(
        { declare: (app) => app.host('{tenant}.example.com').post('/notes', save) },
        async ({ site }) => {
          const at = (host: string) => site.post('/notes', keyed('k1', { json, headers: { host } }))
          expect(summary(await at('a.example.com'))).to.deep.equal(carriedOut)
          expect(summary(await at('b.example.com'))).to.deep.equal(reused)
          expect(summary(await at('a.example.com'))).to.deep.equal(replayed)
        },
      ))
  })

  describeOnce('lets a key belong', () => {
    const of = (user: string) => keyed('k1', { json, headers: user === '' ? {} : { 'X-User': user } })

    it('to the user, and without one to everybody', () =>
      withShared(async ({ site, titles }) => {
        for (const user of ['anna', 'ben', ''])
          expect(summary(await site.post('/notes', of(user))), user).to.deep.equal(carriedOut)
        for (const user of ['anna', 'ben', ''])
          expect(summary(await site.post('/notes', of(user))), user).to.deep.equal(replayed)
        expect(await titles()).to.have.length(3)
      }))

    it('to whom the application says', () =>
      withKeyed({ by: (ctx) => ctx.get('X-User').slice(0, 1) || undefined }, async ({ site, titles }) => {
        expect(summary(await site.post('/notes', of('anna')))).to.deep.equal(carriedOut)
        expect(summary(await site.post('/notes', of('alma')))).to.deep.equal(replayed)
        expect(await titles()).to.have.length(1)
      }))

    it('to no user without an id, who would share the keys of all others', () => {
      const sign: Middleware = function sign(ctx, next) {
        Object.assign(ctx, { user: { name: 'Anna' } })
        return next()
      }
      return withKeyed({ above: [sign] }, async ({ site, log }) => {
        expect((await site.post('/notes', keyed('k1'))).status).to.equal(500)
        expect(log.text()).to.contain('Give idempotency() the \\"by\\" option.')
      })
    })
  })

  describeOnce('keeps', () => {
    const stored: [title: string, respond: (ctx: Context) => unknown, accept: string, expected: unknown][] = [
      ['JSON', (ctx) => ctx.respond(201, { data: { a: 'é' } }), 'json', [201, '{"a":"é"}']],
      ['XML', (ctx) => ctx.respond(200, { data: { a: 'é' } }), 'xml', [200, /<a>é<\/a>/]],
      ['an object as a body', (ctx) => (ctx.body = { a: 1 }), 'json', [200, '{"a":1}']],
      ['bytes of JSON', (ctx) => bytes(ctx, '{"a":1}'), 'json', [200, '{"a":1}']],
      ['no content', (ctx) => (ctx.status = 204), 'json', [204, '']],
      ['a redirect', (ctx) => ctx.seeOther('/notes/1'), 'html', [303, /Redirecting to/]],
      [
        'a redirect to another site',
        (ctx) => ctx.redirect('https://a.example/é'),
        'html',
        [302, /a\.example/],
      ],
      ['64 KiB', (ctx) => ctx.respond({ data: 'x'.repeat(65_534) }), 'json', [200, /^"x+"$/]],
    ]
    for (const [title, respond, accept, expected] of stored)
      it(title, () =>
        withShared(async ({ site, handle }) => {
          handle(inserting(respond))
          const [first, second] = [
            await site.post('/notes', keyed('k1', { json, accept })),
            await site.post('/notes', keyed('k1', { json, accept })),
          ]
          const [status, text] = expected as [number, string | RegExp]
          expect([second.status, second.headers.get('idempotent-replayed')]).to.deep.equal([status, 'true'])
          expect([second.text, second.location]).to.deep.equal([first.text, first.location])
          if (typeof text === 'string') expect(second.text).to.equal(text)
          else expect(second.text).to.match(text)
          for (const name of ['content-type', 'content-language', 'content-length'])
            expect(second.headers.get(name), name).to.equal(first.headers.get(name))
        }),
      )

    it('Content-Language and ETag, and neither cookies nor other headers', () =>
      withShared(async ({ site, handle }) => {
        handle((ctx) => {
          ctx.set({ 'Content-Language': 'de', ETag: '"7-x"', 'X-Own': '1' })
          ctx.cookies.set('seen', 'cookie-value')
          Object.assign(ctx.session, { basket: 'session-value' })
          return save(ctx)
        })
        const first = await site.post('/notes', keyed('k1'))
        expect(first.headers.get('set-cookie')).to.contain('seen=').and.contain('_kit_session=')
        site.forget()
        const { headers } = await site.post('/notes', keyed('k1'))
        const names = ['content-language', 'etag', 'x-own', 'set-cookie']
        expect(names.map((name) => headers.get(name))).to.deep.equal(['de', '"7-x"', null, null])
      }))

    it('the flash messages of the request, for the page that the repetition leads to', () =>
      withKeyed(
        { declare: (app) => app.get('/notes/{id}', (ctx) => void (ctx.body = ctx.takeFlash())) },
        async ({ site, handle }) => {
          handle(save)
          await site.post('/notes', keyed('k1', { json, accept: 'html' }))
          site.forget()
          const { location } = await site.post('/notes', keyed('k1', { json, accept: 'html' }))
          expect((await site.get(location)).json).to.deep.equal([{ type: 'success', message: 'Saved a.' }])
        },
      ))

    const unkept: [title: string, respond: (ctx: Context) => unknown][] = [
      ['a page', (ctx) => html(ctx, '<h1>a</h1>')],
      ['other text', (ctx) => (ctx.body = 'created')],
      ['more than 64 KiB', (ctx) => ctx.respond(201, { data: 'x'.repeat(65_535) })],
      ['a stream', (ctx) => stream(ctx, '{}')],
      [
        'what is no-store',
        (ctx) => (ctx.set('Cache-Control', 'private, No-Store'), ctx.respond(201, { data: {} })),
      ],
    ]
    for (const [title, respond] of unkept)
      it(`no body of ${title}, but says that the work was done, and where`, () =>
        withShared(async ({ site, handle, titles }) => {
          handle(inserting((ctx) => (ctx.set('Location', '/notes/1'), respond(ctx))))
          expect((await site.post('/notes', keyed('k1'))).status).to.be.within(200, 201)
          const repetition = await site.post('/notes', keyed('k1'))
          expect(summary(repetition)).to.deep.equal(notKept)
          expect(repetition.location).to.equal('/notes/1')
          expect(await titles()).to.deep.equal(['a'])
        }))

    it('no flash message of a response that is no-store', () =>
      withShared(async ({ site, handle, keys }) => {
        handle((ctx) => {
          ctx.set('Cache-Control', 'no-store')
          ctx.seeOther('/tokens', { success: 'Your token is t0ken.' })
        })
        await site.post('/tokens', keyed('k1'))
        expect(JSON.stringify(await keys())).to.not.contain('t0ken')
        expect((await site.post('/tokens', keyed('k1'))).location).to.equal('/tokens')
      }))
  })

  itOnce('writes no key, cookie or token into tables, the log and error pages', () =>
    withKeyed(
      { env: 'development', needsToken: true },
      async ({ app, site, database, handle, keys, log }) => {
        // An error page shows the source of the spec, which must not contain them either.
        const [inHeader = '', inForm = '', inCookie = '', bearer = ''] = ['h', 'f', 'c', 'b'].map((it) =>
          it.repeat(20),
        )
        app.get('/form', (ctx) => html(ctx, `<input name="authenticity_token" value="${ctx.csrfToken}">`))
        await site.get('/form')
        const texts: string[] = []
        const cookies: string[] = []
        const send = async (request: SpecRequest) => {
          const headers = { ...request.headers, Authorization: `Bearer ${bearer}` }
          const response = await site.post('/notes', { ...request, headers })
          texts.push(response.text)
          for (const cookie of response.headers.getSetCookie())
            cookies.push(/=([^;]*)/.exec(cookie)?.[1] ?? '')
        }
        handle((ctx) => {
          Object.assign(ctx.session, { basket: inCookie })
          return save(ctx)
        })
        for (const title of ['a', 'b', 'b']) {
          await send(keyed(inHeader, { json: { title } }))
          await send({ form: { title, idempotency_key: inForm } })
        }
        handle((ctx) => {
          throw new Error(`fails for ${ctx.path}`)
        })
        await send(keyed(`${inHeader}2`, { form: { title: 'c', idempotency_key: inForm }, accept: 'html' }))
        await send({ form: { title: 'c', idempotency_key: `${inForm} is malformed` } })
        expect(texts.join()).to.contain('fails for /notes').and.contain('The field idempotency_key must')
        expect(await keys()).to.have.length(3)
        const notes = await database.query('SELECT * FROM notes')
        const written = [JSON.stringify([await keys(), notes]), log.text(), ...texts].join('\n')
        const long = cookies.filter((cookie) => cookie.length > 20)
        expect(long.length).to.be.greaterThan(0)
        for (const secret of [inHeader, inForm, inCookie, bearer, site.token ?? '', ...long])
          expect(written).to.not.contain(secret)
      },
    ),
  )

  describeOnce('at the start', () => {
    /** Starts an application with routes, and returns the message with which it fails. */
    async function messageOf(declare: (app: App, database: Database) => void): Promise<string> {
      const database = new Database(config(await databaseWithTables('keyed', migrate)), 'test')
      const app = new App({ api: true, env: 'test', logger: silent, secret: 'x'.repeat(40) })
      declare(app, database)
      try {
        return String(
          await app.start().then(
            () => 'started',
            (error: unknown) => error,
          ),
        )
      } finally {
        await app.close()
      }
    }

    const places: [title: string, declare: (app: App, database: Database) => void, message: RegExp][] = [
      [
        'needs a transaction above it',
        (app, database) => app.use(idempotency(database), transaction(database)).post('/notes', save),
        /^DeclarationError: idempotency\(\) of POST \/notes needs transaction\(\) of the same database above it, to save keys\.$/,
      ],
      [
        'needs the transaction of its own database',
        (app, database) =>
          app
            .use(transaction(new Database(config('sqlite::memory:'), 'test')), idempotency(database))
            .post('/notes', save),
        /needs transaction\(\) of the same database above it/,
      ],
      [
        'needs to be below authenticate',
        (app, database) =>
          app
            .use(transaction(database), idempotency(database), authenticate(database, Note as never))
            .post('/notes', save),
        /^DeclarationError: idempotency\(\) of POST \/notes is above authenticate\(\), but a key belongs to ctx\.user/,
      ],
      [
        'may be above authenticate if the application says whose the keys are',
        (app, database) =>
          app
            .use(
              transaction(database),
              idempotency(database, { by: () => 'all' }),
              authenticate(database, Note as never),
            )
            .post('/notes', save),
        /^started$/,
      ],
      [
        'is content in its place',
        (app, database) =>
          app
            .use(transaction(database), authenticate(database, Note as never), idempotency(database))
            .post('/notes', save),
        /^started$/,
      ],
    ]
    for (const [title, declare, message] of places)
      it(title, async () => {
        expect(await messageOf(declare)).to.match(message)
      })

    it('needs its table', async () => {
      const database = new Database({ ...config(await newDatabase()), migrations: [] }, 'test')
      const app = new App({ env: 'test', logger: silent })
      app.use(transaction(database), idempotency(database)).post('/notes', save)
      const error = await failure(app.start())
      await app.close()
      expect(error).to.be.instanceOf(DeclarationError)
      expect(String(error)).to.contain('npx kit generate migration create_idempotency_keys_again')
    })
  })

  describeOnce('in forms', () => {
    const form = (title: string, key = 'k1') => ({ form: { title, idempotency_key: key } })

    it('belongs to the content: an edited form is another request', () =>
      withShared(async ({ site, titles }) => {
        const sent: SpecResponse[] = []
        for (const title of ['a', 'a', 'b', 'a', 'b']) sent.push(await site.post('/notes', form(title)))
        expect(sent.map(summary)).to.deep.equal(
          [0, 1, 0, 1, 1].map((isRepeated) => [303, isRepeated ? 'true' : 'carried out']),
        )
        expect(await titles()).to.deep.equal(['a', 'b'])
        expect(sent[1]?.location).to.equal(sent[0]?.location)
      }))

    it('is kept only if the response is a redirect', () =>
      withShared(async ({ site, handle, titles, keys }) => {
        handle(inserting((ctx) => html(ctx, '<h1>Found</h1>')))
        for (let sent = 0; sent < 2; sent++)
          expect(summary(await site.post('/search', form('a')))).to.deep.equal([200, 'carried out'])
        expect([await titles(), await keys()]).to.deep.equal([['a', 'a'], []])
      }))

    it('is another one than the same key in the header, which has precedence', () =>
      withShared(async ({ site }) => {
        const both = { ...form('a'), headers: { 'Idempotency-Key': 'k1' } }
        const expected = [form('a'), both, both].map(
          async (one) => summary(await site.post('/notes', one))[1],
        )
        expect(await Promise.all(expected)).to.have.members(['carried out', 'carried out', 'true'])
      }))

    it('is not compared with the CSRF token, which differs on each page', () =>
      withKeyed({ needsToken: true }, async ({ app, site, titles }) => {
        app.get('/form', (ctx) => html(ctx, `<input name="authenticity_token" value="${ctx.csrfToken}">`))
        for (let sent = 0; sent < 2; sent++) {
          await site.get('/form')
          expect((await site.post('/notes', form('a'))).status).to.equal(303)
        }
        expect(await titles()).to.deep.equal(['a'])
      }))

    it('is in the forms of new records, where the middleware runs', () =>
      inFolder(async (folder) => {
        const template = `
!= formFor(note, { action: '/new' }).hiddenFields()
!= formFor(note, { action: '/new' }).hiddenFields()
!= formFor(note, { action: '/put', method: 'PUT' }).hiddenFields()
!= formFor(saved, { action: '/publish' }).hiddenFields()
!= formFor({ email: '' }, { action: '/session' }).hiddenFields()
!= hiddenFields()
!= deleteButton('/delete')
`
        writeFileSync(join(folder, 'page.pug'), template)
        const show = async (ctx: Context) => {
          const saved = Object.assign(new Note(), { title: 'a' })
          await ctx.save(saved)
          ctx.render('page', { note: new Note(), saved })
        }
        const declare = (app: App) => void app.get('/with', show)
        await withKeyed({ templates: folder, declare }, async ({ site }) => {
          const { text, headers } = await site.get('/with')
          const keys = [...text.matchAll(/<input type="hidden" name="idempotency_key" value="([\w-]{22})">/g)]
          expect(new Set(keys.map(([, key]) => key)).size).to.equal(2)
          expect(text.split('idempotency_key')).to.have.length(3)
          expect(headers.get('cache-control')).to.equal('private, no-cache')
        })
      }))

    it('is ignored by PUT, and rejected with 400 if it is malformed', () =>
      withShared(async ({ site, titles }) => {
        const put = { form: { _method: 'PUT', title: 'a', idempotency_key: 'k1' } }
        expect((await site.post('/notes', put)).status).to.equal(303)
        expect((await site.post('/notes', put)).status).to.equal(303)
        expect(await titles()).to.deep.equal(['a', 'a'])
        for (const key of ['', 'with space', 'x'.repeat(256)])
          expect((await site.post('/notes', form('b', key))).status, key).to.equal(400)
        expect((await site.post('/notes', { form: { 'idempotency_key[a]': '1' } })).status).to.equal(400)
      }))
  })

  itOnce('lets scripts of other origins read Idempotent-Replayed', () =>
    withKeyed({ cors: { origins: ['https://a.example'] } }, async ({ site }) => {
      const { headers } = await site.post(
        '/notes',
        keyed('k1', { json, headers: { origin: 'https://a.example' } }),
      )
      expect(headers.get('access-control-expose-headers')).to.contain('Idempotent-Replayed')
    }),
  )

  itOnce('is in the OpenAPI document of POST and PATCH', () => {
    @Resource('/documented', { model: Note })
    class DocumentedResource extends BaseResource {
      override create(ctx: Context) {
        return save(ctx)
      }

      override update(ctx: Context) {
        return save(ctx)
      }
    }
    const declare = (app: App) =>
      void app.extend(openapi('/openapi.json', { title: 'Notes', version: '1' })).resource(DocumentedResource)
    return withKeyed({ declare }, async ({ site }) => {
      const { paths } = (await site.get('/openapi.json')).json
      const { post } = paths['/documented']
      expect(post.parameters).to.deep.include({
        name: 'Idempotency-Key',
        in: 'header',
        description: 'A random key. With the same key, the request is carried out once',
        schema: { type: 'string' },
      })
      expect(post.responses).to.include.keys('201', '400', '409', '422')
      expect(post.responses[201].headers).to.include.keys('Location', 'Idempotent-Replayed')
      const { put, patch } = paths['/documented/{documented_id}']
      expect(patch.parameters.map((one: { name: string }) => one.name)).to.include('Idempotency-Key')
      expect(JSON.stringify(put)).to.not.contain('Idempoten')
    })
  })

  itOnce('needs no statement for a request without a key', () =>
    withShared(async ({ site, database, handle }) => {
      handle((ctx) => void (ctx.status = 204))
      const sent = await countQueries(database, () => site.post('/notes', { json }))
      expect(sent).to.equal(0)
      expect(await countQueries(database, () => site.post('/notes', keyed('k1')))).to.be.above(1)
    }),
  )
})

function type(name: string): Record<string, string> {
  return { 'Content-Type': `application/${name}` }
}

function upload(name: string, content: string): FormData {
  const form = new FormData()
  form.append('title', 'a')
  form.append('file', new Blob([content], { type: 'text/plain' }), name)
  return form
}

function html(ctx: Context, text: string): void {
  ctx.type = 'html'
  ctx.body = text
}

function bytes(ctx: Context, text: string): void {
  ctx.type = 'json'
  ctx.body = Buffer.from(text)
}

function stream(ctx: Context, text: string): void {
  ctx.type = 'json'
  ctx.body = new Blob([text]).stream()
}
