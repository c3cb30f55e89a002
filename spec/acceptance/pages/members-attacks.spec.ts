import { expect } from 'chai'
import { pino } from 'pino'
import { hashPassword, needsRehash, passwordStamp, signedToken } from '../../../src/auth/index.js'
import type { App, Database } from '../../../src/index.js'
import { mails } from '../../../src/mail/index.js'
import type { Client } from '../../../src/testing/index.js'
import { openExampleMembers } from '../../support/applications/example-members.js'
import { itOnce } from '../../support/engine.js'
import { cheapHash } from '../../support/passwords.js'
import type { Site } from '../../support/site.js'

const email = 'ada@example.com'
const password = 'correct horse battery staple'

describe('An attacker of examples/members', () => {
  let site: Site
  let app: App
  let database: Database
  let lines: string[] = []

  before(async () => {
    ;({ app, site, database } = await openExampleMembers())
    app.logger.level = 'info'
    Reflect.set(app.logger, pino.symbols.streamSym, { write: (line: string) => lines.push(line) })
  })

  beforeEach(async () => {
    mails.clear()
    for (const table of ['rate_limits', 'sessions', 'posts', 'users'])
      await database.query(`DELETE FROM ${table}`)
    await make(email, await hashPassword(password))
    lines = []
  })

  after(() => site?.close())

  async function make(email: string, password_hash: string): Promise<void> {
    await database.manager.insert('users', { id: crypto.randomUUID(), email, password_hash })
  }

  /** A visitor with cookies of its own. */
  function visitor(): Client {
    return site.another()
  }

  async function enter(client: Client, given = password, address = email) {
    await client.get('/session/new')
    return client.post('/session', { form: { email: address, password: given } })
  }

  function signInByJson(json: object) {
    return visitor().post('/session', { json, accept: 'json' })
  }

  /** The path of the link in the last mail. */
  function link(): string {
    return /http:\/\/[^/]+(\/\S+)/.exec(mails.last?.text ?? '')?.[1] ?? 'no link'
  }

  it('creates no sessions in the table by requesting pages, and by links that are forged', async () => {
    const forged = signedToken('password reset', crypto.randomUUID(), { expires: '1 day', stamp: 'x' })
    for (const path of ['/account/edit', '/posts?q=1', '/session/new']) await visitor().get(path)
    for (const token of ['x'.repeat(6000), forged]) {
      const opened = await visitor().get(`/password_reset/open/${token}`)
      expect([opened.status, opened.location]).to.deep.equal([303, '/password_reset/new'])
    }
    expect(await database.query('SELECT id FROM sessions')).to.deep.equal([])
  })

  it('has 10 attempts, however many are concurrent and however the address is spelled', async () => {
    const spellings = [email, ' ADA@EXAMPLE.COM', 'ａｄａ@example.com\t', 'Ada@Example.com\n']
    const attempts = Array.from({ length: 100 }, (_, index) =>
      signInByJson({ email: spellings[index % 4], password: 'wrong' }),
    )
    const statuses = (await Promise.all(attempts)).map(({ status }) => status)
    const count = (wanted: number): number => statuses.filter((status) => status === wanted).length
    // On a busy machine, some requests get no connection in time.
    const attempted = count(401) + count(503)
    expect(count(401)).to.be.at.most(10)
    expect(attempted).to.be.at.least(10)
    expect(attempted + count(429)).to.equal(100)
    expect((await signInByJson({ email, password })).status).to.equal(429)
  })

  itOnce('uses up the attempts for the account of another user, and not those of its own', async () => {
    const eve = visitor()
    await make('eve@example.com', await hashPassword(password))
    await enter(eve, password, 'eve@example.com')
    const left = async (client: Client) => {
      const { status, headers } = await enter(client, 'wrong', ' ADA@example.com')
      expect(status).to.equal(422)
      return /"sign-in by account";r=(\d+)/.exec(headers.get('RateLimit') ?? '')?.[1]
    }
    expect([await left(eve), await left(visitor()), await left(eve)]).to.deep.equal(['49', '48', '47'])
  })

  it('gets no error from an address or a password that is malformed', async () => {
    const long = `${'\u0301\u0323'.repeat(50_000)}@example.com`
    const cases: [unknown, unknown][] = [
      ['ada@example.com\0', password],
      ['\ud800@example.com', '\ud800'],
      [long, password],
      [email, '\u0301\u0323'.repeat(50_000)],
      [[email], [password]],
      [{ $ne: '' }, { $ne: '' }],
    ]
    for (const [address, given] of cases)
      expect((await signInByJson({ email: address, password: given })).status).to.equal(401)
  })

  it('gets three mails for ten concurrent requests to reset a password', async () => {
    const clients = Array.from({ length: 10 }, () =>
      visitor().post('/password_reset', { json: { email: 'Ada@example.com ' }, accept: 'json' }),
    )
    const statuses = (await Promise.all(clients)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 429).length).to.equal(7)
    expect(mails.all.map(({ to }) => to)).to.deep.equal([email, email, email])
  })

  it('cannot use a link twice, also at the same time', async () => {
    await visitor().post('/password_reset', { json: { email }, accept: 'json' })
    const path = link()
    const clients = [visitor(), visitor(), visitor()]
    for (const client of clients) await client.get((await client.get(path)).location)
    const passwords = ['the first new password', 'the second new password', 'the third new password']
    const responses = await Promise.all(
      clients.map((client, index) =>
        client.post('/password_reset', { form: { _method: 'PUT', password: passwords[index] ?? '' } }),
      ),
    )
    const won = responses.map(({ location }) => location === '/session/new')
    expect(won.filter(Boolean)).to.have.length(1)
    const entered = []
    for (const given of [...passwords, password]) entered.push((await enter(visitor(), given)).status === 303)
    expect(entered).to.deep.equal([...won, false])
  })

  itOnce('cannot forge a link, whatever id it has', async () => {
    const [user] = await database.query('SELECT * FROM users')
    const forged = [
      signedToken('password reset', user.id, { expires: '1 hour', stamp: 'x' }),
      signedToken('password reset', user.id, { expires: '1 hour' }),
      signedToken('email change', user.id, { expires: '1 hour', stamp: passwordStamp(user) }),
      signedToken('password reset', "' OR 1=1", {
        expires: '1 hour',
        stamp: passwordStamp(user),
        secret: 'x'.repeat(40),
      }),
      `${Buffer.from('{"value":"x","expires":9e15}').toString('base64url')}.x`,
    ]
    for (const token of forged) {
      const client = visitor()
      expect((await client.get(`/password_reset/open/${token}`)).location).to.equal('/password_reset/new')
      expect((await client.get('/password_reset/edit')).location).to.equal('/password_reset/new')
    }
  })

  itOnce('cannot sign up with an address to which no mail can be sent', async () => {
    for (const address of [
      '"ada@example.com x"@evil.example',
      '"a,b"@evil.example',
      'a\u2028b@evil.example',
    ]) {
      const json = { email: address, password }
      const { status, json: body } = await visitor().post('/registration', { json, accept: 'json' })
      expect([status, Object.keys(body.errors ?? {})], address).to.deep.equal([422, ['email']])
    }
  })

  itOnce('cannot change the address to one with half a surrogate pair', async () => {
    const client = visitor()
    await enter(client)
    for (const address of ['\ud800@example.com', 'ada@\udc00.example']) {
      const json = { email: address, current_password: password }
      expect((await client.put('/account/email', { json, accept: 'json' })).status).to.equal(422)
    }
  })

  it('sends at most three mails an hour to the address of a stranger, however it is spelled', async () => {
    const client = visitor()
    await enter(client)
    for (const [domain, status] of [
      ['example.org', 200],
      ['EXAMPLE.org', 200],
      ['ex\u00adample.org', 200],
      ['example.org\u00ad', 429],
    ] as const) {
      const json = { email: `stranger@${domain}`, current_password: password }
      expect((await client.put('/account/email', { json, accept: 'json' })).status).to.equal(status)
    }
    expect(mails.all.map(({ to }) => to)).to.deep.equal(Array(3).fill('stranger@example.org'))
  })

  it('does not change the address when a program opens the link in the mail', async () => {
    const client = visitor()
    await enter(client)
    const json = { email: 'new@example.com', current_password: password }
    await client.put('/account/email', { json, accept: 'json' })
    for (const method of ['HEAD', 'GET', 'GET'])
      expect((await client.request(method, link())).status).to.equal(200)
    expect(await database.query('SELECT email FROM users')).to.deep.equal([{ email }])
    expect(mails.all).to.have.length(1)
    const { status } = await client.put(link(), { json: {}, accept: 'json' })
    expect(status).to.equal(200)
    expect(await database.query('SELECT email FROM users')).to.deep.equal([{ email: 'new@example.com' }])
  })

  it('cannot change the address with a link while the password is changed', async () => {
    const client = visitor()
    await enter(client)
    await client.get('/account/edit')
    const form = { _method: 'PUT', current_password: password, email: 'eve@example.com' }
    await client.post('/account/email', { form })
    const path = link()
    const password_hash = await hashPassword('the new password')
    const { read } = database
    // The password is changed after the request has read its user.
    database.read = async (work) => {
      database.read = read
      const result = await database.read(work)
      await database.manager.update('users', { email }, { password_hash })
      return result
    }
    expect((await client.put(path, { json: {}, accept: 'json' })).status).to.equal(401)
    expect(await database.query('SELECT email, password_hash FROM users')).to.deep.equal([
      { email, password_hash },
    ])
  })

  itOnce('finds the events of accounts in the log with user id and address, and no secret', async () => {
    const client = visitor()
    const secrets = [password, 'wrong password', 'the new password', 'the newest password']
    await client.get('/account/edit')
    await enter(client, 'wrong password')
    await enter(client)
    await client.get('/account/edit')
    const change = { _method: 'PUT', current_password: password, password: 'the new password' }
    expect((await client.post('/account', { form: change })).status).to.equal(303)
    await client.get('/account/edit')
    await client.post('/session', { form: { _method: 'DELETE' } })
    await client.get('/password_reset/new')
    await client.post('/password_reset', { form: { email } })
    const path = link()
    await client.get((await client.get(path)).location)
    await client.post('/password_reset', { form: { _method: 'PUT', password: 'the newest password' } })
    await visitor().get('/account', { accept: 'json', headers: { Authorization: 'Bearer stolen-token' } })

    const [user] = await database.query('SELECT id FROM users')
    const events = lines.map((line) => JSON.parse(line)).filter(({ event }) => event)
    expect(events.map(({ event, user_id, ip }) => [event, user_id ?? 'nobody', ip])).to.deep.equal(
      [
        ['rejected', 'nobody'],
        ['sign_in_failed', user.id],
        ['signed_in', user.id],
        ['signed_in', user.id],
        ['password_changed', user.id],
        ['signed_out', user.id],
        ['reset_requested', user.id],
        ['password_reset', user.id],
        ['rejected', 'nobody'],
      ].map((event) => [...event, '127.0.0.1']),
    )
    const log = lines.join('')
    const token = path.split('/').at(-1) ?? ''
    for (const secret of [...secrets, token, 'stolen-token', 'scrypt']) expect(log).to.not.include(secret)
  })

  itOnce('finds stronger hashes after the sign-in of a user whose hash was weak', async () => {
    await database.manager.update('users', { email }, { password_hash: cheapHash(password) })
    const client = visitor()
    expect((await enter(client)).status).to.equal(303)
    const [{ password_hash }] = await database.query('SELECT password_hash FROM users')
    expect(needsRehash(password_hash)).to.equal(false)
    expect((await client.get('/account/edit')).text).to.include(email)
    expect((await enter(visitor())).status).to.equal(303)
  })
})
