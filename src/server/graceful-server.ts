import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { listenOn, stopListening } from './port.js'
import { StalledConnections } from './stalled-connections.js'
import { checkInterval, serverOptions, type Timeouts } from './timeouts.js'

/** Milliseconds for which an idle connection stays open, because a request may be on its way, once the server closes. */
const idleGrace = 500

/** Milliseconds that new requests wait at most for the requests that were in flight when the server began to close. */
const maxHold = 1000

/** Milliseconds between two checks of the remaining connections. */
const pollInterval = 20

/** Where the connections of a server come from. */
export interface ConnectionSource {
  /** Begins to accept connections. Returns the address. */
  open(port: number, host: string | undefined): Promise<string>
  /** Stops accepting connections. When it resolves, earlier connections have been transferred. */
  close(): Promise<void>
}

/** The state of a connection. */
interface ConnectionState {
  inFlight: Set<ServerResponse>
  /** The bytes read when the last response was finished; when there are more, another request has begun. */
  bytesRead: number
}

/** An HTTP server that finishes the requests in flight before it closes. */
export class GracefulServer {
  private readonly server: Server
  private readonly source: ConnectionSource
  private readonly connections = new Map<Socket, ConnectionState>()
  private readonly timer: NodeJS.Timeout | undefined
  private closing: Promise<void> | undefined

  /** @param source accepts the connections; without it, a port of this process */
  constructor(
    private readonly listener: RequestListener,
    timeouts: Timeouts = {},
    source: (server: Server) => ConnectionSource = ownPort,
  ) {
    this.server = createServer(serverOptions(timeouts), (req, res) => this.answer(req, res))
    this.timer = this.closeStalledConnections(timeouts)
    this.source = source(this.server)
    this.server.on('connection', (socket: Socket) => {
      this.connections.set(socket, { inFlight: new Set(), bytesRead: 0 })
      socket.once('close', () => this.connections.delete(socket))
    })
  }

  /**
   * Listens on a port; 0 takes any that is free.
   *
   * @returns the address: `http://127.0.0.1:3000`
   * @throws PortTaken when another process listens there, AddressRefused when the system rejects the address
   */
  listen(port: number, host: string | undefined): Promise<string> {
    return this.source.open(port, host)
  }

  /**
   * Stops accepting connections, and waits for the requests in flight, each of which is the last one of its connection.
   * An idle connection is closed a little later, because a request may just be on its way.
   *
   * @param timeout milliseconds after which the remaining connections are closed
   */
  async close(timeout: number): Promise<void> {
    const began = performance.now()
    this.closing = this.closeSource(began + Math.min(timeout, maxHold))
    await this.closing
    const closed = performance.now()
    while (this.connections.size > 0) {
      await setTimeout(pollInterval)
      // After the event loop has read what has arrived.
      await setImmediate()
      const now = performance.now()
      if (now >= began + timeout) this.closeConnections(() => true)
      else if (now >= closed + idleGrace) this.closeConnections(isIdle)
    }
    clearInterval(this.timer)
    this.server.close()
  }

  /**
   * Closes the source at a moment without new connections. Under load, a client reconnects as soon as it has a response.
   * Requests that arrive meanwhile are therefore held until the earlier ones are finished and the source is closed.
   */
  private async closeSource(latest: number): Promise<void> {
    const before = [...this.connections.values()].flatMap(({ inFlight }) => [...inFlight])
    before.forEach(endConnection)
    while (before.some((res) => !res.closed) && performance.now() < latest) await setTimeout(pollInterval / 4)
    await this.source.close()
  }

  private answer(req: IncomingMessage, res: ServerResponse): void {
    const state = this.connections.get(req.socket)
    state?.inFlight.add(res)
    res.once('close', () => {
      state?.inFlight.delete(res)
      if (state) state.bytesRead = req.socket.bytesRead
    })
    if (!this.closing) return this.listener(req, res)
    endConnection(res)
    void this.closing.then(() => this.listener(req, res))
  }

  private closeConnections(isOver: (socket: Socket, state: ConnectionState) => boolean): void {
    for (const [socket, state] of this.connections) if (isOver(socket, state)) socket.destroy()
  }

  /** Closes the connections of clients that do not read their response, as long as the server is open. */
  private closeStalledConnections({ sendTimeout = 60_000 }: Timeouts): NodeJS.Timeout | undefined {
    if (sendTimeout <= 0) return undefined
    const stalled = new StalledConnections<Socket>(sendTimeout)
    const check = () => stalled.close(this.connections.keys(), performance.now())
    return setInterval(check, checkInterval(sendTimeout)).unref()
  }
}

/** Node counts a request as finished while a slow client still receives the response: `closeIdleConnections` would cut it off. */
function isIdle(socket: Socket, { inFlight, bytesRead }: ConnectionState): boolean {
  return inFlight.size === 0 && socket.bytesRead === bytesRead
}

/** Closes the connection after this response, so that closing need not wait for the client. */
function endConnection(res: ServerResponse): void {
  if (!res.headersSent) res.setHeader('Connection', 'close')
}

function ownPort(server: Server): ConnectionSource {
  return {
    open: (port, host) => listenOn(server, port, host),
    close: () => stopListening(server),
  }
}
