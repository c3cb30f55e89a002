import { cookiesOf } from '../common/cookies.js'
import { addMessage, readFlash, type Flash } from './flash.js'
import { markPrivate } from '../http/private-responses.js'
import { memoize } from '../common/memoize.js'
import { PerRequest } from '../common/per-request.js'
import type { Context } from '../context.js'
import { isTooLarge } from './session-cookie.js'
import type { Signer } from './signer.js'

interface FlashState {
  /** The messages in the request's cookie. */
  received: Flash
  /** The messages for the next page. */
  pending: Flash
}

const states = new PerRequest<FlashState>()

/** The messages that a request has added for the next page. */
export function addedFlash(ctx: object): Flash {
  const { received = [], pending = [] } = states.get(ctx) ?? {}
  return pending.filter((message) => !received.includes(message))
}

/**
 * The flash messages of each request, in their own signed cookie. So a page that shows messages does not
 * write the session, which another request may have ended in the meantime.
 */
export class FlashCookie {
  /** Signs messages in JSON. The results are cached, because many visitors receive the same message. */
  private readonly encode = memoize((json) => this.signer.sign(Buffer.from(json).toString('base64url')))

  constructor(
    private readonly name: string,
    private readonly signer: Signer,
    private readonly attributes: object,
  ) {}

  /** Adds a message for the next page. */
  add(ctx: Context, type: string, message: string): void {
    const state = this.stateOf(ctx)
    state.pending = addMessage(state.pending, type, message)
  }

  /** Returns the pending messages and removes them. */
  take(ctx: Context): Flash {
    const state = this.stateOf(ctx)
    const { pending } = state
    // A HEAD request does not show the page.
    if (ctx.method !== 'HEAD') state.pending = []
    return pending
  }

  /** Drops the pending messages, because the session has been ended. */
  clear(ctx: Context): void {
    this.stateOf(ctx).pending = []
  }

  /** Restores the messages of the request's cookie, because the request failed. */
  undo(ctx: Context): void {
    states.delete(ctx)
  }

  /**
   * Takes a snapshot of a request's messages.
   *
   * @returns a function that restores them before the request is retried
   */
  takeSnapshot(ctx: Context): () => void {
    const state = states.get(ctx)
    const snapshot = state && { ...state }
    return () => {
      if (snapshot) states.set(ctx, { ...snapshot })
      else states.delete(ctx)
    }
  }

  /** Sets the cookie after the request has been handled, if its messages have changed. */
  write(ctx: Context): void {
    const state = states.get(ctx)
    if (!state || ctx.headerSent || JSON.stringify(state.received) === JSON.stringify(state.pending)) return
    const value = this.encodeNewest(ctx, state.pending)
    // Without a value the cookie is deleted.
    cookiesOf(ctx).set(this.name, value, this.attributes)
  }

  private stateOf(ctx: Context): FlashState {
    const existing = states.get(ctx)
    if (existing) return existing
    markPrivate(ctx)
    const received = readFlash(this.signer.decode(cookiesOf(ctx).get(this.name, { signed: false }) ?? ''))
    const state = { received, pending: received }
    states.set(ctx, state)
    return state
  }

  /** Encodes as many of the newest messages as fit into the cookie; null if there is none. */
  private encodeNewest(ctx: Context, flash: Flash): string | null {
    for (let left = flash; left.length > 0; left = left.slice(1)) {
      const value = this.encode(JSON.stringify(left))
      if (!isTooLarge(this.name, value)) return value
      ctx.log.error({ message: left[0] }, 'a flash message was dropped: its cookie has no room for it')
    }
    return null
  }
}
