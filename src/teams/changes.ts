import { EntityManager, MoreThan, Not } from 'typeorm'
import {
  inTransaction,
  lockOption,
  milliseconds,
  saveRecord,
  unscopedWork,
  writeInBulk,
} from '../extension.js'
import {
  Forbidden,
  RecordNotFound,
  ValidationErrors,
  type Context,
  type Database,
  type Model,
} from '../index.js'
import { userOf, type Access } from './access.js'
import type { Actor, Invitation, Membership, TeamMembers, TeamOptions } from './declarations.js'
import { InvitationGone } from './errors.js'
import { writeGuarded } from './guard.js'
import { hash, mask, newToken, teamIn } from './invitation-token.js'

const maxInvitations = 100
const maxMembers = 1000
const maxTeams = 200

/** The methods of `teamMembers()` that change who is in a team. */
export class Changes {
  private readonly lifetime: number

  constructor(
    private readonly database: Database,
    private readonly options: TeamOptions,
    private readonly access: Access,
  ) {
    this.lifetime = milliseconds(options.expires ?? '7 days', 'The option "expires" of teamMembers()')
  }

  async create(
    ctx: Context | EntityManager,
    team: Model,
    user?: Actor,
  ): Promise<ValidationErrors | undefined> {
    if (ctx instanceof EntityManager) {
      const work = unscopedWork(ctx)
      return this.found(ctx, team, user, (record) => saveRecord(work, record))
    }
    return inTransaction(ctx, ({ tx }) =>
      this.found(tx, team, userOf(ctx), (record) => (record === team ? ctx : ctx.unscoped).save(record), ctx),
    )
  }

  /** Saves a team and its first member. */
  private async found(
    tx: EntityManager,
    team: Model,
    user: Actor | undefined,
    save: (record: Model) => Promise<ValidationErrors | undefined>,
    ctx?: Context,
  ): Promise<ValidationErrors | undefined> {
    if (!user) throw new Forbidden()
    if (await this.hasTooManyTeams(tx, user)) return limitErrors('too_many_teams', maxTeams)
    const errors = await save(team)
    if (errors) return errors
    const member = this.newMember(team.id, user, this.options.roles[0])
    const memberErrors = await writeGuarded(member, save)
    if (!memberErrors && ctx) this.access.know(user, team.id, member)
    return memberErrors
  }

  async invite(ctx: Context, invitation: Invitation): ReturnType<TeamMembers['invite']> {
    return inTransaction(ctx, async ({ tx }) => {
      const { team, user, rank } = await this.access.enter(ctx, invitation)
      const errors = (await ctx.validate(invitation)) ?? new ValidationErrors()
      this.checkRole(errors, invitation.role)
      if (!errors.isEmpty) return { errors }
      this.rejectAbove(rank, invitation.role)
      const own = { [this.access.key]: team, email: invitation.email }
      const [previous] = await this.access.lockRows(tx, this.options.invitation, own)
      if (previous) this.rejectAbove(rank, previous['role'])
      const problem = await this.findProblem(tx, team, invitation.email)
      if (problem) return { errors: problem }
      if (previous)
        await writeInBulk(ctx, 'Invited again', (bulk) => bulk.delete(this.options.invitation, own))
      const token = newToken(team)
      const expires_at = new Date(Date.now() + this.lifetime)
      Object.assign(invitation, { token_hash: hash(token), expires_at, inviter_id: user.id })
      const rejected = await writeGuarded(invitation, (record) => ctx.save(record))
      return rejected ? { errors: rejected } : { token }
    })
  }

  /** Why an address cannot be invited. */
  private async findProblem(
    tx: EntityManager,
    team: string,
    email: string,
  ): Promise<ValidationErrors | undefined> {
    const { membership, invitation } = this.options
    const inTeam = { [this.access.key]: team }
    if (await tx.exists(membership, { where: { ...inTeam, [this.access.user]: { email } } as object }))
      return new ValidationErrors().add('email', 'member')
    const others = { ...inTeam, email: Not(email), expires_at: MoreThan(new Date()) } as object
    if ((await tx.countBy(invitation, others)) >= maxInvitations)
      return limitErrors('too_many_invitations', maxInvitations)
    return undefined
  }

  async findInvitation(token: unknown): Promise<Invitation> {
    return this.database.read((tx) => this.readInvitation(tx, token, true))
  }

  /** @throws InvitationGone (410) when no invitation with the token is open */
  private async readInvitation(tx: EntityManager, token: unknown, withTeam = false): Promise<Invitation> {
    const { invitation } = this.options
    const { relations } = this.database.getMetadata(invitation)
    const names = withTeam ? relations.map(({ propertyName }) => [propertyName, true] as const) : []
    const where = { token_hash: hash(token) } as object
    const found = await tx.findOne(invitation, { where, relations: Object.fromEntries(names) as object })
    if (found && Number(found.expires_at) > Date.now()) return found
    throw new InvitationGone()
  }

