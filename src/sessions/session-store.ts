import { createHash } from 'node:crypto'
import { QueryFailedError } from 'typeorm'
import { explainDatabaseError } from '../data/database-errors.js'
import { PendingMigrations, ServiceUnavailable } from '../errors.js'
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
 * id alone, and the store is given its hash: who reads the store can not take over a session.
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

/** The part of the context that writes and reads cookies. */
interface CookieContext {
  cookies: {
    get(name: string, options: { signed: boolean }): string | undefined
    set(name: string, value: string, options: object): unknown
  }
}

/** Requests whose session was ended by another one while they ran: they set no cookie, which would be of the old id. */
const overtaken = new WeakSet<object>()

/** What koa-session reads and writes the id of a session with: a signed cookie. */
export function idCookie(name: string, signer: Signer, options: object) {
  return {
    get: (ctx: CookieContext): string => signer.verify(ctx.cookies.get(name, { signed: false }) ?? '') ?? '',
    set: (ctx: CookieContext, id: string): void => {
      if (!overtaken.has(ctx)) ctx.cookies.set(name, signer.sign(id), options)
    },
  }
}

/** What koa-session makes for each request, to read its session from the store and to keep it there. */
export function contextStore(store: SessionStore): new (ctx: object) => RequestStore {
  return class extends RequestStore {
    constructor(ctx: object) {
      super(store, ctx)
    }
  }
}

/** The store as one request sees it. */
class RequestStore {
  /** The id that the store knows this request's session by. */
  private known: string | undefined

  constructor(
    private readonly store: SessionStore,
    private readonly ctx: object,
  ) {}

  async get(id: string): Promise<SessionData | undefined> {
    const data = await reach(() => this.store.get(hashed(id)))
    if (data) this.known = id
    return expiring(data)
  }

  async set(id: string, data: SessionData, maxAge: number): Promise<void> {
    const isNew = id !== this.known
    if (await reach(() => this.store.set(hashed(id), data, { maxAge, isNew }))) this.known = id
    else overtaken.add(this.ctx)
  }

  async destroy(id: string): Promise<void> {
    if (id !== this.known) return
    this.known = undefined
    await reach(() => this.store.destroy(hashed(id)))
  }
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
      : new ServiceUnavailable('the session store does not answer', 5, { cause: error })
  }
}
