import type { Context } from 'resource-kit'
import { absoluteUrl, sendMail } from 'resource-kit/mail'
import type { User } from '../models/user.js'

/** Tells the owner of an account that its password was changed. */
export function passwordChanged(ctx: Context, user: User): void {
  sendMail(ctx, {
    to: user.email,
    name: 'password_changed',
    locals: { url: absoluteUrl('/password_reset/new') },
  })
}
