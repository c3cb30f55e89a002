import type { EntityManager } from 'typeorm'
import type { Duration } from '../extension.js'
import type { Context, JobContext, Middleware, Model, ValidationErrors } from '../index.js'
import type { RolePolicyClass } from './role-policy.js'

/** A user who is a member, or becomes one. */
export interface Actor extends Model {
  email: string
}

/** The attributes that the model of members has, besides the key of the team. */
export interface Membership extends Model {
  user_id: string
  role: string
}

/** The attributes that the model of invitations has, besides the key of the team. */
export interface Invitation extends Model {
  email: string
  role: string
  /** The SHA-256 of the token in the link. */
  token_hash: string
  expires_at: Date
  inviter_id: string | null
}

/** The options of `teamMembers`. */
export interface TeamOptions {
  team: new () => Model
  membership: new () => Membership
  invitation: new () => Invitation
  /** The roles, the highest first: `['owner', 'manager', 'clerk']`. */
  roles: readonly [string, string, ...string[]]
  /** Whether a user has the highest role in every team without being a member: `(user) => user.admin`. */
  // The application has its own class of users.
  // oxlint-disable-next-line no-explicit-any
  administrators?(user: any): boolean
  /** The model of bearer tokens. Those of one team are deleted when their user leaves it. */
  tokens?: new () => Model & { user_id: string }
  /** The time for which an invitation is open (7 days). */
  expires?: Duration
}

/** The members of the teams of an application: a middleware that reads the roles of `ctx.user`, and the methods that change them. */
export interface TeamMembers<Options extends TeamOptions = TeamOptions> extends Middleware {
  /** The class that the policies of the teams' records extend. */
  readonly RolePolicy: RolePolicyClass<Options['roles'][number]>

  /** The roles that a user may give in a team: up to the own one. There are none for somebody without a role. */
  rolesUpTo(user: object | undefined, team: Pick<Model, 'id'>): Options['roles'][number][]

  /**
   * Saves a new team, with `ctx.user` as its first member, who has the highest role.
   *
   * @returns the errors, or undefined if the team was saved
   */
  create(ctx: Context, team: InstanceType<Options['team']>): Promise<ValidationErrors | undefined>
  /** The same without a request, for seeds and specs. */
  create(
    tx: EntityManager,
    team: InstanceType<Options['team']>,
    user: Actor,
  ): Promise<ValidationErrors | undefined>

  /**
   * Invites an address with a role to the team of the invitation's key. An open invitation of the same address is replaced, so that
   * its link is dead.
   *
   * @returns the token for the link in a mail, or the errors
   * @throws Forbidden (403) when the role, or that of the replaced invitation, is above that of `ctx.user`
   */
  invite(
    ctx: Context,
    invitation: InstanceType<Options['invitation']>,
  ): Promise<{ errors: ValidationErrors; token?: undefined } | { errors?: undefined; token: string }>

  /**
   * Reads the open invitation of a token, with its team and its inviter.
   *
   * @throws InvitationGone (410) when there is none
   */
  invitation(token: unknown): Promise<InstanceType<Options['invitation']>>

  /**
   * Accepts an invitation, once. A user who is a member already keeps the role.
   *
   * @throws InvitationGone (410) when the invitation is not open
   * @throws Forbidden (403) when it is for another address
   * @throws ValidationErrors (422) when the team has too many members, or the user too many teams
   */
  accept(ctx: Context, token: unknown, user: Actor): Promise<InstanceType<Options['membership']>>

  /**
   * Gives a member another role.
   *
   * @returns the errors, or undefined if the member was saved: 422 for an unknown role, 409 for the last owner
   * @throws Forbidden (403) when the member's present or new role is above that of `ctx.user`
   */
  changeRole(
    ctx: Context,
    membership: InstanceType<Options['membership']>,
    role: unknown,
  ): Promise<ValidationErrors | undefined>

  /**
   * Removes a member, who may be `ctx.user`, or withdraws an invitation.
   *
   * @throws Forbidden (403) when its role is above that of `ctx.user`
   * @throws ValidationErrors (409) for the last owner
   */
  remove(ctx: Context, record: InstanceType<Options['membership' | 'invitation']>): Promise<void>

  /**
   * Deletes up to 1,000 records inside of a team, also from the trash, so that the team can be deleted. Call it in a job, until it
   * returns 0.
   *
   * @returns the number of records
   * @throws ValidationErrors (409) when records that are left refer to each other
   */
  empty(job: JobContext, team: InstanceType<Options['team']>): Promise<number>
}
