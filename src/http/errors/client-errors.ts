/**
 * Whether the client caused an error of its connection: it disconnected, did not send HTTP, or was too slow. The log reports
 * it as an aborted request.
 */
export function isCausedByClient(error: unknown): boolean {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
  return typeof code === 'string' && /^(HPE_|ERR_HTTP_REQUEST_TIMEOUT|ECONNRESET|EPIPE)/.test(code)
}
