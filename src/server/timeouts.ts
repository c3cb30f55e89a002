import type { Server, ServerOptions } from 'node:http'
import type { Socket } from 'node:net'

/** The timeouts of a server, in milliseconds. */
export interface Timeouts {
  /** For the headers of a request, from its first byte (20,000). */
  headersTimeout?: number
  /** For a whole request with its body (120,000), also for a large upload. */
  requestTimeout?: number
  /** For the next request of a connection (65,000). It should be longer than that of a load balancer, which then closes connections first. */
  keepAliveTimeout?: number
  /** For a client to read more of a response (60,000). */
  sendTimeout?: number
}

/** Milliseconds between two checks for requests that have timed out, at most. */
const maxCheckInterval = 5000

/** The options of Node's `createServer`. */
export function serverOptions({
  headersTimeout = 20_000,
  requestTimeout = 120_000,
  keepAliveTimeout = 65_000,
}: Timeouts): ServerOptions {
  const shortest = Math.min(...[headersTimeout, requestTimeout].filter((time) => time > 0))
  return {
    headersTimeout,
    requestTimeout,
    keepAliveTimeout,
    connectionsCheckingInterval: Math.min(maxCheckInterval, Math.ceil(shortest / 4)),
  }
}

/**
 * Closes connections whose client does not read the response. A response that is still being produced is no reason to.
 *
 * @param isBusy whether a connection has a request in flight
 */
export function closeStalledConnections(
  server: Server,
  { sendTimeout = 60_000 }: Timeouts,
  isBusy: (socket: Socket) => boolean,
): void {
  server.timeout = sendTimeout
  server.on('timeout', (socket: Socket) => {
    if (!isBusy(socket) || socket.writableLength > 0) socket.destroy()
    else socket.setTimeout(sendTimeout)
  })
}
