import { createHash, randomBytes } from 'node:crypto'
import { QueryFailedError } from 'typeorm'
import { explainDatabaseError } from '../data/database-errors.js'
import { PendingMigrations, ServiceUnavailable } from '../errors.js'
import { isSecretAlone } from './csrf-token.js'
import { expiring } from './session-cookie.js'
import type { Signer } from './signer.js'

/** What a store keeps of a session: an object that JSON can hold. */
export type SessionData = Record<string, unknown>

/** How a session is to be kept. */
export interface KeepOptions {
  /** Milliseconds after which the session has expired. */
  maxAge: number
  /**
   * Whether the session begins with this. One that does not, and that is no longer there, has been ended by another
   * request: it must not come back.
   */
  isNew: boolean
}

/**
 * Keeps sessions where a cookie is too small for them, or where they must end for good. The cookie then holds a random
 * id alone, and the store is given its hash: who reads the store cannot take over a session.
 *
 * @example
 * class RedisSessions implements SessionStore {
 *   async get(id: string) {
 *     const text = await redis.get(`session:${id}`)
 *     return text === null ? undefined : JSON.parse(text)
 *   }
 *   async set(id: string, data: SessionData, { maxAge, isNew }: KeepOptions) {
 *     const reply = await redis.set(`session:${id}`, JSON.stringify(data), { PX: maxAge, [isNew ? 'NX' : 'XX']: true })
 *     return reply !== null
 *   }
 *   async destroy(id: string) {
 *     await redis.del(`session:${id}`)
 *   }
 * }
 * new App({ sessionStore: new RedisSessions() })
 */
export interface SessionStore {
  /** The session of an id; undefined when there is none, or when it has expired. */
  get(id: string): Promise<SessionData | undefined>
  /**
   * Keeps a session.
   *
   * @returns whether it has been kept: false when it is not new and no longer there
   */
  set(id: string, data: SessionData, options: KeepOptions): Promise<boolean>
  /** Ends a session. */
  destroy(id: string): Promise<void>
  /** Prepares the store, when the application starts. */
  start?(): Promise<void>
  /** Gives up what the store holds, when the application stops. */
  stop?(): Promise<void>
  /** Rejects when the store could not do its work now: `GET /up` then answers 503. */
  check?(): Promise<void>
}

/** What a store of ours has kept as JSON; what cannot be read is no session. */
export function readSession(text: string): SessionData | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The part of the context that writes and reads cookies. */
interface CookieContext {
  cookies: {
    get(name: string, options: { signed: boolean }): string | undefined
    set(name: string, value: string, options: object): unknown
  }
}

/** The values of the cookies that requests set. One whose session was ended by another request while it ran sets none. */
const values = new WeakMap<object, string>()

/** The well-signed ids of requests that the store does not know. */
const unknown = new WeakMap<object, string>()

/** Begins a value that is no id but the session itself. No id has it. */
const whole = '~'

/** What koa-session reads and writes the id of a session with: a signed cookie. */
export function idCookie(name: string, signer: Signer, options: object) {
  return {
    get: (ctx: CookieContext): string => signer.verify(ctx.cookies.get(name, { signed: false }) ?? '') ?? '',
    set: (ctx: CookieContext): void => {
      const value = values.get(ctx)
      if (value !== undefined) ctx.cookies.set(name, signer.sign(value), options)
    },
  }
}

/** An id that nobody guesses. */
export function randomId(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * The secret of forms for a request whose id the store does not know. It follows from the id, so that a page with a form
 * needs no cookie: an answer that comes late would take the cookie of a renewed session away.
 */
export function secretOfUnknown(ctx: object): Buffer | undefined {
  const id = unknown.get(ctx)
  return id === undefined ? undefined : createHash('sha256').update(`csrf ${id}`).digest()
}

/** What koa-session makes for each request, to read its session from the store and to keep it there. */
export function contextStore(store: SessionStore): new (ctx: object) => RequestStore {
  return class extends RequestStore {
    constructor(ctx: object) {
      super(store, ctx)
    }
  }
}

/**
 * The store as one request sees it. A session that holds nothing but the secret of forms is kept in the cookie: visitors
 * who only look at pages make no rows, and wait for nobody who writes.
 */
class RequestStore {
  /** The id that the store knows this request's session by, and what koa-session calls it. */
  private known: { key: string; id: string } | undefined

  constructor(
    private readonly store: SessionStore,
    private readonly ctx: object,
  ) {}

  async get(key: string): Promise<SessionData | undefined> {
    if (key.startsWith(whole)) return unpack(key)
    const data = await reach(() => this.store.get(hashed(key)))
    if (data) this.known = { key, id: key }
    else unknown.set(this.ctx, key)
    return expiring(data)
  }

  async set(key: string, data: SessionData, maxAge: number): Promise<void> {
    const known = this.known?.key === key ? this.known : undefined
    if (!known && isSecretAlone(Object(data['content']))) {
      values.set(this.ctx, pack(data))
      return
    }
    const id = known?.id ?? (key.startsWith(whole) ? randomId() : key)
    if (await reach(() => this.store.set(hashed(id), data, { maxAge, isNew: !known }))) {
      this.known = { key, id }
      values.set(this.ctx, id)
    } else values.delete(this.ctx)
  }

  async destroy(key: string): Promise<void> {
    if (this.known?.key !== key) return
    const { id } = this.known
    this.known = undefined
    await reach(() => this.store.destroy(hashed(id)))
  }
}

/** A session as the value of a cookie. */
function pack(data: SessionData): string {
  return whole + Buffer.from(JSON.stringify(expiring(data))).toString('base64url')
}

/** What was packed: the value has been verified, and only we make it. */
function unpack(value: string): SessionData | undefined {
  return expiring(JSON.parse(Buffer.from(value.slice(whole.length), 'base64url').toString()))
}

function hashed(id: string): string {
  return createHash('sha256').update(id).digest('base64url')
}

/** A store that does not answer makes a 503; what it says of a mistake of ours stays as it is. */
async function reach<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const explained = explainDatabaseError(error)
    const isClear = [ServiceUnavailable, QueryFailedError, PendingMigrations].some(
      (known) => explained instanceof known,
    )
    throw isClear
      ? explained
      : new ServiceUnavailable('The session store does not respond.', 5, { cause: error })
  }
}
