import { expect } from 'chai'
import { once } from 'node:events'
import { connect } from 'node:net'
import { GracefulServer } from '../../src/server/graceful-server.js'

describe('GracefulServer', () => {
  it('closes an idle connection whose last request got its response before all of its body had arrived', async () => {
    const server = new GracefulServer((_req, res) => res.end('early'))
    const { port } = new URL(await server.listen(0, '127.0.0.1'))
    const socket = connect(Number(port), '127.0.0.1')
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\nthe first ')
    await once(socket, 'data')
    socket.write('and second')
    const timeout = 60_000
    const start = performance.now()
    await Promise.all([server.close(timeout), once(socket, 'close')])
    expect(performance.now() - start).to.be.below(timeout / 2)
  })
})
