import { randomBytes } from 'node:crypto'
import type Koa from 'koa'
import session from 'koa-session'
import type { Middleware } from '../context.js'
import { SessionContents } from '../sessions/session-content.js'
import { wholeCookie } from '../sessions/session-cookie.js'
import { contextStore, idCookie, type SessionStore } from '../sessions/session-store.js'
import { sessionSecrets } from '../sessions/secrets.js'
import { Signer } from '../sessions/signer.js'

/** How an application's sessions are kept. */
export interface SessionOptions {
  /** The name of the cookie: `_blog_session`. */
  name: string
  /** Signs the cookie: one secret, or several, of which the first signs and all verify. `SESSION_SECRET` without it. */
  secret?: string | readonly string[] | undefined
  env: string
  /** Keeps the sessions, in place of the cookie. */
  store?: SessionStore | undefined
  /** Milliseconds without a visit after which a session has expired (14 days). */
  maxAge?: number | undefined
}

const fortnight = 14 * 24 * 60 * 60 * 1000

/**
 * Sessions by koa-session, in a cookie that is signed, HttpOnly, SameSite=Lax, and Secure in production. With a store,
 * the cookie holds an id alone. What is not used is not set, and what nobody has signed is an empty session.
 *
 * @throws DeclarationError outside of development and specs without a secret, or with a short one
 */
export function sessions(koa: Koa, options: SessionOptions): Middleware {
  const { name, secret, env, store, maxAge = fortnight } = options
  const secrets = sessionSecrets(secret, env)
  const signer = new Signer(name, secrets)
  const secure = env === 'production'
  const cookie = { httpOnly: true, sameSite: 'lax', secure, overwrite: true, signed: false, maxAge }
  const place = store
    ? { ContextStore: contextStore(store), externalKey: idCookie(name, signer, cookie), genid: randomId }
    : wholeCookie(name, signer)
  koa.keys = secrets
  const keep = session({ key: name, ...cookie, renew: true, ...place }, koa)
  const contents = new SessionContents(koa.context)

  return async function session(ctx, next) {
    // Also where a proxy does not say that the browser came by https: the cookie is marked, and never refused.
    if (secure) ctx.cookies.secure = true
    await keep(ctx, async () => {
      try {
        await next()
      } catch (error) {
        contents.undoFlash(ctx)
        throw error
      } finally {
        await contents.settle(ctx)
      }
    })
  }
}

function randomId(): string {
  return randomBytes(32).toString('base64url')
}
