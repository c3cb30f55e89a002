import type { IncomingMessage, ServerResponse } from 'node:http'
import type Koa from 'koa'
import { cookiesOf } from '../common/cookies.js'
import { markPrivate } from './private-responses.js'

type Cookies = Koa.Context['cookies']
type CookieContext = Pick<Koa.Context, 'method' | 'vary'>

/** The cookies of a request for the application: a response for which it reads one depends on the visitor. */
export class VisitorCookies implements Cookies {
  private readonly cookies: Cookies

  constructor(private readonly ctx: CookieContext) {
    this.cookies = cookiesOf(ctx)
  }

  get(...args: Parameters<Cookies['get']>): string | undefined {
    markPrivate(this.ctx)
    return this.cookies.get(...args)
  }

  set(...args: Parameters<Cookies['set']>): this {
    this.cookies.set(...args)
    return this
  }

  get secure(): boolean {
    return this.cookies.secure
  }

  set secure(isSecure) {
    this.cookies.secure = isSecure
  }

  get request(): IncomingMessage {
    return this.cookies.request
  }

  get response(): ServerResponse {
    return this.cookies.response
  }
}
