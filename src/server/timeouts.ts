import type { Server, ServerOptions } from 'node:http'
import type { Socket } from 'node:net'

/** How long a server waits for those who ask it. All in milliseconds. */
export interface TimeOuts {
  /** For the headers of a request, from its first byte (20,000). */
  headersTimeout?: number
  /** For the whole of a request, body included (120,000). It also is what a large upload may take. */
  requestTimeout?: number
  /** For another request on a connection. Longer than a balancer keeps connections open, so that it closes them first (65,000). */
  keepAliveTimeout?: number
  /** For a client that does not read its answer to take some more of it (60,000). */
  sendTimeout?: number
}

/** A server is looked over for requests that take too long at least so often. */
const leastOften = 5000

/** What Node's `createServer` is told. */
export function serverOptions({
  headersTimeout = 20_000,
  requestTimeout = 120_000,
  keepAliveTimeout = 65_000,
}: TimeOuts): ServerOptions {
  const shortest = Math.min(...[headersTimeout, requestTimeout].filter((time) => time > 0))
  return {
    headersTimeout,
    requestTimeout,
    keepAliveTimeout,
    connectionsCheckingInterval: Math.min(leastOften, Math.ceil(shortest / 4)),
  }
}

/**
 * Cuts off clients that do not read their answer. One whose answer is still being made is waited for.
 *
 * @param isAnswering whether a request of a connection is under way
 */
export function cutOffWhoDoesNotRead(
  server: Server,
  { sendTimeout = 60_000 }: TimeOuts,
  isAnswering: (socket: Socket) => boolean,
): void {
  server.timeout = sendTimeout
  server.on('timeout', (socket: Socket) => {
    if (!isAnswering(socket) || socket.writableLength > 0) socket.destroy()
    else socket.setTimeout(sendTimeout)
  })
}
