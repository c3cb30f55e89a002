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
import { cutOffWhoDoesNotRead, serverOptions, type TimeOuts } from './timeouts.js'

/** Milliseconds that an open connection on which nothing goes on may still be asked something, once the server closes. */
const patience = 500

/** Milliseconds that new requests wait at most for those that were under way when the server began to close. */
const rush = 1000

/** Milliseconds between two looks at the connections that are left. */
const pause = 20

/** Where the connections of a server come from. */
export interface Entrance {
  /** Lets connections in. Returns the address. */
  open(port: number, host: string | undefined): Promise<string>
  /** Lets no more in. Those that had been accepted are in when it resolves. */
  close(): Promise<void>
}

/** What goes on on a connection. */
interface Visit {
  underWay: Set<ServerResponse>
  /** What had come when the last answer was finished; when more has, a request has begun. */
  bytesRead: number
}

/** An HTTP server that, when it closes, lets the requests finish that are under way. */
export class GracefulServer {
  private readonly server: Server
  private readonly entrance: Entrance
  private readonly visits = new Map<Socket, Visit>()
  private closing: Promise<void> | undefined

  /** @param entrance makes where connections come from; a port of our own without it */
  constructor(
    private readonly listener: RequestListener,
    timeOuts: TimeOuts = {},
    entrance: (server: Server) => Entrance = ownPort,
  ) {
    this.server = createServer(serverOptions(timeOuts), (req, res) => this.answer(req, res))
    cutOffWhoDoesNotRead(this.server, timeOuts, (socket) => this.isAnswering(socket))
    this.entrance = entrance(this.server)
    this.server.on('connection', (socket: Socket) => {
      this.visits.set(socket, { underWay: new Set(), bytesRead: 0 })
      socket.once('close', () => this.visits.delete(socket))
    })
  }

  /**
   * Listens on a port; 0 takes any that is free.
   *
   * @returns the address: `http://127.0.0.1:3000`
   * @throws PortTaken when another process listens there, AddressRefused when the system does not let us
   */
  listen(port: number, host: string | undefined): Promise<string> {
    return this.entrance.open(port, host)
  }

  /**
   * Stops accepting connections, and waits for the requests that are under way, each of which is the last one of its
   * connection. One on which nothing goes on may be asked something at this very moment: it is closed a little later.
   *
   * @param timeout milliseconds after which connections that are still open are cut
   */
  async close(timeout: number): Promise<void> {
    const began = performance.now()
    this.closing = this.shut(began + Math.min(timeout, rush))
    await this.closing
    const closed = performance.now()
    while (this.visits.size > 0) {
      await setTimeout(pause)
      // After the event loop has read what has come.
      await setImmediate()
      const now = performance.now()
      if (now >= began + timeout) this.cut(() => true)
      else if (now >= closed + patience) this.cut(isIdle)
    }
    this.server.close()
  }

  /**
   * Lets nobody in any more, in a moment in which nobody comes. Who has got an answer comes again at once, under load.
   * So what is asked meanwhile waits, until the door is shut; that is so when what was asked before has been answered.
   */
  private async shut(latest: number): Promise<void> {
    const before = [...this.visits.values()].flatMap(({ underWay }) => [...underWay])
    before.forEach(endConnection)
    while (before.some((res) => !res.closed) && performance.now() < latest) await setTimeout(pause / 4)
    await this.entrance.close()
  }

  private answer(req: IncomingMessage, res: ServerResponse): void {
    const visit = this.visits.get(req.socket)
    visit?.underWay.add(res)
    res.once('close', () => {
      visit?.underWay.delete(res)
      if (visit) visit.bytesRead = req.socket.bytesRead
    })
    if (!this.closing) return this.listener(req, res)
    endConnection(res)
    void this.closing.then(() => this.listener(req, res))
  }

  private cut(isOver: (socket: Socket, visit: Visit) => boolean): void {
    for (const [socket, visit] of this.visits) if (isOver(socket, visit)) socket.destroy()
  }

  private isAnswering(socket: Socket): boolean {
    return (this.visits.get(socket)?.underWay.size ?? 0) > 0
  }
}

/** Node takes an answer that a slow client still receives for the end of the request: `closeIdleConnections` would cut it. */
function isIdle(socket: Socket, { underWay, bytesRead }: Visit): boolean {
  return underWay.size === 0 && socket.bytesRead === bytesRead
}

/** Lets the connection end with this answer, so that closing need not wait for the client to leave. */
function endConnection(res: ServerResponse): void {
  if (!res.headersSent) res.setHeader('Connection', 'close')
}

function ownPort(server: Server): Entrance {
  return {
    open: (port, host) => listenOn(server, port, host),
    close: () => stopListening(server),
  }
}
