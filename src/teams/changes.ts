import { EntityManager, In, MoreThan, Not } from 'typeorm'
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
import { hashOf, mask, newToken, teamIn } from './invitation-token.js'

/** How many records there may be, by the rule of the error. */
const limits = { too_many_invitations: 100, too_many_members: 1000, too_many_teams: 200 }
type Limit = keyof typeof limits

type Errors = ValidationErrors | undefined
type Save = (record: Model) => Promise<Errors>

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

  async create(ctx: Context | EntityManager, team: Model, user?: Actor): Promise<Errors> {
    if (ctx instanceof EntityManager) {
      const work = unscopedWork(ctx)
      return this.found(ctx, team, user, (record) => saveRecord(work, record))
    }
    return inTransaction(ctx, ({ tx }) =>
      this.found(tx, team, userOf(ctx), (record) => (record === team ? ctx : ctx.unscoped).save(record)),
    )
  }

  /** Saves a team and its first member. */
  private async found(tx: EntityManager, team: Model, user: Actor | undefined, save: Save): Promise<Errors> {
    if (!user) throw new Forbidden()
    const { membership, roles } = this.options
    const full = await findExcess(tx, 'too_many_teams', membership, { user_id: user.id })
    const errors = full ?? (await save(team))
    return errors ?? this.add(this.newMember(team.id, user, roles[0]), team.id, user, save)
  }

  private newMember(team: string, user: Actor, role: string): Membership {
    const values = { [this.access.key]: team, user_id: user.id, role }
    return Object.assign(new this.options.membership(), values)
  }

  /** Saves a new member, whose role the policies of this request then know. */
  private async add(member: Membership, team: string, user: Actor, save: Save): Promise<Errors> {
    const errors = await writeGuarded(member, save)
    if (!errors) this.access.roles.assume(user, team, member)
    return errors
  }

  async invite(ctx: Context, invitation: Invitation): ReturnType<TeamMembers['invite']> {
    return inTransaction(ctx, async ({ tx }) => {
      const { team, user, rank } = await this.access.enter(ctx, invitation)
      const errors = this.checkRole(invitation.role, await ctx.validate(invitation))
      if (errors) return { errors }
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
      Object.assign(invitation, { token_hash: hashOf(token), expires_at, inviter_id: user.id })
      const rejected = await writeGuarded(invitation, (record) => ctx.save(record))
      return rejected ? { errors: rejected } : { token }
    })
  }

  /** Why an address cannot be invited. */
  private async findProblem(tx: EntityManager, team: string, email: string): Promise<Errors> {
    const { membership, invitation } = this.options
    const inTeam = { [this.access.key]: team }
    const member = { ...inTeam, [this.access.user]: { email } } as object
    if (await tx.existsBy(membership, member)) return new ValidationErrors().add('email', 'member')
    const others = { ...inTeam, email: Not(email), expires_at: MoreThan(new Date()) }
    return findExcess(tx, 'too_many_invitations', invitation, others)
  }

  async findInvitation(token: unknown): Promise<Invitation> {
    const { relations } = this.database.getMetadata(this.options.invitation)
    const all = Object.fromEntries(relations.map(({ propertyName }) => [propertyName, true]))
    const found = await this.database.read((tx) => this.readInvitation(tx, token, all))
    const team = relations.find((relation) => relation.inverseEntityMetadata.target === this.options.team)
    // A team in the trash invites nobody.
    if (team && !team.getEntityValue(found)) throw new InvitationGone()
    return found
  }

  /** @throws InvitationGone (410) when no invitation with the token is open */
  private async readInvitation(tx: EntityManager, token: unknown, relations: object = {}) {
    const where = { token_hash: hashOf(token) }
    const found = await tx.findOne(this.options.invitation, { where, relations })
    if (found && Number(found.expires_at) > Date.now()) return found
    throw new InvitationGone()
  }

  accept(ctx: Context, token: unknown, user: Actor): Promise<Membership> {
    return inTransaction(ctx, async ({ tx }) => {
      const { membership, invitation, team } = this.options
      const id = teamIn(token)
      const isThere = id !== undefined && (await this.access.lockRows(tx, team, { id })).length > 0
      if (!isThere) throw new InvitationGone()
      const member = await this.findMember(tx, id, user)
      // A second click leads to the team, although the invitation is used.
      const open = await this.readInvitation(tx, token).catch((error: unknown) => {
        if (member) return undefined
        throw error
      })
      if (open && open.email !== user.email)
        throw new Forbidden(`This invitation is for ${mask(open.email)}.`)
      const own = { token_hash: open?.token_hash }
      const used = open && (await writeInBulk(ctx, 'Accepted', (bulk) => bulk.delete(invitation, own)))
      if (member) return member
      if (!open || used?.affected !== 1) throw new InvitationGone()
      const full =
        (await findExcess(tx, 'too_many_members', membership, { [this.access.key]: id })) ??
        (await findExcess(tx, 'too_many_teams', membership, { user_id: user.id }))
      const added = this.newMember(id, user, open.role)
      const errors = full ?? (await this.add(added, id, user, (record) => ctx.unscoped.save(record)))
      if (errors) throw errors
      return added
    })
  }

  changeRole(ctx: Context, membership: Membership, role: unknown): Promise<Errors> {
    return inTransaction(ctx, async ({ tx }) => {
      const { team, user, rank } = await this.access.enter(ctx, membership)
      const present = await this.presentRole(tx, membership)
      this.rejectAbove(rank, present)
      const errors = this.checkRole(role)
      if (errors) return errors
      this.rejectAbove(rank, role)
      if (role !== present && (await this.isLastOwner(tx, team, present))) return lastOwner()
      membership.role = String(role)
      const rejected = await writeGuarded(membership, (record) => ctx.save(record))
      if (rejected) return rejected
      const { roles } = this.access
      const above = roles.names.slice(0, roles.rank(role))
      if (above.length > 0) await this.withdraw(ctx, membership, { role: In(above) })
      if (user.id === membership.user_id) roles.assume(user, team, membership)
      return undefined
    })
  }

  remove(ctx: Context, record: Membership | Invitation): Promise<void> {
    return inTransaction(ctx, async ({ tx }) => {
      const { team, user, rank } = await this.access.enter(ctx, record)
      const present = await this.presentRole(tx, record)
      this.rejectAbove(rank, present)
      const { membership, tokens } = this.options
      const isMember = record instanceof membership
      if (isMember && (await this.isLastOwner(tx, team, present))) throw lastOwner()
      await writeGuarded(record, (one) => ctx.destroy(one))
      if (!isMember) return
      if (user.id === record.user_id) this.access.roles.assume(user, team)
      const own = { [this.access.key]: team, user_id: record.user_id }
      if (tokens) await writeInBulk(ctx, 'No longer a member', (bulk) => bulk.delete(tokens, own))
      await this.withdraw(ctx, record as Membership)
    })
  }

  /** Withdraws the invitations of a member that this member could not send any more: they would be a way back. */
  private async withdraw(ctx: Context, member: Membership, which: object = {}): Promise<void> {
    const { key } = this.access
    const sent = { [key]: Reflect.get(member, key), inviter_id: member.user_id, ...which }
    await writeInBulk(ctx, 'No longer permitted', (bulk) => bulk.delete(this.options.invitation, sent))
  }

  /** Finds a membership as it is now, also in a transaction that has read earlier. */
  private findMember(tx: EntityManager, team: string, user: Actor): Promise<Membership | null> {
    const { membership } = this.options
    const where = { [this.access.key]: team, user_id: user.id }
    return tx.findOne(membership, { where, ...lockOption(tx, tx.dataSource.getMetadata(membership)) })
  }

  /** The role of a membership or an invitation, as it is stored now. */
  private async presentRole(tx: EntityManager, { id, constructor }: Model): Promise<unknown> {
    const [row] = await this.access.lockRows(tx, constructor as new () => Model, { id })
    if (row) return row['role']
    throw new RecordNotFound(constructor.name)
  }

  private async isLastOwner(tx: EntityManager, team: string, role: unknown): Promise<boolean> {
    const { membership, roles } = this.options
    if (role !== roles[0]) return false
    const owners = { [this.access.key]: team, role: roles[0] }
    return (await this.access.lockRows(tx, membership, owners)).length === 1
  }

  /** @throws Forbidden (403) when a role is above that of the user */
  private rejectAbove(rank: number, role: unknown): void {
    if (this.access.roles.rank(role) < rank) throw new Forbidden()
  }

  /** Adds an error to others, if any, when a role is not in the list. */
  private checkRole(role: unknown, errors?: ValidationErrors): Errors {
    if (this.access.roles.has(role)) return errors
    const all = errors ?? new ValidationErrors()
    all.fields.delete('role')
    return all.add('role', 'isIn', undefined, { values: this.access.roles.names.join(', ') })
  }
}

function lastOwner(): ValidationErrors {
  return new ValidationErrors(409).add('base', 'last_owner')
}

/** The error of a limit that is reached, if it is. */
async function findExcess(tx: EntityManager, rule: Limit, model: new () => Model, where: object) {
  const max = limits[rule]
  if ((await tx.countBy(model, where)) < max) return undefined
  return new ValidationErrors().add('base', rule, undefined, { max })
}
