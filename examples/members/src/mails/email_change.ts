import type { Context } from 'resource-kit'
import { passwordStamp, signedToken } from 'resource-kit/auth'
import { absoluteUrl, sendMail } from 'resource-kit/mail'
import type { User } from '../models/user.js'

/** The link that confirms a new address. */
export function emailChange(ctx: Context, user: User, email: string): void {
  const token = signedToken('email change', email, { expires: '1 day', stamp: passwordStamp(user) })
  const url = absoluteUrl(`/account/email/${token}`)
  sendMail(ctx, { to: email, name: 'email_change', locals: { url }, queued: false })
}
