import { setTimeout as delay } from 'node:timers/promises'
import type { Shop } from '../applications/hostile-shop.js'
import type { Victim } from './attacks.js'

/** The memory of the process in bytes, and its open files. */
export interface Vitals {
  rss: number
  heap: number
  files: number
}

const password = 'correct horse battery staple'

let addresses = 0

/** An honest visitor of the application under attack, who tries again when the database was away. */
export class Visitor {
  constructor(private readonly shop: Shop) {}

  get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.send('GET', path, headers)
  }

  /** Signs up with a new address, signs in, gets a token and creates some posts. */
  async signUp(): Promise<Victim> {
    const email = `${crypto.randomUUID()}@example.com`
    await this.retried(async () => this.send('POST', '/registration', {}, { email, password }))
    await this.shop.database.query('UPDATE users SET confirmed_at = CURRENT_TIMESTAMP')
    const { cookie, token } = await this.signIn(email)
    const tokens = await this.retried(() => this.send('POST', '/tokens', {}, { email, password, name: 'x' }))
    const bearer = String(Reflect.get(Object(await tokens.json()), 'token'))
    const [first, ...others] = await Promise.all(Array.from({ length: 12 }, () => this.createPost(bearer)))
    return { email, cookie, token, bearer, posts: [first ?? '', ...others] }
  }

  /** Signs in by the form of the browser. */
  async signIn(email: string): Promise<Pick<Victim, 'cookie' | 'token'>> {
    const form = await this.retried(() => this.get('/session/new', { accept: 'text/html' }))
    const body = { email, password, authenticity_token: tokenIn(await form.text()) }
    const signedIn = await this.retried(() => this.send('POST', '/session', { cookie: cookieOf(form) }, body))
    const cookie = cookieOf(signedIn)
    const page = await this.retried(() => this.get('/posts/new', { accept: 'text/html', cookie }))
    return { cookie, token: tokenIn(await page.text()) }
  }

  /** Creates a post in the place of the oldest one, if the application can just now. */
  async addPost({ bearer, posts }: Victim): Promise<void> {
    const id = await this.createPost(bearer).catch(() => undefined)
    if (id === undefined) return
    posts.shift()
    posts.push(id)
  }

  /** Creates a post by a token, and reads it with the session. Returns the flaw, if there is one. */
  async createAndShow({ bearer, cookie }: Victim): Promise<string | undefined> {
    const id = await this.createPost(bearer)
    const shown = await this.get(`/posts/${id}`, { cookie })
    const { title } = Object(await shown.json())
    return title === 'a title' ? undefined : `the post has the title ${String(title)} (${shown.status})`
  }

  /** The vitals of the process; undefined if it does not respond. */
  async vitals(): Promise<Vitals | undefined> {
    const response = await this.get('/vitals').catch(() => undefined)
    return response?.ok ? (JSON.parse(await response.text()) as Vitals) : undefined
  }

  private async createPost(bearer: string): Promise<string> {
    const post = { title: 'a title', body: 'a body', rank: 1, state: 'draft' }
    const headers = { authorization: `Bearer ${bearer}` }
    const created = await this.retried(() => this.send('POST', '/posts', headers, post))
    return String(Reflect.get(Object(await created.json()), 'id'))
  }

  private send(
    method: string,
    path: string,
    headers: Record<string, string>,
    json?: object,
  ): Promise<Response> {
    addresses += 1
    return fetch(this.shop.served.url + path, {
      method,
      redirect: 'manual',
      // A response takes more than half a minute on a busy machine.
      signal: AbortSignal.timeout(120_000),
      headers: {
        accept: 'application/json',
        connection: 'close',
        'x-forwarded-proto': 'https',
        'x-forwarded-for': `198.51.${addresses >> 8}.${addresses & 255}`,
        ...(json && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(json && { body: JSON.stringify(json) }),
    })
  }

  /** The response to a request that succeeds now or soon. */
  private async retried(send: () => Promise<Response>): Promise<Response> {
    for (let time = 1; ; time++) {
      const response = await send()
      if (response.status < 400) return response
      if (time === 5) throw new Error(`${response.url} returned ${response.status}: ${await response.text()}`)
      await delay(200)
    }
  }
}

function tokenIn(page: string): string {
  return /name="authenticity_token" value="([^"]+)"/.exec(page)?.[1] ?? ''
}

function cookieOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ')
}
