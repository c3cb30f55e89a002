import { once } from 'node:events'
import { Agent, createServer, request, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { forward } from '../../../src/cli/support/forward.js'

describe('forward(req, res, address)', () => {
  const servers: Server[] = []
  const agent = new Agent({ keepAlive: true })
  let front: number

  async function listen(listener: RequestListener): Promise<number> {
    const server = createServer(listener).listen(0, '127.0.0.1')
    servers.push(server)
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }

  async function visit(path: string, body?: Buffer): Promise<string> {
    const method = body ? 'POST' : 'GET'
    const sent = request({ host: '127.0.0.1', port: front, path, method, agent }).end(body)
    const [response] = await once(sent, 'response')
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks).toString()
  }

  before(async () => {
    const application = await listen((req, res) => {
      res.end(`the application: ${req.url}`)
      req.resume()
    })
    front = await listen((req, res) => forward(req, res, `http://127.0.0.1:${application}`))
  })

  after(() => {
    agent.destroy()
    for (const server of servers) server.close()
  })

  it('forwards a path and its query unchanged', async () => {
    expect(await visit('/posts/%2e%2e/x?a=1&a=%20')).to.equal('the application: /posts/%2e%2e/x?a=1&a=%20')
  })

  it('forwards the response of an application that does not wait for the end of the body', async () => {
    const body = Buffer.alloc(20_000_000)
    for (let time = 0; time < 10; time++)
      expect(await visit('/posts', body)).to.equal('the application: /posts')
  })

  it('connects to no other host, whatever the path names', async () => {
    const other = await listen((_req, res) => res.end('another host'))
    for (const path of [`//127.0.0.1:${other}/posts`, `http://127.0.0.1:${other}/posts`]) {
      expect(await visit(path)).to.equal(`the application: ${path}`)
    }
  })
})
