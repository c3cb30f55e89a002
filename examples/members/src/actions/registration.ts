import { IsString } from 'class-validator'
import { BaseResource, Describe, Resource, Use, ValidationErrors, type Context } from 'resource-kit'
import {
  checkPassword,
  hashPassword,
  logAccess,
  normalizeEmail,
  signIn,
  takeReturnTo,
} from 'resource-kit/auth'
import { field, limitMailsOfClient } from '../authentication.js'
import { User } from '../models/user.js'

/** The body of `POST /registration`. */
class SignUp {
  @IsString() email!: string
  @IsString() password!: string
}

/** Lets visitors sign up. */
@Resource('/registration', { singular: true, model: User, fields: ['email'] })
@Use(limitMailsOfClient, { only: ['create'] })
export class RegistrationResource extends BaseResource {
  /** GET /registration/new: the form to sign up. */
  new(ctx: Context) {
    return ctx.respond({ html: () => ctx.render('registration/new', { user: new User() }) })
  }

  /** POST /registration */
  @Describe({ summary: 'Signs up', body: SignUp, responses: { 201: User } })
  async create(ctx: Context) {
    const user = ctx.bind(new User())
    user.email = normalizeEmail(user.email)
    const errors = (await this.validate(ctx, user)) ?? (await ctx.save(user))
    if (errors) return ctx.respond(errors, { html: () => ctx.render('registration/new', { user, errors }) })

    const path = takeReturnTo(ctx)
    signIn(ctx, user)
    logAccess(ctx, 'signed_up', user)
    return ctx.respond(201, {
      html: () => ctx.seeOther(path, { success: ctx.t('registration.created.success') }),
      data: user,
    })
  }

  /** Checks everything before the password is hashed, which takes long. */
  private async validate(ctx: Context, user: User) {
    const errors = (await ctx.validate(user)) ?? new ValidationErrors()
    const password = field(ctx, 'password')
    checkPassword(ctx, errors, user, password)
    if (!errors.isEmpty) return errors
    user.password_hash = await hashPassword(password)
    return undefined
  }
}
