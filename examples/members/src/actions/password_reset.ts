import { IsString } from 'class-validator'
import {
  BadRequest,
  BaseResource,
  Describe,
  Resource,
  Route,
  Use,
  ValidationErrors,
  type Context,
} from 'resource-kit'
import { checkPassword, findByLink, hashPassword, lockUnchanged, logAccess } from 'resource-kit/auth'
import { field, findByEmail, limitAccount, limitMails } from '../authentication.js'
import { database } from '../database.js'
import { passwordChanged } from '../mails/password_changed.js'
import { passwordReset } from '../mails/password_reset.js'
import { User } from '../models/user.js'

/** The body of `POST /password_reset`. */
class ResetRequest {
  @IsString() email!: string
}

/** The body of `PUT /password_reset`. */
class NewPassword {
  @IsString() password!: string
}

/** Lets users choose a new password by a link in a mail. */
@Resource('/password_reset', { singular: true })
@Use(...limitMails, { only: ['create'] })
export class PasswordResetResource extends BaseResource {
  /** GET /password_reset/new: the form to request a mail. */
  new(ctx: Context) {
    return ctx.respond({ html: () => ctx.render('password_reset/new') })
  }

  /** POST /password_reset: sends the link. The response does not reveal whether the address has an account. */
  @Describe({
    summary: 'Sends a link to choose a password',
    body: ResetRequest,
    responses: { 200: 'application/json' },
  })
  async create(ctx: Context) {
    const user = await findByEmail(field(ctx, 'email'))
    if (user) passwordReset(ctx, user)
    logAccess(ctx, 'reset_requested', user ?? undefined)
    const path = ctx.pathFor('newSessionPath')
    return ctx.respond({ html: () => ctx.seeOther(path, { info: ctx.t('password_reset.sent') }), data: {} })
  }

  /** GET /password_reset/open/{token}: moves the token to the session, so that the page's address does not contain it. */
  @Describe(false)
  @Route('GET', '/open/{token}')
  async open(ctx: Context) {
    const { token } = ctx.params
    ctx.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'same-origin' })
    if (!(await this.findUser(token))) return this.expired(ctx)
    ctx.session.password_reset = token
    return ctx.seeOther(ctx.pathFor('editPasswordResetPath'))
  }

  /** GET /password_reset/edit: the form to choose a password. */
  async edit(ctx: Context) {
    const user = await this.findUser(ctx.session.password_reset)
    if (!user) return this.expired(ctx)
    ctx.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'same-origin' })
    return ctx.respond({ html: () => ctx.render('password_reset/edit', { user }) })
  }

  /** PUT /password_reset */
  @Describe({ summary: 'Chooses a password', body: NewPassword, responses: { 200: User, 422: 'problem' } })
  async update(ctx: Context) {
    const known = await this.findUser(ctx.session.password_reset)
    if (!known) return this.expired(ctx)
    const errors = new ValidationErrors()
    const password = field(ctx, 'password')
    if (!checkPassword(ctx, errors, known, password)) {
      return ctx.respond(errors, { html: () => ctx.render('password_reset/edit', { user: known, errors }) })
    }
    const password_hash = await hashPassword(password)

    // The link works once, even if it is used twice at the same time.
    const user = await lockUnchanged(ctx, known)
    if (!user) return this.expired(ctx)
    await ctx.save(Object.assign(user, { password_hash }))
    delete ctx.session.password_reset
    ctx.afterCommit(() => limitAccount.reset(user.email))
    passwordChanged(ctx, user)
    logAccess(ctx, 'password_reset', user)
    const path = ctx.pathFor('newSessionPath')
    return ctx.respond({
      html: () => ctx.seeOther(path, { success: ctx.t('password_reset.updated.success') }),
      data: user,
    })
  }

  /** Finds the user of the link; null if it has expired, or was used before. */
  private findUser(token: unknown) {
    return findByLink(database, User, 'password reset', token)
  }

  private expired(ctx: Context) {
    const path = ctx.pathFor('newPasswordResetPath')
    return ctx.respond({
      html: () => ctx.seeOther(path, { warning: ctx.t('password_reset.expired') }),
      data: () => {
        throw new BadRequest(ctx.t('password_reset.expired'))
      },
    })
  }
}
