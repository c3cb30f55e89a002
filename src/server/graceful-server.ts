import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { HeaderListResponse } from './header-list.js'
import { MergingRequest } from './merging-request.js'
import { listenOn, stopListening } from './port.js'
import { StalledConnections } from './stalled-connections.js'

/** The timeouts of a server, in milliseconds. */
export interface Timeouts {
  /** For the headers of a request, from its first byte (20,000). */
  headersTimeout?: number
  /** For a whole request with its body (120,000), including a large upload. */
  requestTimeout?: number
  /** For a connection's next request (65,000). A balancer's should be shorter, to close first. */
  keepAliveTimeout?: number
  /** For a client to read more of a response (60,000); 0 for no limit. It is closed up to 5 s later. */
  sendTimeout?: number
}

/** Milliseconds of idle connections after the source is closed: a request may be on its way. */
const idleGrace = 500

/** The maximum milliseconds for which new requests wait until those in flight are finished. */
const maxHold = 1000

/** The milliseconds between two checks of the remaining connections. */
const pollInterval = 20

/** Accepts the connections of a server: on a port of this process, or from the primary process. */
export interface ConnectionSource {
  /** Starts to accept connections. Returns the address. */
  open(port: number, host: string | undefined): Promise<string>
  /** Stops accepting connections. Then the server has received all connections accepted before. */
  close(): Promise<void>
}

/** The requests of a connection that are handled at a time. Others wait, and nothing more is read. */
const maxInFlight = 8

/** The maximum number of requests of a connection that wait. A client with more is disconnected. */
const maxWaiting = 100

/** A request that has arrived, its response, and what handles them. */
type Exchange = [req: IncomingMessage, res: ServerResponse, listener: RequestListener]

interface ConnectionState {
  /** The responses of the requests in flight. */
  inFlight: Set<ServerResponse>
  /** The requests that wait until fewer are in flight. */
  waiting: Exchange[]
  /** The bytes read when the last request and its response ended. If more was read, another has begun. */
  bytesRead: number
}

/** An HTTP server that finishes the requests in flight before it closes. */
export class GracefulServer {
  private readonly server: Server
  private readonly source: ConnectionSource
  private readonly connections = new Map<Socket, ConnectionState>()
  private readonly stalledTimer: NodeJS.Timeout | undefined
  private closing: Promise<void> | undefined

  /** @param createSource returns the source of connections, by default a port of this process */
  constructor(
    private readonly listener: RequestListener,
    timeouts: Timeouts = {},
    createSource: (server: Server) => ConnectionSource = ownPort,
  ) {
    const classes = { IncomingMessage: MergingRequest, ServerResponse: HeaderListResponse }
    const options = { ...serverOptions(timeouts), ...classes }
    this.server = createServer(options, (req, res) => this.handle(req, res, this.listener))
    // Node would respond at once, however many requests are in flight.
    this.server.on('checkExpectation', (req, res) => this.handle(req, res, rejectExpectation))
    this.stalledTimer = this.watchStalledConnections(timeouts)
    this.source = createSource(this.server)
    this.server.on('connection', (socket: Socket) => {
      const state: ConnectionState = { inFlight: new Set(), waiting: [], bytesRead: 0 }
      this.connections.set(socket, state)
      // Node itself continues to read after each request.
      socket.on('resume', () => state.waiting.length > 0 && socket.pause())
      socket.once('close', () => {
        state.waiting = []
        this.connections.delete(socket)
        // Node 20 and 22 close only the response that is being sent. The others would keep their files and
        // streams open.
        for (const res of state.inFlight) if (!res.socket && !res.destroyed) res.destroy().emit('close')
      })
    })
  }

  /**
   * Listens on a port; 0 takes any that is free.
   *
   * @returns the address: `http://127.0.0.1:3000`
   * @throws PortInUse when another process listens there, AddressUnavailable when the system rejects the
   *   address
   */
  listen(port: number, host: string | undefined): Promise<string> {
    return this.source.open(port, host)
  }

  /**
   * Stops accepting connections, waits for the requests in flight, and closes their connections. Idle
   * connections are closed half a second later, because a request may be on its way.
   *
   * @param timeout milliseconds after which the remaining connections are closed
   */
  async close(timeout: number): Promise<void> {
    const startTime = performance.now()
    this.closing = this.closeSource(startTime + Math.min(timeout, maxHold))
    await this.closing
    const idleDeadline = performance.now() + idleGrace
    while (this.connections.size > 0) {
      await setTimeout(pollInterval)
      // The event loop first reads the requests that have arrived.
      await setImmediate()
      this.endEventStreams()
      const now = performance.now()
      if (now >= startTime + timeout) this.closeConnections(() => true)
      else if (now >= idleDeadline) this.closeConnections(isIdle)
    }
    clearInterval(this.stalledTimer)
    this.server.close()
  }

