import type { Context } from 'resource-kit'
import { passwordStamp, signedToken } from 'resource-kit/auth'
import { absoluteUrl, sendMail } from 'resource-kit/mail'
import type { User } from '../models/user.js'

/** The link to choose a new password. It works for 20 minutes, and once. */
export function passwordReset(ctx: Context, user: User): void {
  const token = signedToken('password reset', user.id, { expires: '20 minutes', stamp: passwordStamp(user) })
  const url = absoluteUrl(`/password_reset/open/${token}`)
  sendMail(ctx, { to: user.email, name: 'password_reset', locals: { url }, queued: false })
}
