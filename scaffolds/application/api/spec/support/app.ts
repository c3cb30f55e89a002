/** What a request may bring along. */
export interface RequestOptions {
  /** A body to send as JSON. */
  json?: unknown
  /** A body to send as XML. */
  xml?: string
  /** The format of the answer: `application/xml`. */
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

/** Says where the application listens. spec/support/setup.ts does. */
export function visit(url: string): void {
  address = url
}

/** Sends a request to the application: `await request('POST', '/posts', { json: { title: 'Hello' } })`. */
export async function request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
  const headers = new Headers(options.headers)
  headers.set('Accept', options.accept ?? 'application/json')
  if (options.json !== undefined) headers.set('Content-Type', 'application/json')
  if (options.xml !== undefined) headers.set('Content-Type', 'application/xml')
  const body = options.json === undefined ? options.xml : JSON.stringify(options.json)

  const response = await fetch(address + path, { method, headers, body, redirect: 'manual' })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    get json() {
      return JSON.parse(text)
    },
  }
}
