import { expect } from 'chai'
import { client } from './support/app.js'

describe('app', () => {
  it('is up', async () => {
    const answer = await client.get('/up')
    expect(answer.status).to.equal(200)
  })

  it('answers 404 with problem details to an unknown path', async () => {
    const answer = await client.get('/nope')
    expect(answer.status).to.equal(404)
    expect(answer.json).to.include({ status: 404, detail: 'no route matches GET /nope' })
  })
})
