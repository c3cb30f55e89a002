import { IsString } from 'class-validator'
import { BaseResource, Describe, Resource, Use, type Context } from 'resource-kit'
import {
  logAccess,
  rehashPassword,
  signIn,
  signOut,
  takeReturnTo,
  Unauthorized,
  verifyPassword,
} from 'resource-kit/auth'
import { field, findByEmail, limitAccount, limitClient } from '../authentication.js'
import { User } from '../models/user.js'

/** The body of `POST /session`. */
class SignIn {
  @IsString() email!: string
  @IsString() password!: string
}

/** Signs users in and out. */
@Resource('/session', { singular: true })
@Use(limitClient, limitAccount, { only: ['create'] })
export class SessionResource extends BaseResource {
  /** GET /session/new: the form to sign in. */
  new(ctx: Context) {
    return ctx.respond({ html: () => ctx.render('session/new') })
  }

  /** POST /session */
  @Describe({ summary: 'Signs in', body: SignIn, responses: { 200: User, 401: 'problem' } })
  async create(ctx: Context) {
    const user = await findByEmail(field(ctx, 'email'))
    // An unknown address takes as long as a wrong password.
    const isCorrect = await verifyPassword(field(ctx, 'password'), user?.password_hash)
    if (!user || !isCorrect) return this.reject(ctx, user)

    const path = takeReturnTo(ctx)
    signIn(ctx, await rehashPassword(ctx, user, field(ctx, 'password')))
    return ctx.respond({ html: () => ctx.seeOther(path), data: user })
  }

  /** DELETE /session */
  @Describe({ summary: 'Signs out', responses: { 200: 'application/json' } })
  async destroy(ctx: Context) {
    signOut(ctx)
    return ctx.respond({
      html: () => ctx.seeOther('/', { success: ctx.t('session.destroyed.success') }),
      data: {},
    })
  }

  private reject(ctx: Context, user: User | null, reason = 'session.wrong') {
    logAccess(ctx, 'sign_in_failed', user ?? undefined)
    return ctx.respond(422, {
      html: () => ctx.render('session/new', { email: field(ctx, 'email'), reason }),
      data: () => {
        throw new Unauthorized('Session', ctx.t(reason))
      },
    })
  }
}
