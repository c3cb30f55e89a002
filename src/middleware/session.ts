import type Koa from 'koa'
import session from 'koa-session'
import { DeclarationError } from '../errors.js'

/** How an application's sessions are kept. */
export interface SessionOptions {
  /** The name of the cookie: `_blog_session`. */
  name: string
  /** Signs the cookie. Required in production. */
  secret: string | undefined
  isProduction: boolean
}

/** Signs cookies where no secret is needed: in development and in specs. */
const developmentSecret = 'a secret for development and specs only'

/**
 * Sessions in a signed cookie, by koa-session: HttpOnly, SameSite=Lax, and Secure in production.
 *
 * @throws DeclarationError in production without a secret
 */
export function sessions(koa: Koa, { name, secret, isProduction }: SessionOptions): Koa.Middleware {
  if (!secret && isProduction) {
    throw new DeclarationError(
      'Sessions need a secret in production. Set SESSION_SECRET to a long random text.',
    )
  }
  koa.keys = [secret ?? developmentSecret]
  return session(
    { key: name, httpOnly: true, sameSite: 'lax', secure: isProduction, signed: true, maxAge: 'session' },
    koa,
  )
}
