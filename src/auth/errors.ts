import { HttpError } from '../errors.js'

/** 401: the request has no user, and its client doesn't show pages. */
export class Unauthorized extends HttpError {
  override name = 'Unauthorized'

  /** @param scheme the value of `WWW-Authenticate`: `Session` or `Bearer` */
  constructor(scheme: string, message = 'Sign in to use this address.') {
    super(401, message, { 'WWW-Authenticate': scheme })
  }
}

/** 429: a client, or an account, has used up its attempts. */
export class TooManyRequests extends HttpError {
  override name = 'TooManyRequests'

  /** @param seconds the time until the limit is reset */
  constructor(seconds: number) {
    super(429, `Too many attempts. Try again in ${seconds} seconds.`, { 'Retry-After': String(seconds) })
  }
}
