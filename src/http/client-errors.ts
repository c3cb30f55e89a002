/**
 * Whether an error of a connection is that of its client: it has left, has sent what is no HTTP, or took too long. The
 * log tells it as a request that was aborted.
 */
export function isOfClient(error: unknown): boolean {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
  return typeof code === 'string' && /^(HPE_|ERR_HTTP_REQUEST_TIMEOUT|ECONNRESET|EPIPE)/.test(code)
}
