import { createRequire } from 'node:module'
import type Koa from 'koa'
import type createSession from 'koa-session'
import type { Middleware } from '../context.js'
import { beforeCommit } from '../data/transactions/before-commit.js'
import { rememberForRepeat } from '../data/transactions/before-repeat.js'
import { SessionContents } from '../sessions/session-content.js'
import { wholeCookie } from '../sessions/session-cookie.js'
import { contextStore, idCookie, randomId, type SessionStore } from '../sessions/session-store.js'
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
  /** Milliseconds that a session lasts (14 days). A request that uses it in the second half of them makes it last anew. */
  maxAge?: number | undefined
}

/** koa-session is loaded with the sessions: an API application has none. */
const require = createRequire(import.meta.url)

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
  const whole = wholeCookie(name, signer)
  const place = store
    ? { ContextStore: contextStore(store), externalKey: idCookie(name, signer, cookie), genid: randomId }
    : whole
  koa.keys = secrets
  const loaded: { default: typeof createSession } = require('koa-session')
  const keep = loaded.default({ key: name, ...cookie, renew: true, ...place }, koa)
  const check = store ? JSON.stringify : whole.check
  // As koa-session keeps it.
  const contents = new SessionContents(koa.context, (content) =>
    check({ content, _expire: Date.now() + maxAge, _maxAge: maxAge }),
  )

  return async function session(ctx, next) {
    // Also where a proxy does not say that the browser came by https: the cookie is marked, and never refused.
    if (secure) ctx.cookies.secure = true
    beforeCommit(ctx, () => contents.fit(ctx))
    rememberForRepeat(ctx, () => contents.remember(ctx))
    let isHandled = false
    try {
      await keep(ctx, async () => {
        try {
          await next()
          if (ctx.status >= 500) contents.undo(ctx)
          else await contents.settle(ctx)
          isHandled = true
        } catch (error) {
          contents.undo(ctx)
          throw error
        }
      })
    } catch (error) {
      // What has been committed is not refused because of a message that tells of it.
      if (!isHandled || !contents.hasFlashAlone(ctx)) throw error
      ctx.log.error({ err: error }, 'the flash messages could not be kept')
    }
  }
}
