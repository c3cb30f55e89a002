import { expect } from 'chai'
import { client } from '../support/app.js'

describe('home', () => {
  it('welcomes its visitors', async () => {
    const answer = await client.get('/')
    expect(answer.status).to.equal(200)
    expect(answer.text).to.include('Welcome to %title%')
  })
})
