import { NoSession } from '../errors.js'
import type { Flash, FlashType } from './flash.js'
import { tokenOfPage } from './request-token.js'

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
   * Replaces the id of the session, if it is in a store, and its `csrf()` secret. The other values are kept. Call it when
   * a user signs in, to prevent session fixation: an id or token that was known before becomes worthless.
   */
  renewSession(): void

  /** The token of forms that the `csrf()` middleware verifies. Each page has a different one. */
  readonly csrfToken: string | undefined

  /**
   * Keeps a message for the next page: `ctx.flash('success', 'Saved.')`. The message is dropped if the request fails with
   * an error.
   *
   * @param type `success`, `info`, `warning`, `danger`, or your own type
   */
  flash(type: FlashType, message: string): void

  /** Returns the pending messages and removes them. */
  takeFlash(): Flash
}

/** The members of an application without sessions. `SessionContents` and `FlashCookie` replace them. */
export function sessionMembers(
  hasSession: boolean,
): SessionMembers & ThisType<SessionMembers & { method: string }> {
  return {
    hasSession,

    get session(): Record<string, unknown> {
      throw new NoSession()
    },

    set session(_values) {
      throw new NoSession()
    },

    get csrfToken() {
      return tokenOfPage(this)
    },

    renewSession() {},
    flash() {},
    takeFlash: () => [],
  }
}
