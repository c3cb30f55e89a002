import { IsString } from 'class-validator'
import {
  BaseResource,
  Describe,
  HttpError,
  Resource,
  Route,
  Use,
  ValidationErrors,
  type Context,
} from 'resource-kit'
import {
  checkPassword,
  hashPassword,
  lockUnchanged,
  logAccess,
  normalizeEmail,
  passwordStamp,
  readToken,
  signIn,
  Unauthorized,
  verifyPassword,
} from 'resource-kit/auth'
import { field, limitClient, limitMails, limitPresentPassword, userOf } from '../authentication.js'
import { emailChange } from '../mails/email_change.js'
import { emailChanged } from '../mails/email_changed.js'
import { passwordChanged } from '../mails/password_changed.js'
import { User } from '../models/user.js'

/** The body of `PUT /account`. */
class PasswordChange {
  @IsString() current_password!: string
  @IsString() password!: string
}

/** The body of a request for another address. */
class EmailChange {
  @IsString() current_password!: string
  @IsString() email!: string
}

/** Lets users change their password and address. */
@Resource('/account', { singular: true })
export class AccountResource extends BaseResource {
  /** GET /account */
  @Describe({ responses: { 200: User } })
  async show(ctx: Context) {
    return ctx.respond({ html: () => ctx.seeOther(ctx.pathFor('editAccountPath')), data: userOf(ctx) })
  }

  /** GET /account/edit: the forms to change the password and the address. */
  edit(ctx: Context) {
    return ctx.respond({ html: () => ctx.render('account/edit', { user: userOf(ctx) }) })
  }

  /** PUT /account: changes the password. All other sessions and all links in mails end. */
  @Describe({
    summary: 'Changes the password',
    body: PasswordChange,
    responses: { 200: User, 422: 'problem' },
  })
  @Use(limitClient, limitPresentPassword)
  async update(ctx: Context) {
    const errors = await this.checkCurrentPassword(ctx)
    const password = field(ctx, 'password')
    if (checkPassword(ctx, errors, userOf(ctx), password) && errors.isEmpty) {
      const password_hash = await hashPassword(password)
      const user = await lockUnchanged(ctx, userOf(ctx))
      if (!user) throw new Unauthorized('Session')
      await ctx.save(Object.assign(user, { password_hash }))
      signIn(ctx, user)
      passwordChanged(ctx, user)
      logAccess(ctx, 'password_changed', user)
    }
    return this.respond(ctx, errors, 'account.updated.success')
  }

  /** PUT /account/email: sends a link to the new address, whose page confirms the address. */
  @Route('PUT', '/email', {
    summary: 'Requests another address',
    body: EmailChange,
    responses: { 200: User, 422: 'problem' },
  })
  @Use(limitClient, limitPresentPassword, ...limitMails)
  async changeEmail(ctx: Context) {
    const changed = Object.assign(new User(), userOf(ctx), { email: normalizeEmail(field(ctx, 'email')) })
    const errors = (await ctx.validate(changed)) ?? (await this.checkCurrentPassword(ctx))
    if (errors.isEmpty) emailChange(ctx, userOf(ctx), changed.email)
    return this.respond(ctx, errors, 'account.email.sent')
  }

  /** GET /account/email/{token}: the link in the mail. Its page has a button, because programs that check mails open links, too. */
  @Describe(false)
  @Route('GET', '/email/{token}')
  async openEmail(ctx: Context) {
    const email = await this.readEmail(ctx)
    ctx.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'same-origin' })
    return ctx.respond({ html: () => ctx.render('account/email', { email, token: ctx.params.token }) })
  }

  /** PUT /account/email/{token}: the button of the page changes the address. All other sessions and all links in mails end. */
  @Route('PUT', '/email/{token}', {
    name: 'confirmEmailPath',
    summary: 'Changes the address',
    responses: { 200: User, 409: 'problem', 422: 'problem' },
  })
  async confirmEmail(ctx: Context) {
    const known = userOf(ctx)
    const email = await this.readEmail(ctx)
    const user = await lockUnchanged(ctx, known)
    if (!user) throw new Unauthorized('Session')
    const errors = await ctx.save(Object.assign(user, { email }))
    if (!errors) {
      signIn(ctx, user)
      emailChanged(ctx, known.email, email)
      logAccess(ctx, 'email_changed', user)
    }
    return this.respond(ctx, errors ?? new ValidationErrors(), 'account.email.success')
  }

  /** The new address in the token of the link, which a change of the password or the address has ended. */
  private async readEmail(ctx: Context): Promise<string> {
    const email = await readToken('email change', ctx.params.token, { stamp: passwordStamp(userOf(ctx)) })
    if (email === undefined) throw new HttpError(400, ctx.t('account.email.expired'))
    return email
  }

  /** Whether the request has the current password: another person may use an open browser. */
  private async checkCurrentPassword(ctx: Context): Promise<ValidationErrors> {
    const errors = new ValidationErrors()
    const isCorrect = await verifyPassword(field(ctx, 'current_password'), userOf(ctx).password_hash)
    return isCorrect ? errors : errors.add('current_password', 'wrong', ctx.t('account.wrong_password'))
  }

  private respond(ctx: Context, errors: ValidationErrors, text: string) {
    const user = userOf(ctx)
    const form = () => ctx.render('account/edit', { user, errors })
    if (!errors.isEmpty) return ctx.respond(errors, { html: form })

    const path = ctx.pathFor('editAccountPath')
    return ctx.respond({ html: () => ctx.seeOther(path, { success: ctx.t(text) }), data: user })
  }
}
