import { expect } from 'chai'
import { client, isolate } from '../support/app.js'
import { makeUser, password, signIn, signOut } from '../support/users.js'

describe('SessionResource', () => {
  isolate()

  it('lets a user in, until the sign-out', async () => {
    const ada = await makeUser()
    expect((await client.get('/account/edit')).location).to.equal('/session/new')
    expect((await signIn(client, ada)).location).to.equal('/account/edit')
    expect((await client.get('/account/edit')).text).to.include(ada.email)
    expect((await signOut(client)).location).to.equal('/')
    expect((await client.get('/account/edit')).location).to.equal('/session/new')
  })

  it('finds the address in any spelling', async () => {
    const ada = await makeUser()
    await client.get('/session/new')
    const form = { email: ` ${ada.email.toUpperCase()} `, password }
    expect((await client.post('/session', { form })).status).to.equal(303)
  })

  it('returns the same page for a wrong password and an unknown address', async () => {
    const ada = await makeUser()
    for (const user of [ada, { ...ada, email: 'nobody@example.com' }]) {
      const page = await signIn(client, user as typeof ada, 'wrong')
      expect(page.status).to.equal(422)
      expect(page.text).to.include('The email address or the password is wrong.')
    }
  })

  it('returns 401 for JSON with a wrong password, and never the hash', async () => {
    const { email } = await makeUser()
    const wrong = await client.post('/session', { json: { email, password: 'wrong' }, accept: 'json' })
    expect(wrong.status).to.equal(401)
    const right = await client.post('/session', { json: { email, password }, accept: 'json' })
    expect(right.json).to.include({ email }).and.not.have.property('password_hash')
  })

  it('rejects even the right password after ten wrong ones', async () => {
    const ada = await makeUser()
    for (let attempt = 1; attempt <= 10; attempt += 1) await signIn(client, ada, 'wrong')
    expect((await signIn(client, ada)).status).to.equal(429)
  })
})
