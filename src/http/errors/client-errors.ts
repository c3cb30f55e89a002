import type { ServerResponse } from 'node:http'

/**
 * Whether the client caused an error of its connection: it disconnected, did not send HTTP, or was too slow. The log reports
 * it as an aborted request.
 */
export function isCausedByClient(error: unknown, response?: ServerResponse): boolean {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
  // The stream or the response was closed early. If it was the stream, Node has destroyed the response with this error.
  if (code === 'ERR_STREAM_PREMATURE_CLOSE') return response?.errored === null
  return typeof code === 'string' && /^(HPE_|ERR_HTTP_REQUEST_TIMEOUT|ECONNRESET|EPIPE)/.test(code)
}
