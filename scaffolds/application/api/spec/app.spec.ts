import { expect } from 'chai'
import { client } from './support/app.js'

describe('app', () => {
  it('is up', async () => {
    const response = await client.get('/up')
    expect(response.status).to.equal(200)
  })

  it('returns 404 with problem details for an unknown path', async () => {
    const response = await client.get('/nope')
    expect(response.status).to.equal(404)
    expect(response.json).to.include({ status: 404, detail: 'No route matches GET /nope.' })
  })
})
