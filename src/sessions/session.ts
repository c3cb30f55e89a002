import { createRequire } from 'node:module'
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

/** The options of an application's sessions. */
export interface SessionOptions {
  /** The name of the cookie: `_blog_session`. In production it begins with `__Host-`. */
  name: string
  /** The secret that signs the cookie (`SESSION_SECRET`). Of several secrets the first one signs and all verify. */
  secret?: string | readonly string[] | undefined
  env: string
  /** The store of the sessions, instead of the cookie. */
  store?: SessionStore | undefined
  /** The lifetime of a session in milliseconds (14 days). A request in its second half renews it (sliding expiration). */
  maxAge?: number | undefined
}

/** koa-session is only loaded if the application has sessions. */
const require = createRequire(import.meta.url)

const fortnight = 14 * 24 * 60 * 60 * 1000

/** The sessions of the requests that use one. */
const requestSessions = new PerRequest<RequestSession>()

/**
 * Adds sessions with koa-session, in a cookie that is signed, HttpOnly, SameSite=Lax, and Secure in production. With a
 * store, the cookie only contains an id. No cookie is set if the session is not used. A cookie without a valid signature is
 * an empty session.
 *
 * koa-session's property `session` is redefined, because koa-session has no hook for the first use of a session (after
 * which shared caches must not store the response), for a check of its size before the commit, for undoing the changes of
 * a request that fails, and for keys of any name.
 *
 * @throws DeclarationError outside of development and specs without a secret, or with a short one
 * @throws SessionTooLarge in a request, when a browser would not keep the cookie
 */
export function sessions(koa: Koa, options: SessionOptions): Middleware {
  const { secret, env, store, maxAge = fortnight } = options
  const secrets = sessionSecrets(secret, env)
  const secure = env === 'production'
  // Browsers accept a cookie of this name only from the host itself, over HTTPS.
  const name = secure ? `__Host-${options.name}` : options.name
  const signer = new Signer(name, secrets)
  const attributes = { httpOnly: true, sameSite: 'lax', secure, overwrite: true, signed: false }
  const cookie = { ...attributes, maxAge }
  const codec = cookieCodec(name, signer)
  const storage = store
    ? { store: requestStore(store), externalKey: idCookie(name, signer, cookie), genid: randomId }
    : codec
  koa.keys = secrets
  const loaded: { default: typeof createSession } = require('koa-session')
  const saveSession = loaded.default({ key: name, ...cookie, renew: true, ...storage }, koa)
  // koa-session defines its property without types.
  const koaSession = Object.getOwnPropertyDescriptor(koa.context, 'session') as KoaProperty
  const flash = new FlashCookie(`${name}_flash`, new Signer(`${name}_flash`, secrets), attributes)
  const members = sessionMembers({ cookie: name, flash, of: sessionOf })
  Object.defineProperties(koa.context, Object.getOwnPropertyDescriptors(members))
  const encode = store ? JSON.stringify : codec.encode

  return async function session(ctx, next) {
    // Otherwise Koa would refuse to set a Secure cookie behind a proxy that does not report HTTPS.
    if (secure) cookiesOf(ctx).secure = true
    beforeCommit(ctx, () => check(requestSessions.get(ctx)))
    restoreOnRetry(ctx, () => {
      const restore = requestSessions.get(ctx)?.takeSnapshot()
      return () => (restore ? restore() : requestSessions.get(ctx)?.reset())
    })
    restoreOnRetry(ctx, () => flash.takeSnapshot(ctx))
    await (store ? saveSession(ctx, () => handle(ctx, next)) : handleInCookie(ctx, next))
    // After the session has been saved, so that a request that failed does not report success.
    flash.write(ctx)
  }

  function sessionOf(ctx: Context): RequestSession {
    const existing = requestSessions.get(ctx)
    if (existing) return existing
    const session = new RequestSession(ctx, koaSession)
    requestSessions.set(ctx, session)
    return session
  }

  /** Checks that a session can be saved, in the form in which koa-session writes it. An unchanged session has been saved before. */
  function check(session: RequestSession | undefined): void {
    if (!session?.isChanged) return
    encode({ content: session.content, _expire: Date.now() + maxAge, _maxAge: maxAge })
  }

  async function handle(ctx: Context, next: Next): Promise<void> {
    try {
      await next()
      if (ctx.status >= 500) return undo(ctx)
      const session = requestSessions.get(ctx)
      check(session)
      await session?.prepareSave()
    } catch (error) {
      undo(ctx)
      throw error
    }
  }

  /** Saves a session in its cookie if it was used. koa-session reads the cookie on first use. */
  async function handleInCookie(ctx: Context, next: Next): Promise<void> {
    try {
      await handle(ctx, next)
    } finally {
      if (requestSessions.has(ctx)) await saveSession(ctx, () => Promise.resolve())
    }
  }

  function undo(ctx: Context): void {
    requestSessions.get(ctx)?.undo()
    flash.undo(ctx)
  }
}
