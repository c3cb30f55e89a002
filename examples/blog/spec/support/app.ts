/** What a request may bring along. */
export interface RequestOptions {
  /** Fields to send as a form of a page is sent: with the token that protects it. */
  form?: Record<string, string>
  /** A body to send as JSON. */
  json?: unknown
  /** A body to send as XML. */
  xml?: string
  /** The format of the answer (text/html): `application/json`. */
  accept?: string
  headers?: Record<string, string>
}

/** What has come back. `json` is the body, read as JSON. */
export interface Answer {
  status: number
  headers: Headers
  text: string
  json: any
}

let address = ''
const cookies = new Map<string, string>()
/** The token of the last page that had a form. A form is refused without one. */
let token: string | undefined

/** Says where the application listens. spec/support/setup.ts does. */
export function visit(url: string): void {
  address = url
}

/**
 * Sends a request to the application as a browser does: it keeps cookies and does not follow redirects by itself.
 *
 * @example
 * await request('GET', '/posts/new')
 * await request('POST', '/posts', { form: { title: 'Hello' } })
 * await request('GET', '/posts', { accept: 'application/json' })
 */
export async function request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
  const headers = new Headers(options.headers)
  headers.set('Accept', options.accept ?? 'text/html')
  headers.set('Cookie', [...cookies].map((pair) => pair.join('=')).join('; '))
  if (options.json !== undefined) headers.set('Content-Type', 'application/json')
  if (options.xml !== undefined) headers.set('Content-Type', 'application/xml')

  const response = await fetch(address + path, {
    method,
    headers,
    body: bodyOf(options),
    redirect: 'manual',
  })
  keepCookies(response)
  const text = await response.text()
  token = /name="authenticity_token" value="([^"]+)"/.exec(text)?.[1] ?? token
  return {
    status: response.status,
    headers: response.headers,
    text,
    get json() {
      return JSON.parse(text)
    },
  }
}

function bodyOf({ form, json, xml }: RequestOptions) {
  if (form) return new URLSearchParams({ ...form, authenticity_token: token ?? '' })
  return json === undefined ? xml : JSON.stringify(json)
}

function keepCookies(response: Response): void {
  for (const cookie of response.headers.getSetCookie()) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
    cookies.set(name, value)
  }
}