  accept(ctx: Context, token: unknown, user: Actor): Promise<Membership> {
    return inTransaction(ctx, async ({ tx }) => {
      const { membership, invitation, team } = this.options
      const id = teamIn(token)
      const [row] = id === undefined ? [] : await this.access.lockRows(tx, team, { id })
      const member = row ? await this.findMember(tx, this.access.keysOf(id, user)) : null
      // A second click leads to the team, although the invitation is used.
      const open = await this.readInvitation(tx, token).catch((error: unknown) => {
        if (member) return undefined
        throw error
      })
      if (open && open.email !== user.email)
        throw new Forbidden(`This invitation is for ${mask(open.email)}.`)
      const own = { token_hash: open?.token_hash } as object
      const used = open && (await writeInBulk(ctx, 'Accepted', (bulk) => bulk.delete(invitation, own)))
      if (member) return member
      if (!open || used?.affected !== 1) throw new InvitationGone()
      if ((await tx.countBy(membership, { [this.access.key]: id } as object)) >= maxMembers)
        throw limitErrors('too_many_members', maxMembers)
      if (await this.hasTooManyTeams(tx, user)) throw limitErrors('too_many_teams', maxTeams)
      const added = this.newMember(String(id), user, open.role)
      const errors = await writeGuarded(added, (record) => ctx.unscoped.save(record))
      if (errors) throw errors
      this.access.know(user, String(id), added)
      return added
    })
  }

  changeRole(ctx: Context, membership: Membership, role: unknown): Promise<ValidationErrors | undefined> {
    return inTransaction(ctx, async ({ tx }) => {
      const { team, rank } = await this.access.enter(ctx, membership)
      const present = await this.presentRole(tx, membership)
      this.rejectAbove(rank, present)
      const errors = new ValidationErrors()
      this.checkRole(errors, role)
      if (!errors.isEmpty) return errors
      this.rejectAbove(rank, role)
      if (role !== present && (await this.isLastOwner(tx, team, present))) return lastOwner()
      membership.role = String(role)
      const rejected = await writeGuarded(membership, (record) => ctx.save(record))
      const user = userOf(ctx)
      if (!rejected && user?.id === membership.user_id) this.access.know(user, team, membership)
      return rejected
    })
  }

  remove(ctx: Context, record: Membership | Invitation): Promise<void> {
    return inTransaction(ctx, async ({ tx }) => {
      const { team, rank } = await this.access.enter(ctx, record)
      const present = await this.presentRole(tx, record)
      this.rejectAbove(rank, present)
      const isMember = record instanceof this.options.membership
      if (isMember && (await this.isLastOwner(tx, team, present))) throw lastOwner()
      await writeGuarded(record, (one) => ctx.destroy(one))
      const user = userOf(ctx)
      if (isMember && user?.id === record.user_id) this.access.know(user, team, undefined)
      const { tokens } = this.options
      const own = { [this.access.key]: team, user_id: Reflect.get(record, 'user_id') as unknown }
      if (isMember && tokens) await writeInBulk(ctx, 'No longer a member', (bulk) => bulk.delete(tokens, own))
    })
  }

  /** Finds a membership as it is now, also in a transaction that has read earlier. */
  private findMember(tx: EntityManager, where: object): Promise<Membership | null> {
    const { membership } = this.options
    return tx.findOne(membership, { where, ...lockOption(tx, tx.dataSource.getMetadata(membership)) })
  }

  /** The role of a membership or an invitation, as it is stored now. */
  private async presentRole(tx: EntityManager, record: Membership | Invitation): Promise<unknown> {
    const model =
      record instanceof this.options.membership ? this.options.membership : this.options.invitation
    const [row] = await this.access.lockRows(tx, model, { id: record.id })
    if (row) return row['role']
    throw new RecordNotFound(model.name)
  }

  private async isLastOwner(tx: EntityManager, team: string, role: unknown): Promise<boolean> {
    const [highest] = this.options.roles
    if (role !== highest) return false
    const owners = await this.access.lockRows(tx, this.options.membership, {
      [this.access.key]: team,
      role: highest,
    })
    return owners.length === 1
  }

  /** @throws Forbidden (403) when a role is above that of the user */
  private rejectAbove(rank: number, role: unknown): void {
    if (this.access.roles.rank(String(role)) < rank) throw new Forbidden()
  }

  private checkRole(errors: ValidationErrors, role: unknown): void {
    if (this.access.roles.has(role)) return
    errors.fields.delete('role')
    errors.add('role', 'isIn', undefined, { values: this.access.roles.names.join(', ') })
  }

  private async hasTooManyTeams(tx: EntityManager, user: Actor): Promise<boolean> {
    return (await tx.countBy(this.options.membership, { user_id: user.id } as object)) >= maxTeams
  }

  private newMember(team: string, user: Actor, role: string): Membership {
    const values = { [this.access.key]: team, user_id: user.id, role }
    return Object.assign(new this.options.membership(), values)
  }
}

function lastOwner(): ValidationErrors {
  return new ValidationErrors(409).add('base', 'last_owner')
}

function limitErrors(rule: string, max: number): ValidationErrors {
  return new ValidationErrors().add('base', rule, undefined, { max })
}
