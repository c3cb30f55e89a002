import { expect } from 'chai'
import { mails } from 'resource-kit/mail'
import type { User } from '../../src/models/user.js'
import { client, isolate } from '../support/app.js'
import { makeUser, password as present_password, signIn } from '../support/users.js'

describe('AccountResource', () => {
  isolate()

  const password = 'another long password'
  let ada: User

  beforeEach(async () => {
    mails.clear()
    ada = await makeUser()
    await signIn(client, ada)
  })

  async function put(path: string, form: Record<string, string>) {
    await client.get('/account/edit')
    return client.post(path, { form: { _method: 'PUT', ...form } })
  }

  it('changes the password, and ends the other sessions', async () => {
    const other = client.another()
    await signIn(other, ada)
    expect((await put('/account', { present_password, password })).location).to.equal('/account/edit')
    expect((await client.get('/account/edit')).status).to.equal(200)
    expect((await other.get('/account/edit')).location).to.equal('/session/new')
    expect(mails.last).to.include({ name: 'password_changed', to: ada.email })
  })

  it('requires the present password', async () => {
    for (const path of ['/account', '/account/email']) {
      const page = await put(path, { present_password: 'wrong', password, email: 'new@example.com' })
      expect(page.status).to.equal(422)
      expect(page.text).to.include('The present password is wrong.')
    }
    expect(mails.all).to.deep.equal([])
  })

  it('changes the address after its link was opened', async () => {
    await put('/account/email', { present_password, email: ' New@Example.com ' })
    expect(mails.last).to.include({ name: 'email_change', to: 'new@example.com' })
    expect((await client.get('/account/edit')).text).to.include(ada.email)
    const path = /http:\/\/[^/]+(\/account\/email\/\S+)/.exec(mails.last?.text ?? '')?.[1] ?? 'no link'
    expect((await client.get(path)).location).to.equal('/account/edit')
    expect((await client.get('/account/edit')).text).to.include('new@example.com')
    expect(mails.last).to.include({ name: 'email_changed', to: ada.email })
    expect((await client.get(path)).status).to.equal(400)
  })
})
