import { once } from 'node:events'
import { createServer, request, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { forward } from '../../src/cli/forward.js'

describe('forward(req, res, address)', () => {
  const servers: Server[] = []
  let front: number

  async function listen(listener: RequestListener): Promise<number> {
    const server = createServer(listener).listen(0, '127.0.0.1')
    servers.push(server)
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }

  async function visit(path: string): Promise<string> {
    const sent = request({ host: '127.0.0.1', port: front, path, agent: false }).end()
    const [answer] = await once(sent, 'response')
    const chunks: Buffer[] = []
    for await (const chunk of answer) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks).toString()
  }

  before(async () => {
    const application = await listen((req, res) => res.end(`the application: ${req.url}`))
    front = await listen((req, res) => forward(req, res, `http://127.0.0.1:${application}`))
  })

  after(() => {
    for (const server of servers) server.close()
  })

  it('hands a path and its query over as they came', async () => {
    expect(await visit('/posts/%2e%2e/x?a=1&a=%20')).to.equal('the application: /posts/%2e%2e/x?a=1&a=%20')
  })

  it('goes to no other host, whatever the path names', async () => {
    const other = await listen((_req, res) => res.end('another host'))
    for (const path of [`//127.0.0.1:${other}/posts`, `http://127.0.0.1:${other}/posts`]) {
      expect(await visit(path)).to.equal(`the application: ${path}`)
    }
  })
})