  /**
   * Closes the source when the requests in flight are finished, or at the deadline. Requests that arrive in
   * the meantime wait until the source is closed. If they were handled at once, busy clients would reconnect
   * after each response, and there would never be a moment without new connections.
   */
  private async closeSource(deadline: number): Promise<void> {
    const responses = [...this.connections.values()].flatMap(({ inFlight }) => [...inFlight])
    responses.forEach(closeAfterResponse)
    this.endEventStreams()
    while (responses.some((res) => !res.closed) && performance.now() < deadline)
      // It checks more often than `close`, because new requests wait for it.
      await setTimeout(pollInterval / 4)
    await this.source.close()
  }

  /** Begins a request, or lets it wait if many requests of its connection are in flight. */
  private handle(...exchange: Exchange): void {
    const { socket } = exchange[0]
    const state = this.connections.get(socket)
    if (!state || state.inFlight.size < maxInFlight) return this.begin(exchange, state)
    if (state.waiting.length === maxWaiting) return void socket.destroy()
    state.waiting.push(exchange)
    socket.pause()
  }

  /** Begins the requests that wait, as far as they may be in flight. */
  private beginWaiting(socket: Socket, state: ConnectionState): void {
    while (state.inFlight.size < maxInFlight) {
      const next = state.waiting.shift()
      if (!next) return
      if (state.waiting.length === 0) socket.resume()
      this.begin(next, state)
    }
  }

  private begin([req, res, listener]: Exchange, state: ConnectionState | undefined): void {
    const { socket } = req
    if (state) {
      const noteBytes = (): void => {
        state.bytesRead = socket.bytesRead
        // The rest of a body that failed alone would never be read.
        if (req.destroyed && !req.complete) socket.destroy()
      }
      state.inFlight.add(res)
      res.on('close', () => {
        state.inFlight.delete(res)
        noteBytes()
        // After a response that did not wait for the whole body, the rest still arrives.
        if (!req.complete) req.on('close', noteBytes)
        this.beginWaiting(socket, state)
      })
    }
    if (!this.closing) return listener(req, res)
    closeAfterResponse(res)
    void this.closing.then(() => listener(req, res))
  }

  /** Ends the streams of events, which have no end of their own. Their clients connect to another process. */
  private endEventStreams(): void {
    for (const { inFlight } of this.connections.values())
      for (const res of inFlight) if (isEventStream(res)) res.end()
  }

  private closeConnections(shouldClose: (socket: Socket, state: ConnectionState) => boolean): void {
    for (const [socket, state] of this.connections) if (shouldClose(socket, state)) socket.destroy()
  }

  /** Regularly closes the connections of clients that do not read their responses. */
  private watchStalledConnections({ sendTimeout = 60_000 }: Timeouts): NodeJS.Timeout | undefined {
    if (sendTimeout <= 0) return undefined
    const stalled = new StalledConnections<Socket>(sendTimeout)
    const check = () => stalled.close(this.connections.keys(), performance.now())
    return setInterval(check, checkInterval(sendTimeout)).unref()
  }
}

/**
 * Whether a connection has no request in flight and is not receiving one. Node's `closeIdleConnections` also
 * closes a connection on which a slow client still receives a response, which would be truncated.
 */
function isIdle(socket: Socket, { inFlight, bytesRead }: ConnectionState): boolean {
  return inFlight.size === 0 && socket.bytesRead === bytesRead
}

/** Closes the connection after this response, so that the server does not wait for the client to close it. */
function closeAfterResponse(res: ServerResponse): void {
  if (!res.headersSent) res.setHeader('Connection', 'close')
}

/** Whether a response is a stream of events (`EventSource`) that has begun. */
function isEventStream(res: ServerResponse): boolean {
  return res.headersSent && String(res.getHeader('Content-Type')).startsWith('text/event-stream')
}

/** Rejects an expectation other than `100-continue` (RFC 9110, section 10.1.1). */
function rejectExpectation(_req: IncomingMessage, res: ServerResponse): void {
  res.writeHead(417).end()
}

function ownPort(server: Server): ConnectionSource {
  return {
    open: (port, host) => listenOn(server, port, host),
    close: () => stopListening(server),
  }
}

/** The maximum milliseconds between two checks for timeouts. */
const maxCheckInterval = 5000

/** The options of Node's `createServer`. */
function serverOptions({
  headersTimeout = 20_000,
  requestTimeout = 120_000,
  keepAliveTimeout = 65_000,
}: Timeouts): ServerOptions {
  // 0 disables a timeout.
  const shortest = Math.min(...[headersTimeout, requestTimeout].filter((time) => time > 0))
  return {
    headersTimeout,
    requestTimeout,
    keepAliveTimeout,
    connectionsCheckingInterval: checkInterval(shortest),
  }
}

/** The milliseconds between two checks for a timeout: a quarter of the timeout, and 5 s at most. */
function checkInterval(timeout: number): number {
  return Math.min(maxCheckInterval, Math.ceil(timeout / 4))
}
