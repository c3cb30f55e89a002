import type Koa from 'koa'
import { addMessage, readFlash, type Flash } from './flash.js'
import { markPersonal } from '../http/personal.js'
import { PerRequest } from '../per-request.js'
import type { KoaContext } from './session-content.js'
import { isTooLarge } from './session-cookie.js'
import type { Signer } from './signer.js'

interface FlashState {
  /** The messages that the request has found in its cookie. */
  found: Flash
  /** Those that wait for the next page. */
  waiting: Flash
}

/**
 * The flash messages of each request, in a signed cookie beside that of the session: a page that shows messages does not
 * write the session, which another request may have ended meanwhile.
 */
export class FlashCookie {
  private readonly states = new PerRequest<FlashState>('flash')

  /** Replaces `flash` and `takeFlash` of a context, which do nothing without sessions. */
  constructor(
    context: Koa['context'],
    private readonly name: string,
    private readonly signer: Signer,
    private readonly attributes: object,
  ) {
    const add = (ctx: KoaContext, type: string, message: string) => this.add(ctx, type, message)
    const take = (ctx: KoaContext) => this.take(ctx)
    Object.defineProperties(context, {
      flash: {
        value(this: KoaContext, type: string, message: string) {
          add(this, type, message)
        },
        configurable: true,
      },
      takeFlash: {
        value(this: KoaContext) {
          return take(this)
        },
        configurable: true,
      },
    })
  }

  /** Drops the messages that wait, because the session has been ended. */
  clear(ctx: KoaContext): void {
    this.of(ctx).waiting = []
  }

  /** Lets the messages wait that the request has found, because it failed. */
  undo(ctx: KoaContext): void {
    this.states.delete(ctx)
  }

  /**
   * Notes a request's messages as they are now.
   *
   * @returns what makes them so again, because the request begins again
   */
  remember(ctx: KoaContext): () => void {
    const state = this.states.get(ctx)
    const noted = state && { ...state }
    return () => {
      if (noted) this.states.set(ctx, { ...noted })
      else this.states.delete(ctx)
    }
  }

  /** Sets the cookie of a request that has been handled, where its messages have changed. */
  write(ctx: KoaContext): void {
    const state = this.states.get(ctx)
    if (!state || ctx.headerSent || JSON.stringify(state.found) === JSON.stringify(state.waiting)) return
    const value = this.fitting(ctx, state.waiting)
    // Without a value the cookie is deleted.
    ctx.cookies.set(this.name, value, this.attributes)
  }

  private add(ctx: KoaContext, type: string, message: string): void {
    const state = this.of(ctx)
    state.waiting = addMessage(state.waiting, type, message)
  }

  private take(ctx: KoaContext): Flash {
    const state = this.of(ctx)
    const { waiting } = state
    // Nobody sees the page that HEAD asks for.
    if (ctx.method !== 'HEAD') state.waiting = []
    return waiting
  }

  private of(ctx: KoaContext): FlashState {
    const known = this.states.get(ctx)
    if (known) return known
    markPersonal(ctx)
    const found = this.decode(ctx.cookies.get(this.name, { signed: false }))
    const state = { found, waiting: found }
    this.states.set(ctx, state)
    return state
  }

  private decode(text: string | undefined): Flash {
    const value = text && this.signer.verify(text)
    return value ? readFlash(JSON.parse(Buffer.from(value, 'base64url').toString())) : []
  }

  /** The messages as the value of a cookie. The oldest are dropped where a browser would not keep it. */
  private fitting(ctx: KoaContext, flash: Flash): string | null {
    for (let left = flash; left.length > 0; left = left.slice(1)) {
      const value = this.signer.sign(Buffer.from(JSON.stringify(left)).toString('base64url'))
      if (!isTooLarge(this.name, value)) return value
      ctx.log.error({ message: left[0] }, 'a flash message was dropped: its cookie has no room for it')
    }
    return null
  }
}
