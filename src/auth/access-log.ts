import type { Context } from '../index.js'

/** An event in the life of an account. */
export type AccessEvent =
  | 'signed_up'
  | 'address_taken'
  | 'confirmation_requested'
  | 'confirmed'
  | 'signed_in'
  | 'sign_in_failed'
  | 'signed_out'
  | 'sessions_ended'
  | 'reset_requested'
  | 'password_reset'
  | 'password_changed'
  | 'email_changed'
  | 'rate_limited'
  | 'rejected'
  | 'token_created'
  | 'token_revoked'

/**
 * Writes a line about an account's event to the log (ASVS 7.1): the event, the id of the user if it is known,
 * and the IP address of the client.
 */
export function logAccess(ctx: Context, event: AccessEvent, user?: { id: string }): void {
  ctx.log.info({ event, user_id: user?.id, ip: ctx.ip }, `account: ${event.replaceAll('_', ' ')}`)
}
