import { createServer, get, type IncomingMessage, ServerResponse, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { HeaderListResponse } from '../../src/server/header-list.js'

/** Uses of a response, each of which must have the same result with Node's own class. */
const uses: Record<string, (res: ServerResponse) => unknown> = {
  'set headers': (res) => res.setHeader('X-One', 'a').setHeader('x-two', ['b', 'c']),
  'overwrite a header, and keep its position': (res) =>
    res.setHeader('X-One', 'a').setHeader('X-Two', 'b').setHeader('x-one', 'c'),
  'append to a header, and to an absent one': (res) =>
    res.setHeader('X-One', 'a').appendHeader('x-one', ['b', 'c']).appendHeader('X-Two', 'd'),
  'remove headers': (res) => {
    res.setHeader('X-One', 'a').setHeader('X-Two', 'b')
    res.removeHeader('x-one')
    res.removeHeader('X-Absent')
    res.removeHeader('Date')
  },
  'set several headers': (res) => res.setHeaders(several).setHeader('X-Several', 'other'),
  'set several headers over others': (res) => res.setHeader('X-Several', 'own').setHeaders(several),
  'set a map of headers': (res) =>
    res.setHeaders(new Map<string, string | string[]>([['set-cookie', ['a=1', 'b=2']]])),
  'read headers': (res) => {
    res.setHeader('X-One', 'a').setHeader('X-Number', 0)
    return [
      res.getHeader('x-ONE'),
      res.getHeader('X-Absent'),
      res.getHeader(''),
      res.hasHeader('X-ONE'),
      res.hasHeader('X-Absent'),
      { ...res.getHeaders() },
      res.getHeaderNames(),
      (res as unknown as { getRawHeaderNames(): string[] }).getRawHeaderNames(),
    ]
  },
  'pass headers to writeHead': (res) => void res.writeHead(202, { 'X-One': 'a', 'X-Two': ['b', 'c'] }),
  'pass a list to writeHead': (res) =>
    void res.writeHead(202, 'Fine', ['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2']),
  'pass headers to writeHead that override others': (res) =>
    void res.setHeader('X-One', 'a').writeHead(202, 'Fine', { 'x-one': 'b', 'X-Two': 'c' }),
  'pass a list to writeHead that overrides others': (res) =>
    void res.setHeader('X-One', 'a').writeHead(202, ['x-one', 'b', 'X-Two', 'c']),
  'close the connection': (res) => res.setHeader('Connection', 'close'),
  'send headers first': (res) => {
    res.setHeader('X-One', 'a').flushHeaders()
    return [res.headersSent, res.getHeader('X-One')]
  },
  'set a header after they have been sent': (res) => {
    res.flushHeaders()
    res.setHeader('X-One', 'a')
  },
  'append to a header after they have been sent': (res) => {
    res.flushHeaders()
    res.appendHeader('X-One', 'a')
  },
  'set several headers after they have been sent': (res) => {
    res.flushHeaders()
    res.setHeaders(several)
  },
  'remove a header after they have been sent': (res) => {
    res.flushHeaders()
    res.removeHeader('X-One')
  },
  'set a malformed name': (res) => res.setHeader('X One', 'a'),
  'set a malformed value': (res) => res.setHeader('X-One', 'a\r\nX-Two: b'),
  'set no value': (res) => res.setHeader('X-One', undefined as unknown as string),
}

const several = new Map([
  ['X-Several', 'a'],
  ['Referrer-Policy', 'no-referrer'],
])

describe('HeaderListResponse', () => {
  for (const [title, use] of Object.entries(uses)) {
    it(`responds as Node does when handlers ${title}`, async () => {
      expect(await respond(HeaderListResponse, use)).to.deep.equal(await respond(ServerResponse, use))
    })
  }

  it('restores the headers of a snapshot, more than once', async () => {
    const { headers } = await respond(HeaderListResponse, (res) => {
      res.setHeaders(several)
      const restore = (res as HeaderListResponse).snapshotHeaders()
      for (const value of ['b', 'c']) {
        res.setHeader('X-Several', value).setHeader('X-Two', value)
        restore()
      }
    })
    expect(headers.slice(0, 4)).to.deep.equal(['X-Several', 'a', 'Referrer-Policy', 'no-referrer'])
    expect(headers).to.not.include('X-Two')
  })
})

/** The response of a server of this class, and what the use of it returned or threw. */
async function respond(responseClass: typeof ServerResponse, use: (res: ServerResponse) => unknown) {
  let used: unknown
  const server: Server = createServer({ ServerResponse: responseClass }, (_req, res) => {
    try {
      const result = use(res)
      used = result === res ? undefined : result
    } catch (error) {
      used = error instanceof Error ? [Reflect.get(error, 'code'), error.message] : error
    }
    res.end('text')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const request = get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', agent: false })
  const [response]: IncomingMessage[] = await once(request, 'response')
  response?.resume()
  await once(response as IncomingMessage, 'end')
  server.close()
  const headers = (response?.rawHeaders ?? []).map((text, index, all) =>
    all[index - 1] === 'Date' ? '' : text,
  )
  return { used, status: response?.statusCode, message: response?.statusMessage, headers }
}
