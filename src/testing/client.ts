import { Agent, request, type IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { text as textOf } from 'node:stream/consumers'
import type { EntityManager } from 'typeorm'
import type { App } from '../application/application.js'
import type { Database } from '../database/database.js'
import { dataFormats } from '../http/formats/formats.js'
import { toXml } from '../http/formats/xml.js'
import type { Contract } from '../openapi/contract.js'
import type { Model } from '../models/model.js'
import type { Factory } from './factory.js'

/** A value of a field. */
type FormValue = string | number | boolean | Blob

/**
 * The fields of a form. A name with a list of values, or in several pairs, is repeated. Numbers and booleans are sent as text. A form
 * with files is sent as multipart.
 */
export type FormFields = Record<string, FormValue | readonly FormValue[]> | Array<[string, string]>

/** The options of a request, with at most one body. */
export interface RequestOptions {
  /**
   * A form, sent as a page of the application sends it: with the CSRF token and the origin. A `FormData` is sent as
   * multipart, with its files.
   */
  form?: FormFields | FormData
  /** False for a form from another site, without token and origin. */
  fromPage?: boolean
  /** A JSON body. */
  json?: unknown
  /** An XML body, or an object that is converted to XML, under the name of its element: `{ post: { title: 'Hello' } }`. */
  xml?: string | Record<string, object>
  /** A body that is sent unchanged. Set its `Content-Type` in the headers. */
  body?: string | Uint8Array | ReadableStream
  /** The format of the response, or an `Accept` header. By default, it is the client's `accept` option. */
  accept?: string
  headers?: Record<string, string>
  /** False for a request whose response may differ from the OpenAPI document. */
  contract?: false
}

/** The response to a request. */
export interface ClientResponse {
  status: number
  headers: Headers
  text: string
  /**
   * The body, parsed as JSON.
   *
   * @throws SyntaxError when it isn't JSON
   */
  // Only the spec can tell the type.
  // oxlint-disable-next-line no-explicit-any
  json: any
  /** The target of a redirect, or the path of a created record. */
  location: string
}

/** The defaults of a client's requests. */
export interface ClientOptions {
  /** The format of responses, or an `Accept` header (`html`; in an API application, `json`). */
  accept?: string
}

/**
 * How the specs of an application make users and sign them in. Generated helpers in `spec/support` set it:
 * `Object.assign(client.people, { makeUser, signIn })`.
 */
export interface People {
  /** Creates a user. */
  makeUser?(): Promise<Model>
  /** Signs a user in. */
  // The application has its own class of users.
  // oxlint-disable-next-line no-explicit-any
  signIn?(client: Client, user: any): Promise<unknown>
  /** Creates a team. */
  makeTeam?(): Promise<Model>
  /** Creates a user who is a member of a team. */
  // The application has its own class of teams, and its own roles.
  // oxlint-disable-next-line no-explicit-any
  makeMember?(team: any, role: any): Promise<Model>
}

/**
 * Sends requests to an application like a browser: it keeps cookies, and sends forms with the CSRF token of the last page
 * that had one. It does not follow redirects. JSON and XML are sent like those of an API client.
 *
 * @example
 * const client = new Client(app)
 * await client.open()
 * await client.get('/posts/new')
 * const response = await client.post('/posts', { form: { title: 'Hello' } })
 * await client.get(response.location, { accept: 'json' })
 * await client.close()
 */
export class Client {
  private cookies = new Map<string, string>()
  private connections = new Agent({ keepAlive: true })
  /**
   * The format of responses.
   *
   * @internal
   */
  readonly accept: string
  private address: string | undefined

  /** The CSRF token of the last page that had one. Forms without it are rejected. */
  token: string | undefined

  /** The bearer token of an API, which is sent with each request as `Authorization`. */
  bearer: string | undefined

  /**
   * Compares each response with the OpenAPI document.
   *
   * @internal
   */
  contract: Pick<Contract, 'check'> | undefined

  /** How specs make users and sign them in, for `signInFor` and `describeIsolation`. */
  readonly people: People = {}

  /**
   * The database of the application, and its records.
   *
   * @internal
   */
  records: { database: Database; factory: Factory } | undefined

  constructor(
    /** @internal */
    readonly app: App,
    options: ClientOptions = {},
  ) {
    this.accept = options.accept ?? app.defaultFormat
  }

  /** The application's address, once it listens: `http://127.0.0.1:40123`. */
  get url(): string {
    if (this.address === undefined) throw new Error('The application is not open yet. Call open() first.')
    return this.address
  }

  /**
   * Runs statements of specs.
   *
   * @internal
   */
  get tx(): EntityManager {
    return this.recordsOf().database.manager
  }

  /**
   * Returns a helper that a spec needs.
   *
   * @internal
   */
  helper<Name extends keyof People>(name: Name): NonNullable<People[Name]> {
    const helper = this.people[name]
    if (helper) return helper
    throw new Error(
      `client.people has no ${name}. Set it in spec/support: Object.assign(client.people, { ${name} }).`,
    )
  }

  /** @internal */
  recordsOf(): { database: Database; factory: Factory } {
    if (this.records) return this.records
    throw new Error('The client has no database. Take that of testApplication(app, database).')
  }

  /** Starts the application on a free port. */
  async open(): Promise<this> {
    this.address ??= await this.app.listen(0, '127.0.0.1')
    return this
  }

  /** Closes the application, with its database. */
  async close(): Promise<void> {
    this.address = undefined
    // Otherwise, the application would wait half a second for another request on each open connection.
    this.connections.destroy()
    await this.app.close()
  }

  /** Returns the client of another visitor, with cookies of its own. It needs neither `open` nor `close`. */
  another(): Client {
    const other = new Client(this.app, { accept: this.accept })
    other.address = this.url
    other.connections = this.connections
    other.contract = this.contract
    other.records = this.records
    Object.assign(other.people, this.people)
    return other
  }

  /** Forgets cookies and tokens, like a new visitor. */
  forget(): void {
    this.cookies.clear()
    this.token = undefined
    this.bearer = undefined
  }

  /**
   * Returns a function that restores the cookies and tokens that the client has now.
   *
   * @internal
   */
  mark(): () => void {
    const { token, bearer } = this
    const cookies = new Map(this.cookies)
    return () => {
      Object.assign(this, { token, bearer })
      this.cookies = new Map(cookies)
    }
  }

  get(path: string, options?: RequestOptions): Promise<ClientResponse> {
    return this.request('GET', path, options)
  }

  post(path: string, options?: RequestOptions): Promise<ClientResponse> {
    return this.request('POST', path, options)
  }

  put(path: string, options?: RequestOptions): Promise<ClientResponse> {
    return this.request('PUT', path, options)
  }

  patch(path: string, options?: RequestOptions): Promise<ClientResponse> {
    return this.request('PATCH', path, options)
  }

  delete(path: string, options?: RequestOptions): Promise<ClientResponse> {
    return this.request('DELETE', path, options)
  }

  /** Sends a request by any method. */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<ClientResponse> {
    const { type, body } = this.bodyOf(options)
    // A browser adds these headers to a form.
    const isFromPage = options.form !== undefined && options.fromPage !== false
    const accept = mediaTypeOf(options.accept ?? this.accept)
    const response = await this.send(method, path, body, {
      accept,
      ...(type && { 'content-type': type }),
      ...(isFromPage && { origin: this.url, 'sec-fetch-site': 'same-origin' }),
      ...(this.cookies.size > 0 && { cookie: [...this.cookies].map((pair) => pair.join('=')).join('; ') }),
      ...(this.bearer !== undefined && { authorization: `Bearer ${this.bearer}` }),
      ...options.headers,
    })
    const headers = headersOf(response)
    storeCookies(headers, this.cookies)
    const status = response.statusCode ?? 0
    const text = await textOf(response)
    if (options.contract !== false)
      this.contract?.check({ json: options.json, accept, status, headers, text })
    return this.read(status, headers, text)
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
      // An application may respond before it has read the whole body, so it does not matter if the rest cannot be sent.
      pipeline(content, sent).catch(() => undefined)
    } else {
      if (content) sent.setHeader('content-length', content.byteLength)
      sent.end(content)
    }
    return response
  }

  private read(status: number, headers: Headers, text: string): ClientResponse {
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
    if (form) return encodeForm(form, fromPage ? this.token : undefined)
    if (json !== undefined) return { type: mediaTypeOf('json'), body: JSON.stringify(json) }
    if (xml !== undefined) return { type: mediaTypeOf('xml'), body: documentOf(xml) }
    return { body }
  }
}

