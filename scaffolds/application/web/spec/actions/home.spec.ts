import { expect } from 'chai'
import { request } from '../support/app.js'

describe('home', () => {
  it('welcomes its visitors', async () => {
    const answer = await request('GET', '/')
    expect(answer.status).to.equal(200)
    expect(answer.text).to.include('Welcome to %title%')
  })
})
