import { Agent, request, type IncomingHttpHeaders } from 'node:http'
import { parseXml } from '../../../src/http/body/xml-reader.js'
import type { FuzzRequest } from './requests.js'

/** The response. */
export interface FuzzResponse {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

const agent = new Agent({ keepAlive: true, maxSockets: 16 })

/** Closes the idle connections. A server that closes can wait 30 seconds for one of them. */
export function disconnect(): void {
  agent.destroy()
}

/** Sends a request. It fails without a response within a minute. */
export function send(url: string, { method, path, headers, body }: FuzzRequest): Promise<FuzzResponse> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const length = body.length > 0 || method === 'POST' ? { 'content-length': String(body.length) } : {}
    const sent = request(
      { agent, hostname, port, method, path, headers: { ...asLatin1(headers), ...length } },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString(),
          }),
        )
      },
    )
    sent.setTimeout(60_000, () => sent.destroy(new Error('no response within a minute')))
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Node sends headers as bytes of Latin-1. */
function asLatin1(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Buffer.from(value).toString('latin1')]),
  )
}

/** The mistake in a response to any request; undefined if there is none. */
export async function flawOf(
  method: string,
  { status, headers, text }: FuzzResponse,
): Promise<string | undefined> {
  if (status >= 500) return `its status is ${status}`
  // A response of Node itself has no id.
  const requestId = headers['x-request-id']
  if (!requestId && ![400, 408, 413, 417, 431].includes(status)) return 'it has no request id'
  if (requestId && !/^[\w.-]{1,128}$/.test(String(requestId))) return `its request id is ${requestId}`
  if (method === 'HEAD' || status === 204 || status === 304 || (status >= 300 && status < 400) || text === '')
    return undefined
  const type = headers['content-type'] ?? ''
  try {
    if (/[/+]json/.test(type)) JSON.parse(text)
    else if (/[/+]xml/.test(type)) await parseXml(text)
    else if (type.startsWith('text/html') && !/^\s*<(!doctype html|form)[^]*<\/(html|form)>\s*$/i.test(text))
      return 'its page is cut short'
  } catch (error) {
    return `its body cannot be read: ${String(error)}`
  }
  return undefined
}