/** Encodes a form. Its first field is the token, as on a generated page. */
function encodeForm(form: FormFields | FormData, token: string | undefined): Body {
  const first: Array<[string, string]> = token === undefined ? [] : [['authenticity_token', token]]
  if (!(form instanceof FormData) && !hasFiles(form)) {
    return { type: FORM, body: new URLSearchParams([...first, ...pairsOf(form)]).toString() }
  }
  const body = new FormData()
  const fields = form instanceof FormData ? [...form] : entriesOf(form)
  for (const [name, value] of [...first, ...fields])
    if (value instanceof Blob) body.append(name, value)
    else body.append(name, String(value))
  return { body }
}

/** Returns the media type of a format, or an `Accept` header unchanged. */
function mediaTypeOf(accept: string): string {
  if (accept === 'html') return 'text/html'
  return dataFormats[accept as keyof typeof dataFormats]?.mediaTypes[0] ?? accept
}

function pairsOf(form: FormFields): Array<[string, string]> {
  return entriesOf(form).map(([name, value]) => [name, String(value)])
}

function entriesOf(form: FormFields): Array<[string, FormValue]> {
  if (Array.isArray(form)) return form
  return Object.entries(form).flatMap(([name, value]) =>
    [value].flat().map((one): [string, FormValue] => [name, one]),
  )
}

function hasFiles(form: FormFields): boolean {
  return entriesOf(form).some(([, value]) => value instanceof Blob)
}

const FORM = 'application/x-www-form-urlencoded'

/** A body, and its `Content-Type`, unless the body or the headers of the request determine it. */
interface Body {
  type?: string | undefined
  body?: string | Uint8Array | ReadableStream | FormData | undefined
}

/** Returns the encoded body. For a multipart form, also returns the `Content-Type`, which contains the boundary of its parts. */
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

/** Stores the cookies of a response. An expired one removes the stored cookie of its name (RFC 6265, section 5.3). */
function storeCookies(headers: Headers, cookies: Map<string, string>): void {
  for (const cookie of headers.getSetCookie()) {
    const [pair = '', ...attributes] = cookie.split(';')
    const [, name = '', value = ''] = /^\s*([^=]+)=(.*)$/.exec(pair) ?? []
    if (attributes.some(isPast)) cookies.delete(name)
    else cookies.set(name, value)
  }
}

/** Whether an attribute of a cookie says that the cookie has expired. */
function isPast(attribute: string): boolean {
  const [name = '', value = ''] = attribute.trim().toLowerCase().split('=')
  return name === 'max-age' ? Number(value) <= 0 : name === 'expires' && Date.parse(value) <= Date.now()
}

function documentOf(xml: string | Record<string, object>): string {
  if (typeof xml === 'string') return xml
  const [[name, value] = ['record', {}]] = Object.entries(xml)
  return toXml(value, name)
}
