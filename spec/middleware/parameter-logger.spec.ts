import { expect } from 'chai'
import { QueryFailedError } from 'typeorm'
import { App, parameterLogger, type Context, type ParameterLoggerOptions } from '../../src/index.js'
import { captureLog } from '../../src/testing/index.js'
import { Site, type SpecRequest } from '../support/site.js'

const ok = (ctx: Context) => {
  ctx.body = 'ok'
}

/** A form with secrets, one of them a file. */
function multipart(): FormData {
  const body = new FormData()
  body.set('password', 'hunter2')
  body.set('user[credit_card]', 'hunter2')
  body.set('secret_file', new Blob(['hunter2']), 'hunter2.txt')
  body.set('title', 'shown')
  return body
}

describe('parameterLogger(options)', () => {
  let site: Site
  let log: ReturnType<typeof captureLog>

  afterEach(() => site.close())

  async function open(options?: ParameterLoggerOptions, env = 'test'): Promise<void> {
    log = captureLog()
    const app = new App({ logger: log.logger, env })
    app.use(parameterLogger(options))
    app.post('/failing', () => {
      throw new Error('broken')
    })
    app.get('/posts', ok)
    app.post('/posts/{post_id}', ok)
    app.get('/invitations/{invitation_token}/{page}', ok)
    app.post('/query', () => {
      const driverError = Object.assign(new Error('no such table'), {
        sql: "INSERT 'hunter2'",
        detail: 'row (hunter2)',
      })
      throw new QueryFailedError('INSERT INTO users VALUES (?)', ['hunter2'], driverError)
    })
    site = await Site.open(app)
  }

  /** The line of the request. It is written after the response, which closing the application waits for. */
  async function line(): Promise<Record<string, unknown> | undefined> {
    await site.close()
    return log.lines.find(({ msg }) => /^[A-Z]+ /.test(String(msg)))
  }

  async function logged(): Promise<Record<string, unknown>> {
    const { params, query, body, files } = (await line()) ?? {}
    return JSON.parse(JSON.stringify({ params, query, body, files }))
  }

  it('logs the parameters of path, query and body as fields', async () => {
    await open()
    await site.post('/posts/1?draft=true', { form: { title: 'Hello', 'tags[]': 'a' } })
    expect(await logged()).to.deep.equal({
      params: { post_id: '1' },
      query: { draft: 'true' },
      body: { title: 'Hello', tags: ['a'] },
    })
  })

  it('logs them in the line of the request', async () => {
    await open()
    await site.get('/posts?page=2', { headers: { 'x-request-id': 'abc' } })
    expect(await line()).to.include({ request_id: 'abc', level: 30, status: 200 })
  })

  it('logs no fields if there are no parameters', async () => {
    await open()
    await site.get('/posts')
    expect(await logged()).to.deep.equal({})
  })

  it('logs files by name and size', async () => {
    await open()
    const body = new FormData()
    body.set('title', 'Hello')
    body.set('photo', new Blob(['12345']), 'me.png')
    await site.post('/posts/1', { form: body })
    expect(await logged()).to.deep.include({
      body: { title: 'Hello' },
      files: { photo: { name: 'me.png', size: 5 } },
    })
  })

  const deep = {
    title: 'shown',
    user: { password: 'hunter2', logins: [{ apiToken: 'hunter2' }, { 'card-cvc': 'hunter2' }] },
  }
  const requests: Record<string, SpecRequest & { path?: string }> = {
    'the query': {
      path: '/posts/1?title=shown&password=hunter2&user[authToken]=hunter2&a[b][c]=1&a[b][secret]=hunter2',
    },
    'a form': {
      form: {
        title: 'shown',
        password: 'hunter2',
        'user[newPassword]': 'hunter2',
        'a[b][][c][CVC]': 'hunter2',
      },
    },
    'a form nested deeper than it is read': {
      form: { title: 'shown', 'a[b][c][d][e][f][g][password]': 'hunter2' },
    },
    'a multipart form': { form: multipart() },
    JSON: { json: deep },
    'a list in JSON': { json: [deep, [{ secret: 'hunter2', title: 'shown' }]] },
    XML: {
      xml: '<user password="hunter2"><title>shown</title><password>hunter2</password><l><authorization><x>hunter2</x></authorization></l></user>',
    },
  }
  for (const [what, { path = '/posts/1', ...request }] of Object.entries(requests)) {
    it(`shows none of the secrets in ${what}`, async () => {
      await open()
      expect((await site.post(path, request)).status).to.equal(200)
      await site.close()
      expect(log.text()).to.contain('shown').and.to.contain('[FILTERED]').and.not.to.contain('hunter2')
    })
  }

  it('redacts secrets in the path, also in the line of the request', async () => {
    await open()
    await site.get('/invitations/hunter2/details')
    await site.post('/invitations/hunter2/details', { json: {} })
    expect(await logged()).to.deep.equal({ params: { invitation_token: '[FILTERED]', page: 'details' } })
    expect(log.text()).to.contain('/invitations/[FILTERED]/details').and.not.to.contain('hunter2')
  })

  it('redacts additional names', async () => {
    await open({ words: ['passport'] })
    await site.post('/posts/1', { json: { passport: 'hunter2', name: 'shown' } })
    expect(await logged()).to.deep.include({ body: { passport: '[FILTERED]', name: 'shown' } })
  })

  it('logs only the beginning of a large body', async () => {
    await open({ limit: 500 })
    await site.post('/posts/1', { json: { text: 'x'.repeat(900_000) } })
    expect(JSON.stringify(await logged()).length).to.be.below(700)
  })

  it('redacts the same names on the error page of development', async () => {
    await open({ words: ['passport'] }, 'development')
    const { status, text } = await site.post('/failing?token=hunter2', {
      form: { title: 'shown', passport: 'hunter2' },
    })
    expect(status).to.equal(500)
    expect(text).to.contain('shown').and.to.contain('[FILTERED]').and.not.to.contain('hunter2')
  })

  it('redacts secrets in the path on the error page of development, whatever the error', async () => {
    await open({}, 'development')
    for (const method of ['DELETE', 'POST']) {
      const response = await site.request(method, '/invitations/hunter2/details', { json: {} })
      expect(response.status, method).to.equal(405)
      expect(response.text).to.contain('/invitations/[FILTERED]/details').and.not.to.contain('hunter2')
    }
  })

  it('leaves the values of a failed query out of the log', async () => {
    await open()
    expect((await site.post('/query', { form: { password: 'hunter2' } })).status).to.equal(500)
    expect(log.text())
      .to.contain('INSERT INTO users')
      .and.to.contain('no such table')
      .and.not.to.contain('hunter2')
  })
})
