import { NoSession } from '../errors.js'
import type { FlashCookie } from './flash-cookie.js'
import type { Flash, FlashType } from './flash.js'
import { tokenOfPage } from './csrf-token.js'
import type { Context } from '../context.js'
import type { RequestSession } from './session-content.js'

declare module '../context.js' {
  interface ContextMembers extends SessionMembers {}
}

/** The members of a context that belong to its visitor's session. */
export interface SessionMembers {
  /**
   * The session: values that are kept across the requests of a visitor. They must be representable as JSON.
   * `ctx.session = null` ends the session. A value that is set afterwards begins a new one.
   *
   * @throws NoSession in an API application, which has no sessions
   */
  get session(): Record<string, unknown>
  set session(values: Record<string, unknown> | null)

  /**
   * Whether the application has sessions.
   *
   * @internal
   */
  readonly hasSession: boolean

  /**
   * The name of the session cookie, if the application has sessions.
   *
   * @internal
   */
  readonly sessionCookie: string | undefined

  /**
   * Replaces the id of the session, if it is in a store, and its `csrf()` secret. The other values are kept.
   * Call it when a user signs in, to prevent session fixation: an id or token that was known before becomes
   * worthless.
   */
  renewSession(): void

  /** The token of forms that the `csrf()` middleware verifies. Each page has a different one. */
  readonly csrfToken: string | undefined

  /**
   * Keeps a message for the next page: `ctx.flash('success', 'Saved.')`. The message is dropped if the
   * request fails with an error.
   *
   * @param type `success`, `info`, `warning`, `danger`, or your own type
   */
  flash(type: FlashType, message: string): void

  /** Returns the pending messages and removes them. */
  takeFlash(): Flash
}

/** The sessions and flash messages of an application. */
export interface Sessions {
  /** The name of the session cookie. */
  cookie: string
  flash: FlashCookie
  /** Returns the session of a request. From then on, the request counts as one that uses its session. */
  of(ctx: Context): RequestSession
}

/** The members of an application's context. Those of an application without sessions do nothing, or throw. */
export function sessionMembers(sessions?: Sessions): SessionMembers & ThisType<Context> {
  const sessionOf = (ctx: Context): RequestSession => {
    if (!sessions) throw new NoSession()
    return sessions.of(ctx)
  }
  return {
    hasSession: sessions !== undefined,
    sessionCookie: sessions?.cookie,

    get session(): Record<string, unknown> {
      return sessionOf(this).content
    },

    set session(values) {
      sessionOf(this).replace(values)
      if (values === null) sessions?.flash.clear(this)
    },

    get csrfToken() {
      return tokenOfPage(this)
    },

    renewSession() {
      sessions?.of(this).renew()
    },

    flash(type, message) {
      sessions?.flash.add(this, type, message)
    },

    takeFlash() {
      return sessions?.flash.take(this) ?? []
    },
  }
}
