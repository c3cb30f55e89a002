import { expect } from 'chai'
import { mails } from 'resource-kit/mail'
import { client, isolate } from '../support/app.js'
import { makeUser, signIn } from '../support/users.js'

describe('PasswordResetResource', () => {
  isolate()
  beforeEach(() => mails.clear())

  const password = 'another long password'

  async function request(email: string) {
    await client.get('/password_reset/new')
    return client.post('/password_reset', { form: { email } })
  }

  /** The path of the link in the last mail. */
  function link(): string {
    return /http:\/\/[^/]+(\/password_reset\/open\/\S+)/.exec(mails.last?.text ?? '')?.[1] ?? 'no link'
  }

  async function choose(path: string) {
    await client.get((await client.get(path)).location)
    return client.post('/password_reset', { form: { _method: 'PUT', password } })
  }

  it('changes the password by the link in the mail, which works once', async () => {
    const ada = await makeUser()
    await request(ada.email)
    const path = link()
    expect((await choose(path)).location).to.equal('/session/new')
    expect(mails.last).to.include({ name: 'password_changed', to: ada.email })
    expect((await signIn(client, ada)).status).to.equal(422)
    expect((await signIn(client, ada, password)).status).to.equal(303)
    await client.get(path)
    expect((await client.get('/password_reset/edit')).location).to.equal('/password_reset/new')
  })

  it('returns the same response for an unknown address, and sends nothing', async () => {
    const ada = await makeUser()
    const [known, unknown] = [await request(ada.email), await request('nobody@example.com')]
    expect([unknown.status, unknown.location]).to.deep.equal([known.status, known.location])
    expect(mails.all.map(({ to }) => to)).to.deep.equal([ada.email])
  })

  it('moves the token out of the address', async () => {
    const ada = await makeUser()
    await request(ada.email)
    const opened = await client.get(link())
    expect(opened.location).to.equal('/password_reset/edit')
    expect(opened.headers.get('Referrer-Policy')).to.equal('same-origin')
    expect((await client.get(opened.location)).headers.get('Cache-Control')).to.equal('no-store')
  })

  it('sends another link on request, and earlier ones work until one is used', async () => {
    const ada = await makeUser()
    await request(ada.email)
    const first = link()
    await request(ada.email)
    const second = link()
    await client.get(first)
    expect((await choose(first)).location).to.equal('/session/new')
    expect((await client.get('/account/edit')).location).to.equal('/session/new')
    expect((await choose(second)).location).to.equal('/password_reset/new')
  })

  it('rejects a link after 20 minutes', async () => {
    const ada = await makeUser()
    await request(ada.email)
    const { now } = Date
    try {
      Date.now = () => now() + 20 * 60_000
      expect((await choose(link())).location).to.equal('/password_reset/new')
    } finally {
      Date.now = now
    }
  })

  it('rejects a forged link, and a common password', async () => {
    expect((await client.get('/password_reset/open/forged')).location).to.equal('/password_reset/new')
    expect((await client.get('/password_reset/edit')).location).to.equal('/password_reset/new')
    const ada = await makeUser()
    await request(ada.email)
    await client.get((await client.get(link())).location)
    const page = await client.post('/password_reset', { form: { _method: 'PUT', password: 'password1' } })
    expect(page.status).to.equal(422)
  })

  it('sends at most three mails an hour to an address', async () => {
    const ada = await makeUser()
    for (let mail = 1; mail <= 3; mail += 1) await request(ada.email)
    expect((await request(` ${ada.email.toUpperCase()}`)).status).to.equal(429)
  })

  it('sends at most ten mails an hour for a client', async () => {
    for (let mail = 1; mail <= 10; mail += 1) await request(`nobody${mail}@example.com`)
    expect((await request('nobody@example.com')).status).to.equal(429)
  })
})
