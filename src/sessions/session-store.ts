import { createHash, randomBytes } from 'node:crypto'
import type { CreateSessionOptions } from 'koa-session'
import { QueryFailedError } from 'typeorm'
import { cookiesOf } from '../common/cookies.js'
import { explainDatabaseError } from '../database/database-errors.js'
import { PendingMigrations, ServiceUnavailable } from '../errors.js'
import { isAnonymous } from './csrf-token.js'
import { savedContent } from './session-cookie.js'
import { PerRequest } from '../common/per-request.js'
import type { Signer } from './signer.js'

/** The data of a session in a store: an object that is representable as JSON. */
export type SessionData = Record<string, unknown>

/** The options of saving a session. */
export interface KeepOptions {
  /** Milliseconds after which the session has expired. */
  maxAge: number
  /**
   * Whether the session is new. A session that is not new and no longer exists was ended by another request,
   * so it must not be stored again.
   */
  isNew: boolean
}

/**
 * A store keeps sessions that are too large for a cookie or that must be revocable. The cookie then only
 * contains a random id. The store receives the hash of the id, so reading the store is not enough to take
 * over a session.
 *
 * @example
 * class RedisSessions implements SessionStore {
 *   async get(id: string) {
 *     const text = await redis.get(`session:${id}`)
 *     return text === null ? undefined : JSON.parse(text)
 *   }
 *   async set(id: string, data: SessionData, { maxAge, isNew }: KeepOptions) {
 *     const options = { PX: maxAge, [isNew ? 'NX' : 'XX']: true }
 *     const reply = await redis.set(`session:${id}`, JSON.stringify(data), options)
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

/** The session of a request in the store. */
interface StoredSession {
  /** Its key in koa-session, and its id in the store; undefined if the store does not contain it. */
  stored?: { key: string; id: string } | undefined
  /** The hash under which it was in the store when the request began. */
  storedId?: string
  /** The correctly signed id of the request, if it is not in the store. */
  unknownId?: string
  /** The value of the cookie. Undefined, without a cookie, if another request has ended the session. */
  cookie?: string | undefined
}

const storedSessions = new PerRequest<StoredSession>()

/** The prefix of a value that is the session itself and not an id. No id begins with it. */
const contentPrefix = '~'

/** The signed cookie in which koa-session reads and writes the id of a session. */
export function idCookie(name: string, signer: Signer, options: object) {
  return {
    get: (ctx: object): string => signer.verify(cookiesOf(ctx).get(name, { signed: false }) ?? '') ?? '',
    set: (ctx: object): void => {
      const value = storedSessions.get(ctx)?.cookie
      if (value !== undefined) cookiesOf(ctx).set(name, signer.sign(value), options)
    },
  }
}

/** Creates an id that cannot be guessed. */
export function randomId(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * The CSRF secret of a request whose id is not in the store. It is derived from the id, so that a page with a
 * form sets no cookie: a late response would otherwise overwrite the cookie of a renewed session.
 */
export function secretOfUnknownId(ctx: object): Buffer | undefined {
  const id = storedSessions.get(ctx)?.unknownId
  return id === undefined ? undefined : createHash('sha256').update(`csrf ${id}`).digest()
}

/** The id of a request's session in the store when the request began: a hash of the cookie's id. */
export function storedSessionId(ctx: object): string | undefined {
  return storedSessions.get(ctx)?.storedId
}

/**
 * The store in which koa-session reads and saves the sessions of requests. A session that only contains the
 * CSRF secret and the page to return to is kept in the cookie, so that visitors who only request pages create
 * no rows and do not wait for writes.
 */
export function requestStore(store: SessionStore): NonNullable<CreateSessionOptions['store']> {
  return {
    async get(key, _maxAge, { ctx }): Promise<SessionData | undefined> {
      if (key.startsWith(contentPrefix)) return decodeContent(key)
      const storedId = hashId(key)
      const data = await callStore(() => store.get(storedId))
      storedSessions.set(ctx, data ? { stored: { key, id: key }, storedId } : { unknownId: key })
      return savedContent(data)
    },

    async set(key, data: SessionData, maxAge, { ctx }) {
      const session = storedSessions.get(ctx) ?? {}
      storedSessions.set(ctx, session)
      const stored = session.stored?.key === key ? session.stored : undefined
      if (!stored && isAnonymous(Object(data['content']))) {
        session.cookie = encodeContent(data)
        return
      }
      // The key is the content of a session that was in the cookie, or a new id of koa-session.
      const id = stored?.id ?? (key.startsWith(contentPrefix) ? randomId() : key)
      const isSaved = await callStore(() => store.set(hashId(id), data, { maxAge, isNew: !stored }))
      if (isSaved) session.stored = { key, id }
      session.cookie = isSaved ? id : undefined
    },

    async destroy(key, { ctx }) {
      const session = storedSessions.get(ctx)
      if (session?.stored?.key !== key) return
      const { id } = session.stored
      session.stored = undefined
      await callStore(() => store.destroy(hashId(id)))
    },
  }
}

/** Encodes a session as the value of a cookie. */
function encodeContent(data: SessionData): string {
  return contentPrefix + Buffer.from(JSON.stringify(savedContent(data))).toString('base64url')
}

/** Decodes such a value. It has been verified, and only we create it. */
function decodeContent(value: string): SessionData | undefined {
  return savedContent(JSON.parse(Buffer.from(value.slice(contentPrefix.length), 'base64url').toString()))
}

function hashId(id: string): string {
  return createHash('sha256').update(id).digest('base64url')
}

/** Calls a store. An error that does not explain itself becomes a 503. */
async function callStore<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const explained = explainDatabaseError(error)
    const clearErrors = [ServiceUnavailable, QueryFailedError, PendingMigrations]
    if (clearErrors.some((type) => explained instanceof type)) throw explained
    throw new ServiceUnavailable('The session store does not respond.', 5, { cause: error })
  }
}
