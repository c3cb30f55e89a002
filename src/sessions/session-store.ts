import { createHash, randomBytes } from 'node:crypto'
import { QueryFailedError } from 'typeorm'
import { cookiesOf } from '../common/cookies.js'
import { explainDatabaseError } from '../data/database-errors.js'
import { PendingMigrations, ServiceUnavailable } from '../errors.js'
import { isOfVisitor } from './csrf-token.js'
import { expiring } from './session-cookie.js'
import { PerRequest } from '../common/per-request.js'
import type { Signer } from './signer.js'

/** The data of a session in a store: an object that is representable as JSON. */
export type SessionData = Record<string, unknown>

/** The options of saving a session. */
export interface KeepOptions {
  /** Milliseconds after which the session has expired. */
  maxAge: number
  /**
   * Whether the session is new. A session that is not new and no longer exists was ended by another request, so it must
   * not be stored again.
   */
  isNew: boolean
}

/**
 * A store keeps sessions that are too large for a cookie or that must be revocable. The cookie then only contains a random
 * id. The store receives the hash of the id, so reading the store is not enough to take over a session.
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
  /** Returns the session of an id, or undefined if there is none or it has expired. */
  get(id: string): Promise<SessionData | undefined>
  /**
   * Saves a session.
   *
   * @returns whether it was saved: false if it is not new and no longer exists
   */
  set(id: string, data: SessionData, options: KeepOptions): Promise<boolean>
  /** Ends a session. */
  destroy(id: string): Promise<void>
  /** Runs when the application starts. */
  start?(): Promise<void>
  /** Runs when the application stops, to release resources. */
  stop?(): Promise<void>
  /** Rejects if the store is not able to work. `GET /up` then returns 503. */
  check?(): Promise<void>
}

/** Reads a session that one of our stores saved as JSON. Unreadable data isn't a session. */
export function readSession(text: string): SessionData | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The values of the cookies that requests set. A request whose session was ended by another one meanwhile sets none. */
const cookieValues = new PerRequest<string>()

/** The ids under which the sessions of requests are in the store. */
const storedIds = new PerRequest<string>()

/** The correctly signed ids of requests that are not in the store. */
const unknownIds = new PerRequest<string>()

/** The prefix of a value that is the session itself and not an id. No id begins with it. */
const contentPrefix = '~'

/** The signed cookie in which koa-session reads and writes the id of a session. */
export function idCookie(name: string, signer: Signer, options: object) {
  return {
    get: (ctx: object): string => signer.verify(cookiesOf(ctx).get(name, { signed: false }) ?? '') ?? '',
    set: (ctx: object): void => {
      const value = cookieValues.get(ctx)
      if (value !== undefined) cookiesOf(ctx).set(name, signer.sign(value), options)
    },
  }
}

/** Creates an id that cannot be guessed. */
export function randomId(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * The CSRF secret of a request whose id is not in the store. It is derived from the id, so that a page with a form sets no
 * cookie: a late response would otherwise overwrite the cookie of a renewed session.
 */
export function secretOfUnknown(ctx: object): Buffer | undefined {
  const id = unknownIds.get(ctx)
  return id === undefined ? undefined : createHash('sha256').update(`csrf ${id}`).digest()
}

/** The id under which the session of a request was in the store when the request began. It is a hash of the cookie's id. */
export function storedSessionId(ctx: object): string | undefined {
  return storedIds.get(ctx)
}

/** The class of which koa-session creates an instance for each request, to read and save its session. */
export function contextStore(store: SessionStore): new (ctx: object) => RequestStore {
  return class extends RequestStore {
    constructor(ctx: object) {
      super(store, ctx)
    }
  }
}

/**
 * The store for one request. A session that only contains the CSRF secret and the page to return to is kept in the cookie, so
 * that visitors who only request pages create no rows and do not wait for writes.
 */
class RequestStore {
  /** The id of this request's session in the store, and its id in koa-session. */
  private known: { key: string; id: string } | undefined

  constructor(
    private readonly store: SessionStore,
    private readonly ctx: object,
  ) {}

  async get(key: string): Promise<SessionData | undefined> {
    if (key.startsWith(contentPrefix)) return decodeContent(key)
    const data = await reach(() => this.store.get(hashed(key)))
    if (data) {
      this.known = { key, id: key }
      storedIds.set(this.ctx, hashed(key))
    } else unknownIds.set(this.ctx, key)
    return expiring(data)
  }

  async set(key: string, data: SessionData, maxAge: number): Promise<void> {
    const known = this.known?.key === key ? this.known : undefined
    if (!known && isOfVisitor(Object(data['content']))) {
      cookieValues.set(this.ctx, encodeContent(data))
      return
    }
    const id = known?.id ?? (key.startsWith(contentPrefix) ? randomId() : key)
    if (await reach(() => this.store.set(hashed(id), data, { maxAge, isNew: !known }))) {
      this.known = { key, id }
      cookieValues.set(this.ctx, id)
    } else cookieValues.delete(this.ctx)
  }

  async destroy(key: string): Promise<void> {
    if (this.known?.key !== key) return
    const { id } = this.known
    this.known = undefined
    await reach(() => this.store.destroy(hashed(id)))
  }
}

/** Encodes a session as the value of a cookie. */
function encodeContent(data: SessionData): string {
  return contentPrefix + Buffer.from(JSON.stringify(expiring(data))).toString('base64url')
}

/** Decodes such a value. It has been verified, and only we create it. */
function decodeContent(value: string): SessionData | undefined {
  return expiring(JSON.parse(Buffer.from(value.slice(contentPrefix.length), 'base64url').toString()))
}

function hashed(id: string): string {
  return createHash('sha256').update(id).digest('base64url')
}

/** A store that does not respond causes a 503. A mistake in our own code stays as it is. */
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
