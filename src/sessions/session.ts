import type Koa from 'koa'
import type { Next } from 'koa'
import type createSession from 'koa-session'
import { cookiesOf } from '../common/cookies.js'
import { PerRequest } from '../common/per-request.js'
import type { Context, Middleware } from '../context.js'
import { beforeCommit, restoreOnRetry } from '../database/transactions/request-transaction.js'
import { FlashCookie } from './flash-cookie.js'
import { sessionMembers } from './members.js'
import { RequestSession, type KoaProperty } from './session-content.js'
import { cookieCodec } from './session-cookie.js'
import { idCookie, randomId, requestStore, type SessionStore } from './session-store.js'
import { sessionSecrets } from './secrets.js'
import { Signer } from './signer.js'
import { require } from '../common/lazy.js'

/** The options of an application's sessions. */
export interface SessionOptions {
  /** The name of the cookie: `_blog_session`. In production it begins with `__Host-`. */
  name: string
  /** The secret that signs the cookie (`SESSION_SECRET`). The first of several signs, all verify. */
  secret?: string | readonly string[] | undefined
  env: string
  /** The store of the sessions, instead of the cookie. */
  store?: SessionStore | undefined
  /** A session's lifetime in milliseconds (14 days). A request in its second half renews it (sliding). */
  maxAge?: number | undefined
}

const fortnight = 14 * 24 * 60 * 60 * 1000

/** The sessions of the requests that use one. */
const requestSessions = new PerRequest<RequestSession>()

/**
 * Adds sessions with koa-session, in a cookie that is signed, HttpOnly, SameSite=Lax, and Secure in
 * production. With a store, the cookie only contains an id. No cookie is set if the session is not used. A
 * cookie without a valid signature is an empty session.
 *
 * koa-session's property `session` is redefined, because koa-session has no hook for the first use of a
 * session (after which shared caches must not store the response), for a check of its size before the commit,
 * for undoing the changes of a request that fails, and for keys of any name.
 *
 * @throws DeclarationError outside of development and specs without a secret, or with a short one
 * @throws SessionTooLarge in a request, when a browser would not keep the cookie
 */
export function sessions(koa: Koa, options: SessionOptions): Middleware {
  const requests = new Sessions(koa, options)
  return function session(ctx, next) {
    return requests.run(ctx, next)
  }
}

/** The sessions of an application. */
class Sessions {
  private readonly secure: boolean
  private readonly maxAge: number
  private readonly hasStore: boolean
  private readonly flash: FlashCookie
  private readonly encode: (value: object) => string
  private readonly saveSession: ReturnType<typeof createSession>
  private readonly koaSession: KoaProperty

  constructor(koa: Koa, { secret, env, store, maxAge = fortnight, name: suffix }: SessionOptions) {
    this.maxAge = maxAge
    this.hasStore = store !== undefined
    const secure = env === 'production'
    this.secure = secure
    const secrets = sessionSecrets(secret, env)
    // Browsers accept a cookie of this name only from the host itself, over HTTPS.
    const name = secure ? `__Host-${suffix}` : suffix
    const signer = new Signer(name, secrets)
    const attributes = { httpOnly: true, sameSite: 'lax', secure, overwrite: true, signed: false }
    const cookie = { ...attributes, maxAge }
    const codec = cookieCodec(name, signer)
    this.encode = store ? JSON.stringify : codec.encode
    const storage = store
      ? { store: requestStore(store), externalKey: idCookie(name, signer, cookie), genid: randomId }
      : codec
    koa.keys = secrets
    const loaded: { default: typeof createSession } = require('koa-session')
    this.saveSession = loaded.default({ key: name, ...cookie, renew: true, ...storage }, koa)
    // koa-session defines its property without types.
    this.koaSession = Object.getOwnPropertyDescriptor(koa.context, 'session') as KoaProperty
    this.flash = new FlashCookie(`${name}_flash`, new Signer(`${name}_flash`, secrets), attributes)
    const members = sessionMembers({ cookie: name, flash: this.flash, of: (ctx) => this.open(ctx) })
    Object.defineProperties(koa.context, Object.getOwnPropertyDescriptors(members))
  }

  /** Returns the session of a request, which begins at its first use. */
  private open(ctx: Context): RequestSession {
    const existing = requestSessions.get(ctx)
    if (existing) return existing
    const session = new RequestSession(ctx, this.koaSession)
    requestSessions.set(ctx, session)
    return session
  }

  /** Runs the middleware below and the handler, and saves the session. */
  async run(ctx: Context, next: Next): Promise<void> {
    // Otherwise Koa would refuse to set a Secure cookie behind a proxy that does not report HTTPS.
    if (this.secure) cookiesOf(ctx).secure = true
    beforeCommit(ctx, () => this.check(requestSessions.get(ctx)))
    restoreOnRetry(ctx, () => {
      const restore = requestSessions.get(ctx)?.takeSnapshot()
      return () => (restore ? restore() : requestSessions.get(ctx)?.reset())
    })
    restoreOnRetry(ctx, () => this.flash.takeSnapshot(ctx))
    await (this.hasStore
      ? this.saveSession(ctx, () => this.commitAfter(ctx, next))
      : this.runInCookie(ctx, next))
    // After the session has been saved, so that a request that failed does not report success.
    this.flash.write(ctx)
  }

  /** Saves a session in its cookie if it was used. koa-session reads the cookie on first use. */
  private async runInCookie(ctx: Context, next: Next): Promise<void> {
    try {
      await this.commitAfter(ctx, next)
    } finally {
      if (requestSessions.has(ctx)) await this.saveSession(ctx, () => Promise.resolve())
    }
  }

  /** Commits the changes of the session, or undoes them if the request has failed. */
  private async commitAfter(ctx: Context, next: Next): Promise<void> {
    try {
      await next()
      if (ctx.status >= 500) this.undo(ctx)
      else await this.commit(requestSessions.get(ctx))
    } catch (error) {
      this.undo(ctx)
      throw error
    }
  }

  private commit(session: RequestSession | undefined): Promise<void> | undefined {
    this.check(session)
    return session?.prepareSave()
  }

  /** Checks that a changed session can be saved, in the form in which koa-session writes it. */
  private check(session: RequestSession | undefined): void {
    if (!session?.isChanged) return
    const { maxAge } = this
    this.encode({ content: session.content, _expire: Date.now() + maxAge, _maxAge: maxAge })
  }

  private undo(ctx: Context): void {
    requestSessions.get(ctx)?.undo()
    this.flash.undo(ctx)
  }
}
