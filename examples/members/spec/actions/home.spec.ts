import { expect } from 'chai'
import { client } from '../support/app.js'

describe('home', () => {
  it('shows a welcome message', async () => {
    const response = await client.get('/')
    expect(response.status).to.equal(200)
    expect(response.text).to.include('Welcome to Members')
  })
})
