import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { createServer, type Server } from 'node:http'
import type { App } from '../../src/index.js'

/** A request of a spec: headers, and a body that is sent as a form, as JSON or as it is. */
export interface SpecRequest {
  headers?: Record<string, string>
  /** Sent as application/x-www-form-urlencoded. */
  form?: Record<string, string> | Array<[string, string]>
  /** Sent as application/json. */
  json?: unknown
  /** Sent as application/xml. */
  xml?: string
  /** Sent as it is. */
  body?: string | Uint8Array | FormData | ReadableStream
  accept?: string
  /** Whether a form is sent as a browser sends it from a page of this site: with its token and its origin (yes). */
  fromPage?: boolean
}

/** What came back. */
export interface SpecResponse {
  status: number
  headers: Headers
  text: string
  /** The body read as JSON. */
  // oxlint-disable-next-line no-explicit-any
  json: any
}

/**
 * An application that listens on a free port, and the browser that visits it: it keeps cookies, and sends forms with the
 * token of the last page that had one. JSON and XML are sent as a program sends them.
 */
export class Site {
  private readonly cookies = new Map<string, string>()

  /** The token of the last page that had one. */
  token: string | undefined

  private constructor(
    readonly url: string,
    private readonly server: Server,
    private readonly app: App,
  ) {}

  static async open(app: App): Promise<Site> {
    await app.start()
    const server = createServer(app.callback())
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    // A server that listens on a port has an AddressInfo.
    const { port } = server.address() as AddressInfo
    return new Site(`http://127.0.0.1:${port}`, server, app)
  }

  async close(): Promise<void> {
    await new Promise((closed) => {
      this.server.close(closed)
      this.server.closeAllConnections()
    })
    await this.app.close()
  }

  get(path: string, request?: SpecRequest): Promise<SpecResponse> {
    return this.request('GET', path, request)
  }

  post(path: string, request?: SpecRequest): Promise<SpecResponse> {
    return this.request('POST', path, request)
  }

  put(path: string, request?: SpecRequest): Promise<SpecResponse> {
    return this.request('PUT', path, request)
  }

  delete(path: string, request?: SpecRequest): Promise<SpecResponse> {
    return this.request('DELETE', path, request)
  }

  /** Sends a request and does not follow redirects. */
  async request(method: string, path: string, request: SpecRequest = {}): Promise<SpecResponse> {
    const isForm = request.form !== undefined || request.body instanceof FormData
    const fromPage = isForm && request.fromPage !== false
    const { type, body } = encode(fromPage ? withToken(request, this.token) : request)
    const response = await fetch(this.url + path, {
      method,
      redirect: 'manual',
      headers: {
        accept: request.accept ?? 'text/html',
        ...(type && { 'content-type': type }),
        ...(fromPage && { origin: this.url, 'sec-fetch-site': 'same-origin' }),
        ...(this.cookies.size > 0 && { cookie: [...this.cookies].map((pair) => pair.join('=')).join('; ') }),
        ...request.headers,
      },
      ...(body !== undefined && { body, duplex: 'half' }),
    })
    this.keepCookies(response)
    const text = await response.text()
    this.token = /name="authenticity_token" value="([^"]+)"/.exec(text)?.[1] ?? this.token
    return {
      status: response.status,
      headers: response.headers,
      text,
      get json() {
        return JSON.parse(text)
      },
    }
  }

  /** Sends bytes as they are, for requests that no client would send, and returns all that comes back. */
  raw(bytes: string): Promise<string> {
    const { hostname, port } = new URL(this.url)
    return new Promise((answer, reject) => {
      let received = ''
      const socket = connect(Number(port), hostname, () => socket.write(bytes))
      socket.setTimeout(2000, () => socket.destroy())
      socket.on('data', (chunk) => (received += chunk.toString()))
      socket.on('error', reject)
      socket.on('close', () => answer(received))
    })
  }

  private keepCookies(response: Response): void {
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (value === '') this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
  }
}

/** The form as a page of ours has it: with the token as its first field. */
function withToken(request: SpecRequest, token: string | undefined): SpecRequest {
  if (token === undefined) return request
  if (request.form) {
    const fields = Array.isArray(request.form) ? request.form : Object.entries(request.form)
    return { ...request, form: [['authenticity_token', token], ...fields] }
  }
  if (!(request.body instanceof FormData)) return request
  const body = new FormData()
  for (const [name, value] of [['authenticity_token', token] as const, ...request.body])
    body.append(name, value)
  return { ...request, body }
}

function encode({ form, json, xml, body }: SpecRequest): { type?: string; body?: SpecRequest['body'] } {
  if (form) return { type: 'application/x-www-form-urlencoded', body: new URLSearchParams(form).toString() }
  if (json !== undefined) return { type: 'application/json', body: JSON.stringify(json) }
  if (xml !== undefined) return { type: 'application/xml', body: xml }
  return body === undefined ? {} : { body }
}
