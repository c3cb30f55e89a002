import { expect } from 'chai'
import { mails } from 'resource-kit/mail'
import type { User } from '../../src/models/user.js'
import { client, isolate } from '../support/app.js'
import { makeUser, password as current_password, signIn } from '../support/users.js'

describe('AccountResource', () => {
  isolate()

  const password = 'another long password'
  let ada: User

  beforeEach(async () => {
    mails.clear()
    ada = await makeUser()
    await signIn(client, ada)
  })

  async function put(path: string, form: Record<string, string> = {}) {
    await client.get('/account/edit')
    return client.post(path, { form: { _method: 'PUT', ...form } })
  }

  /** The path of the link in the last mail. */
  function linkTo(path: string): string {
    return new RegExp(`http://[^/]+(${path}/\\S+)`).exec(mails.last?.text ?? '')?.[1] ?? 'no link'
  }

  it('changes the password, and ends the other sessions', async () => {
    const other = client.another()
    await signIn(other, ada)
    expect((await put('/account', { current_password, password })).location).to.equal('/account/edit')
    expect((await client.get('/account/edit')).status).to.equal(200)
    expect((await other.get('/account/edit')).location).to.equal('/session/new')
    expect(mails.last).to.include({ name: 'password_changed', to: ada.email })
    expect(mails.last?.text).to.match(/\/password_reset\/new$/m)
  })

  it('ends the links to reset the password, when password or address change', async () => {
    for (const change of ['/account', '/account/email']) {
      await client.get('/password_reset/new')
      await client.post('/password_reset', { form: { email: ada.email } })
      const link = linkTo('/password_reset/open')
      await put(change, { current_password, password: current_password, email: 'new@example.com' })
      if (change === '/account/email') await put(linkTo('/account/email'))
      await client.get(link)
      expect((await client.get('/password_reset/edit')).location, change).to.equal('/password_reset/new')
    }
  })

  it('rejects even the right password after ten wrong ones, and the session goes on', async () => {
    const wrong = { current_password: 'wrong', password }
    for (let attempt = 1; attempt <= 10; attempt += 1) await put('/account', wrong)
    expect((await put('/account', { current_password, password })).status).to.equal(429)
    expect((await client.get('/account/edit')).status).to.equal(200)
  })

  it('requires the current password', async () => {
    for (const path of ['/account', '/account/email']) {
      const page = await put(path, { current_password: 'wrong', password, email: 'new@example.com' })
      expect(page.status).to.equal(422)
      expect(page.text).to.include('The current password is wrong.')
    }
    expect(mails.all).to.deep.equal([])
  })

  it('changes the address with the button of the page that its link opens', async () => {
    await put('/account/email', { current_password, email: ' New@Example.com ' })
    expect(mails.last).to.include({ name: 'email_change', to: 'new@example.com' })
    const path = linkTo('/account/email')
    const other = client.another()
    await signIn(other, ada)
    const page = await client.get(path)
    expect(page.text).to.include('You will sign in with new@example.com from now on.')
    expect(page.text).to.include(`action="${path}"`)
    expect(page.headers.get('Cache-Control')).to.equal('no-store')
    expect((await client.get('/account/edit')).text).to.include(ada.email)
    expect((await put(path)).location).to.equal('/account/edit')
    expect((await client.get('/account/edit')).text).to.include('new@example.com')
    expect((await other.get('/account/edit')).location).to.equal('/session/new')
    expect(mails.last).to.include({ name: 'email_changed', to: ada.email })
    const expired = await client.get(path)
    expect(expired.status).to.equal(400)
    expect(expired.text).to.include('The link has expired or was used before.')
    expect((await put(path)).status).to.equal(400)
  })
})
