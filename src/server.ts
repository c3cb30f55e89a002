import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { PortTaken } from './errors.js'

/** Milliseconds that a connection on which nothing was asked yet may still do so, once the server closes. */
const patienceWithSilence = 1000

/** An HTTP server that, when it closes, lets the requests finish that are under way. */
export class GracefulServer {
  private server: Server | undefined
  private isClosing = false
  private readonly underWay = new Set<ServerResponse>()
  /** Connections on which no request has come yet: browsers open some in advance. */
  private readonly silent = new Set<Socket>()

  constructor(private readonly listener: RequestListener) {}

  /**
   * Listens on a port; 0 takes any that is free.
   *
   * @returns the address: `http://127.0.0.1:3000`
   * @throws PortTaken when another process listens there
   */
  async listen(port: number, host: string | undefined): Promise<string> {
    const server = createServer((req, res) => {
      this.silent.delete(req.socket)
      this.underWay.add(res)
      res.once('close', () => this.underWay.delete(res))
      if (this.isClosing) endConnection(res)
      this.listener(req, res)
    })
    server.on('connection', (socket: Socket) => {
      this.silent.add(socket)
      socket.once('close', () => this.silent.delete(socket))
    })
    await new Promise<void>((listening, failed) => {
      server.once('error', (error) => failed(isPortTaken(error) ? new PortTaken(port, error) : error))
      server.listen({ port, ...(host && { host }) }, listening)
    })
    this.server = server
    return addressOf(server)
  }

  /**
   * Stops accepting connections, and waits for the requests that are under way.
   *
   * @param timeout milliseconds after which connections that are still open are cut
   */
  async close(timeout: number): Promise<void> {
    const { server } = this
    if (!server) return
    this.isClosing = true
    for (const res of this.underWay) endConnection(res)
    const closed = new Promise((done) => server.close(done))
    server.closeIdleConnections()
    const timers = [
      setTimeout(
        () => this.silent.forEach((socket) => socket.destroy()),
        Math.min(timeout, patienceWithSilence),
      ),
      setTimeout(() => server.closeAllConnections(), timeout),
    ]
    await closed
    timers.forEach((timer) => clearTimeout(timer))
    this.server = undefined
  }
}

function isPortTaken(error: Error): boolean {
  return 'code' in error && error.code === 'EADDRINUSE'
}

/** Lets the connection end with this answer, so that closing need not wait for the client to leave. */
function endConnection(res: ServerResponse): void {
  if (!res.headersSent) res.setHeader('Connection', 'close')
}

function addressOf(server: Server): string {
  // A server that listens on a port has an AddressInfo; a text would be the path of a socket.
  const { address, port } = server.address() as AddressInfo
  return httpAddress(address, port)
}

/** `http://127.0.0.1:3000`; where a server listens on every address, that of this machine. */
export function httpAddress(host: string | undefined, port: number): string {
  if (host === undefined || host === '::' || host === '0.0.0.0') return `http://localhost:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
