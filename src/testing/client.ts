import { Agent, request, type IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { text as textOf } from 'node:stream/consumers'
import type { App } from '../application.js'
import { toXml } from '../http/xml.js'
import { Cookies } from './cookies.js'

/** The fields of a form. Pairs may repeat a name. */
export type FormFields = Record<string, string> | Array<[string, string]>

/** What a request brings along: one body at most. */
export interface RequestOptions {
  /**
   * A form, sent as a page of the application sends it: with the token that protects it, and its origin. A `FormData` is
   * sent as multipart, with its files.
   */
  form?: FormFields | FormData
  /** False for a form that comes from elsewhere, without token and origin. */
  fromPage?: boolean
  /** A value to send as JSON. */
  json?: unknown
  /** A document to send as XML, or a record by its name: `{ post: { title: 'Hello' } }`. */
  xml?: string | Record<string, object>
  /** A body that is sent as it is; give its `Content-Type` among the headers. */
  body?: string | Uint8Array | ReadableStream
  /** The format of the answer, or an `Accept` header. Without it the client's own. */
  accept?: string
  headers?: Record<string, string>
}

/** What has come back. */
export interface Answer {
  status: number
  headers: Headers
  text: string
  /**
   * The body, read as JSON.
   *
   * @throws SyntaxError when it is something else
   */
  // What it holds is the spec's to say.
  // oxlint-disable-next-line no-explicit-any
  json: any
  /** Where a redirect leads, or a created record is. */
  location: string
}

/** What a client does unless a request says otherwise. */
export interface ClientOptions {
  /** The format that it asks for: html, or json of an API application. */
  accept?: string
}

const formats: Record<string, string> = {
  html: 'text/html',
  json: 'application/json',
  xml: 'application/xml',
}

/**
 * Visits an application as a browser does: it keeps cookies, and sends forms with the token of the last page that had
 * one. It does not follow redirects. JSON and XML are sent as a program sends them.
 *
 * @example
 * const client = new Client(app)
 * await client.open()
 * await client.get('/posts/new')
 * const answer = await client.post('/posts', { form: { title: 'Hello' } })
 * await client.get(answer.location, { accept: 'json' })
 * await client.close()
 */
export class Client {
  private readonly cookies = new Cookies()
  private readonly connections = new Agent({ keepAlive: true })
  private readonly accept: string
  private address: string | undefined

  /** The token of the last page that had one; forms are refused without. */
  token: string | undefined

  constructor(
    private readonly app: App,
    options: ClientOptions = {},
  ) {
    this.accept = options.accept ?? app.defaultFormat
  }

  /** Where the application listens, once it does: `http://127.0.0.1:40123`. */
  get url(): string {
    if (this.address === undefined) throw new Error('The application is not open yet. Call open() first.')
    return this.address
  }

  /** Lets the application listen on a free port of this machine. */
  async open(): Promise<this> {
    this.address ??= await this.app.listen(0, '127.0.0.1')
    return this
  }

  /** Closes the application, with its database. */
  async close(): Promise<void> {
    this.address = undefined
    // The application gives open connections half a second for one more request.
    this.connections.destroy()
    await this.app.close()
  }

  /** Becomes a visitor who was never here before. */
  forget(): void {
    this.cookies.clear()
    this.token = undefined
  }

  get(path: string, options?: RequestOptions): Promise<Answer> {
    return this.request('GET', path, options)
  }

  post(path: string, options?: RequestOptions): Promise<Answer> {
    return this.request('POST', path, options)
  }

  put(path: string, options?: RequestOptions): Promise<Answer> {
    return this.request('PUT', path, options)
  }

  patch(path: string, options?: RequestOptions): Promise<Answer> {
    return this.request('PATCH', path, options)
  }

  delete(path: string, options?: RequestOptions): Promise<Answer> {
    return this.request('DELETE', path, options)
  }

  /** Sends a request by any method. */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const { type, body } = this.bodyOf(options)
    const fromPage = options.form !== undefined && options.fromPage !== false
    const accept = options.accept ?? this.accept
    const response = await this.send(method, path, body, {
      accept: formats[accept] ?? accept,
      ...(type && { 'content-type': type }),
      ...(fromPage && { origin: this.url, 'sec-fetch-site': 'same-origin' }),
      ...this.cookies.header,
      ...options.headers,
    })
    const headers = headersOf(response)
    this.cookies.keep(headers)
    return this.read(response.statusCode ?? 0, headers, await textOf(response))
  }

  private async send(
    method: string,
    path: string,
    body: Body['body'],
    headers: Record<string, string>,
  ): Promise<IncomingMessage> {
    const sent = request(this.url + path, { method, agent: this.connections })
    const { type, content } = await contentOf(body)
    if (type) sent.setHeader('content-type', type)
    for (const [name, value] of Object.entries(headers)) sent.setHeader(name, value)
    const response = new Promise<IncomingMessage>((resolve, reject) => {
      sent.once('response', resolve).on('error', reject)
    })
    if (content instanceof Readable) {
      // An application may respond before it has read the whole body: the response counts.
      pipeline(content, sent).catch(() => undefined)
    } else {
      if (content) sent.setHeader('content-length', content.byteLength)
      sent.end(content)
    }
    return response
  }

  private read(status: number, headers: Headers, text: string): Answer {
    this.token = /name="authenticity_token" value="([^"]+)"/.exec(text)?.[1] ?? this.token
    return {
      status,
      headers,
      text,
      location: headers.get('location') ?? '',
      get json() {
        return JSON.parse(text)
      },
    }
  }

  private bodyOf({ form, fromPage = true, json, xml, body }: RequestOptions): Body {
    if (form instanceof FormData) return { body: fromPage ? this.withTokenFirst(form) : form }
    if (form)
      return { type: FORM, body: new URLSearchParams(fromPage ? this.withToken(form) : form).toString() }
    if (json !== undefined) return { type: formats['json'], body: JSON.stringify(json) }
    if (xml !== undefined) return { type: formats['xml'], body: documentOf(xml) }
    return { body }
  }

  /** As a page of ours has it, the token is the first field. */
  private withToken(form: FormFields): Array<[string, string]> {
    const fields = Array.isArray(form) ? form : Object.entries(form)
    return this.token === undefined ? fields : [['authenticity_token', this.token], ...fields]
  }

  private withTokenFirst(form: FormData): FormData {
    const body = new FormData()
    if (this.token !== undefined) body.append('authenticity_token', this.token)
    for (const [name, value] of form) body.append(name, value)
    return body
  }
}

const FORM = 'application/x-www-form-urlencoded'

interface Body {
  type?: string | undefined
  body?: string | Uint8Array | ReadableStream | FormData | undefined
}

/** The body as it is sent, and the type of a multipart form, which names its boundary. */
async function contentOf(
  body: Body['body'],
): Promise<{ type?: string | null; content?: Uint8Array | Readable }> {
  if (body === undefined || body === null) return {}
  if (body instanceof ReadableStream) return { content: Readable.fromWeb(body) }
  if (!(body instanceof FormData)) return { content: Buffer.from(body) }
  const form = new Response(body)
  return { type: form.headers.get('content-type'), content: new Uint8Array(await form.arrayBuffer()) }
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers()
  for (let index = 0; index < rawHeaders.length; index += 2)
    headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '')
  return headers
}

function documentOf(xml: string | Record<string, object>): string {
  if (typeof xml === 'string') return xml
  const [[name, value] = ['record', {}]] = Object.entries(xml)
  return toXml(value, name)
}
