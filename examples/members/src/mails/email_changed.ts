import type { Context } from 'resource-kit'
import { sendMail } from 'resource-kit/mail'

/** Tells the owner of an account at the old address that the address was changed. */
export function emailChanged(ctx: Context, before: string, email: string): void {
  sendMail(ctx, { to: before, name: 'email_changed', locals: { email } })
}
