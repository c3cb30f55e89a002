import type { ServerOptions } from 'node:http'

/** The timeouts of a server, in milliseconds. */
export interface Timeouts {
  /** For the headers of a request, from its first byte (20,000). */
  headersTimeout?: number
  /** For a whole request with its body (120,000), including a large upload. */
  requestTimeout?: number
  /** For the next request of a connection (65,000). It should be longer than that of a load balancer, which then closes connections first. */
  keepAliveTimeout?: number
  /** For a client to read more of a response (60,000); 0 for any time. A client that stalls is noticed up to 5 s later. */
  sendTimeout?: number
}

/** Milliseconds between two checks for timeouts, at most. */
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
    connectionsCheckingInterval: checkInterval(shortest),
  }
}

/** Milliseconds between two checks for what may take so long: a quarter of it, and 5 s at most. */
export function checkInterval(timeout: number): number {
  return Math.min(maxCheckInterval, Math.ceil(timeout / 4))
}
