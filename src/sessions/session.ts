import { createRequire } from 'node:module'
import type Koa from 'koa'
import type { Next } from 'koa'
import type createSession from 'koa-session'
import { cookiesOf } from '../common/cookies.js'
import type { Context, Middleware } from '../context.js'
import { beforeCommit } from '../data/transactions/before-commit.js'
import { restoreOnRetry } from '../data/transactions/retry-snapshots.js'
import { FlashCookie } from './flash-cookie.js'
import { SessionContents } from './session-content.js'
import { cookieCodec } from './session-cookie.js'
import { contextStore, idCookie, randomId, type SessionStore } from './session-store.js'
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

/**
 * Adds sessions with koa-session, in a cookie that is signed, HttpOnly, SameSite=Lax, and Secure in production. With a
 * store, the cookie only contains an id. No cookie is set if the session is not used. A cookie without a valid signature is
 * an empty session.
 *
 * @throws DeclarationError outside of development and specs without a secret, or with a short one
 */
export function sessions(koa: Koa, options: SessionOptions): Middleware {
  const { secret, env, store, maxAge = fortnight } = options
  const secrets = sessionSecrets(secret, env)
  const secure = env === 'production'
  // Browsers accept a cookie of this name only from the host itself, over HTTPS.
  const name = secure ? `__Host-${options.name}` : options.name
  const signer = new Signer(name, secrets)
  const common = { httpOnly: true, sameSite: 'lax', secure, overwrite: true, signed: false }
  const cookie = { ...common, maxAge }
  const whole = cookieCodec(name, signer)
  const place = store
    ? { ContextStore: contextStore(store), externalKey: idCookie(name, signer, cookie), genid: randomId }
    : whole
  koa.keys = secrets
  const loaded: { default: typeof createSession } = require('koa-session')
  const keep = loaded.default({ key: name, ...cookie, renew: true, ...place }, koa)
  const flash = new FlashCookie(koa.context, `${name}_flash`, new Signer(`${name}_flash`, secrets), common)
  const check = store ? JSON.stringify : whole.check
  const contents = new SessionContents(
    koa.context,
    // The form in which koa-session keeps it.
    (content) => check({ content, _expire: Date.now() + maxAge, _maxAge: maxAge }),
    (ctx) => flash.clear(ctx),
  )

  return async function session(ctx, next) {
    // The cookie is also set if a proxy does not report that the browser uses HTTPS; it is then marked as Secure.
    if (secure) cookiesOf(ctx).secure = true
    beforeCommit(ctx, () => contents.checkContent(ctx))
    for (const part of [contents, flash]) restoreOnRetry(ctx, () => part.takeSnapshot(ctx))
    await (store ? keep(ctx, () => handle(ctx, next)) : handleInCookie(ctx, next))
    // After the session has been saved, so that a request that failed does not report success.
    flash.write(ctx)
  }

  async function handle(ctx: Context, next: Next): Promise<void> {
    try {
      await next()
      if (ctx.status >= 500) undo(ctx)
      else if (contents.isUsed(ctx)) await contents.prepareSave(ctx)
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
      if (contents.isUsed(ctx)) await keep(ctx, () => Promise.resolve())
    }
  }

  function undo(ctx: Context): void {
    contents.undo(ctx)
    flash.undo(ctx)
  }
}
