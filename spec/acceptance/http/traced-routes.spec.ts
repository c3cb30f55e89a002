import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

interface Span {
  name: string
  attributes: Record<string, unknown>
}

describe('The instrumentations of OpenTelemetry for HTTP and Koa', () => {
  let spans: Span[]

  before(() => {
    const main = fileURLToPath(new URL('../../support/processes/traced-main.js', import.meta.url))
    spans = JSON.parse(execFileSync(process.execPath, [main], { encoding: 'utf8' }))
  })

  /** The span of the request for a path. */
  function requestFor(path: string): Span | undefined {
    return spans.find(({ attributes }) => attributes['url.path'] === path)
  }

  it('name a request after its route', () => {
    expect(requestFor('/posts/1')).to.have.property('name', 'GET /posts/:post_id')
    expect(requestFor('/posts/1')?.attributes).to.include({ 'http.route': '/posts/:post_id' })
  })

  it('give no route to a request for an unknown path', () => {
    expect(requestFor('/nothing')?.attributes).to.include({ 'http.response.status_code': 404 })
    expect(requestFor('/nothing')?.attributes).to.not.have.property('http.route')
  })

  it('see the route as a layer of a router', () => {
    const layers = spans.filter(({ attributes }) => attributes['koa.type'] === 'router')
    expect(layers.map(({ name }) => name)).to.deep.equal(['router - /posts/:post_id'])
  })
})
