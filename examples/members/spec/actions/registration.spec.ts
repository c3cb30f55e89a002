import { expect } from 'chai'
import { client, isolate } from '../support/app.js'
import { makeUser, password } from '../support/users.js'

describe('RegistrationResource', () => {
  isolate()

  async function signUp(form: Record<string, string>) {
    await client.get('/registration/new')
    return client.post('/registration', { form })
  }

  it('creates an account and signs in', async () => {
    const response = await signUp({ email: ' Ada@Example.com ', password })
    expect(response.location).to.equal('/')
    expect((await client.get('/account/edit')).text).to.include('ada@example.com')
  })

  it('shows the form again for a bad address or a common password', async () => {
    const page = await signUp({ email: 'ada', password: 'password' })
    expect(page.status).to.equal(422)
    expect(page.text).to.include('one of the most common passwords')
    expect((await client.get('/account/edit')).location).to.equal('/session/new')
  })

  it('reports an address that has an account', async () => {
    const { email } = await makeUser()
    expect((await signUp({ email, password })).status).to.equal(409)
  })

  it('creates one account if two visitors sign up with an address at once', async () => {
    const request = { json: { email: 'ada@example.com', password }, accept: 'json' }
    const visitors = [client, client.another()]
    const responses = await Promise.all(visitors.map((it) => it.post('/registration', request)))
    expect(responses.map(({ status }) => status).toSorted()).to.deep.equal([201, 409])
  })

  it('ignores attributes that only the application sets', async () => {
    const json = { email: 'ada@example.com', password, password_hash: 'mine', id: 'mine' }
    const response = await client.post('/registration', { json, accept: 'json' })
    expect(response.status).to.equal(201)
    expect(response.json.id).to.not.equal('mine')
  })
})
