import { createHash, randomBytes } from 'node:crypto'
import type { Next } from 'koa'
import { MoreThan, Not, EntityManager, type EntityMetadata } from 'typeorm'
import {
  bearerToken,
  chainsOf,
  conditionOn,
  declareMembers,
  engineOf,
  inTransaction,
  keyOwner,
  logFields,
  milliseconds,
  restoreOnRetry,
  saveRecord,
  selectLocked,
  takePart,
  unscopedWork,
  type Duration,
} from '../extension.js'
import {
  DeclarationError,
  Forbidden,
  RecordNotFound,
  ValidationErrors,
  type Context,
  type Database,
  type JobContext,
  type Middleware,
  type Model,
} from '../index.js'
import { GuardedRecord, InvitationGone } from './errors.js'
import { rolePolicy, type PolicyMembers, type RolePolicyClass } from './role-policy.js'
import { knownUsers, Roles, type KnownUser } from './roles.js'

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
export interface TeamOptions<
  Team extends Model,
  Member extends Membership,
  Invited extends Invitation,
  Role extends string,
> {
  team: new () => Team
  membership: new () => Member
  invitation: new () => Invited
  /** The roles, the highest first: `['owner', 'manager', 'clerk']`. */
  roles: readonly [Role, Role, ...Role[]]
  /** Whether a user has the highest role in every team without being a member: `(user) => user.admin`. */
  // The application has its own class of users.
  // oxlint-disable-next-line no-explicit-any
  administrators?(user: any): boolean
  /** The time for which an invitation is open (7 days). */
  expires?: Duration
}

/** The members of the teams of an application: a middleware that reads the roles of `ctx.user`, and the methods that change them. */
export interface TeamMembers<
  Team extends Model = Model,
  Member extends Membership = Membership,
  Invited extends Invitation = Invitation,
  Role extends string = string,
> extends Middleware {
  /** The class that the policies of the teams' records extend. */
  readonly RolePolicy: RolePolicyClass<Role>

  /** The roles that a user may give in a team: up to the own one. There are none for somebody without a role. */
  rolesUpTo(user: object | undefined, team: Team): Role[]

  /**
   * Saves a new team, with `ctx.user` as its first member, who has the highest role.
   *
   * @returns the errors, or undefined if the team was saved
   */
  create(ctx: Context, team: Team): Promise<ValidationErrors | undefined>
  /** The same without a request, for seeds and specs. */
  create(tx: EntityManager, team: Team, user: Actor): Promise<ValidationErrors | undefined>

  /**
   * Invites an address with a role to the team of the invitation's key. An open invitation of the same address is replaced, so that
   * its link is dead.
   *
   * @returns the token for the link in a mail, or the errors
   * @throws Forbidden (403) when the role, or that of the replaced invitation, is above that of `ctx.user`
   */
  invite(
    ctx: Context,
    invitation: Invited,
  ): Promise<{ errors: ValidationErrors; token?: undefined } | { errors?: undefined; token: string }>

  /**
   * Reads the open invitation of a token, with its team and its inviter.
   *
   * @throws InvitationGone (410) when there is none
   */
  invitation(token: unknown): Promise<Invited>

  /**
   * Accepts an invitation, once. A user who is a member already keeps the role.
   *
   * @throws InvitationGone (410) when the invitation is not open
   * @throws Forbidden (403) when it is for another address
   * @throws ValidationErrors (422) when the team has too many members, or the user too many teams
   */
  accept(ctx: Context, token: unknown, user: Actor): Promise<Member>

  /**
   * Gives a member another role.
   *
   * @returns the errors, or undefined if the member was saved: 422 for an unknown role, 409 for the last owner
   * @throws Forbidden (403) when the member's present or new role is above that of `ctx.user`
   */
  changeRole(ctx: Context, membership: Member, role: unknown): Promise<ValidationErrors | undefined>

  /**
   * Removes a member, who may be `ctx.user`, or withdraws an invitation.
   *
   * @throws Forbidden (403) when its role is above that of `ctx.user`
   * @throws ValidationErrors (409) for the last owner
   */
  remove(ctx: Context, record: Member | Invited): Promise<void>

  /**
   * Deletes up to 1,000 records inside of a team, so that the team can be deleted. Call it in a job, until it returns 0.
   *
   * @returns the number of records
   * @throws ValidationErrors (409) when records that are left refer to each other
   */
  empty(job: JobContext, team: Team): Promise<number>
}

/** The models of memberships and invitations, and their records that a method writes at the moment. */
const guarded = new WeakSet<object>()
const written = new WeakSet<Model>()

takePart({
  concerns: ({ target }) => typeof target === 'function' && guarded.has(target),
  async check({ work, record, action }) {
    if (work.isOutside || written.has(record)) return undefined
    throw new GuardedRecord(record.constructor.name, action)
  },
})

const maxInvitations = 100
const maxMembers = 1000
const maxTeams = 200
/** The number of records that `empty` deletes at once. */
const maxDeleted = 1000

/**
 * Creates the middleware that reads the memberships of `ctx.user`, with one query, and the methods that change them. Declare it
 * below `authenticate()`.
 *
 * @example
 * export const roles = ['owner', 'manager', 'clerk', 'viewer'] as const
 * export const branches = teamMembers(database, { team: Branch, membership: Membership, invitation: Invitation, roles })
 * export const { RolePolicy } = branches
 * @throws DeclarationError when `expires` is malformed, or when the roles are fewer than two or repeat one
 */
export function teamMembers<
  Team extends Model,
  Member extends Membership,
  Invited extends Invitation,
  const Role extends string,
>(
  database: Database,
  options: TeamOptions<Team, Member, Invited, Role>,
): TeamMembers<Team, Member, Invited, Role> {
  const teams = new Teams(database, options)

  function teamMembers(ctx: Context, next: Next): Promise<unknown> {
    return teams.admit(ctx).then(next)
  }

  const { team } = options
  const shared: PolicyMembers<Role> = {
    roles: teams.roles as PolicyMembers<Role>['roles'],
    team,
    middleware: teamMembers,
    get key() {
      return teams.key
    },
    assume(user, id, role) {
      const memberships = new Map([[id, { id, role }]])
      knownUsers.set(user, { memberships, isAdministrator: false })
      return user
    },
    hasKey: (model) =>
      database.hasMetadata(model) &&
      database.getMetadata(model).findColumnWithPropertyName(teams.key) !== undefined,
  }
  return Object.assign(teamMembers, {
    beforeBody: true,
    RolePolicy: rolePolicy(shared),
    rolesUpTo: teams.rolesUpTo.bind(teams),
    create: teams.create.bind(teams),
    invite: teams.invite.bind(teams),
    invitation: teams.findInvitation.bind(teams),
    accept: teams.accept.bind(teams),
    changeRole: teams.changeRole.bind(teams),
    remove: teams.remove.bind(teams),
    empty: teams.empty.bind(teams),
  }) as TeamMembers<Team, Member, Invited, Role>
}

/** Who changes something in a team, with the role that the user has when the team is locked. */
interface Entrance {
  team: string
  user: Actor
  rank: number
}

/** The methods of `teamMembers()`. */
class Teams<Team extends Model, Member extends Membership, Invited extends Invitation, Role extends string> {
  readonly roles: Roles
  private readonly lifetime: number

  constructor(
    private readonly database: Database,
    private readonly options: TeamOptions<Team, Member, Invited, Role>,
  ) {
    const { team, membership, roles, expires = '7 days' } = options
    if (new Set(roles).size < Math.max(2, roles.length))
      throw new DeclarationError(
        `The roles of teamMembers() are ${roles.join(', ')}. Name at least two different ones, the highest first.`,
      )
    this.roles = new Roles(roles)
    this.lifetime = milliseconds(expires, 'The option "expires" of teamMembers()')
    const exempt = [membership, options.invitation]
    for (const model of exempt) guarded.add(model)
    const visible = (ctx: object) => this.roles.teamsOf(userOf(ctx))
    declareMembers(membership, { team, visible, exempt, role: roles.at(-1) ?? '' })
  }

  /** The key of the team in memberships, invitations and records: `branch_id`. */
  get key(): string {
    const { team, membership } = this.options
    const { relations, targetName } = this.database.getMetadata(membership)
    const relation = relations.find(({ inverseEntityMetadata: { target } }) => target === team)
    const [key] = relation?.joinColumns ?? []
    if (key) return key.propertyName
    throw new DeclarationError(
      `teamMembers() needs the team of a ${targetName}, but ${targetName} has no relation to ${team.name}. Add a ` +
        '@ManyToOne relation with its key.',
    )
  }

  /** Whether teams have names, which pages show. */
  private get hasNames(): boolean {
    return this.database.getMetadata(this.options.team).findColumnWithPropertyName('name') !== undefined
  }

  /** Reads the memberships of the user of a request. */
  async admit(ctx: Context): Promise<void> {
    const user = userOf(ctx)
    if (!user) return
    const { membership, administrators } = this.options
    const { key } = this
    const rows = await this.database.read((tx) => {
      const query = tx
        .createQueryBuilder(membership, 'membership')
        .select(['membership.id AS id', 'membership.role AS role', `membership.${key} AS team`])
        .where('membership.user_id = :user', { user: user.id })
      if (this.hasNames)
        query
          .innerJoin(this.options.team, 'team', `team.id = membership.${key}`)
          .addSelect('team.name', 'name')
      return query.getRawMany<{ id: string; role: string; team: string; name?: string }>()
    })
    const token: unknown = Reflect.get(bearerToken.get(ctx) ?? {}, key) ?? undefined
    const own = rows.filter(({ team }) => token === undefined || team === token)
    const memberships = new Map(own.map(({ team, ...known }) => [team, known]))
    const isAdministrator = token === undefined && administrators?.(user) === true
    if (isAdministrator) logFields(ctx, { administrator: true })
    knownUsers.set(user, { memberships, isAdministrator })
    restoreOnRetry(ctx, () => {
      const known = knownUsers.get(user)
      return () => known && knownUsers.set(user, known)
    })
    const place = ctx.params[key]
    showTeams(ctx, own, place)
    if (token !== undefined) limitToken(ctx, memberships.size > 0, place !== undefined)
    const id = place && (memberships.get(place)?.id ?? (isAdministrator && 'administrator'))
    if (id) keyOwner.set(ctx, id)
  }

  rolesUpTo(user: object | undefined, team: Team): readonly string[] {
    const { names } = this.roles
    return names.slice(this.roles.rank(this.roles.roleIn(user, team.id)))
  }

  async create(
    ctx: Context | EntityManager,
    team: Team,
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
    team: Team,
    user: Actor | undefined,
    save: (record: Model) => Promise<ValidationErrors | undefined>,
    ctx?: Context,
  ): Promise<ValidationErrors | undefined> {
    if (!user) throw new Forbidden()
    if (await this.hasTooManyTeams(tx, user)) return limitErrors('too_many_teams', maxTeams)
    const errors = await save(team)
    if (errors) return errors
    const member = this.newMember(team.id, user, this.options.roles[0])
    const memberErrors = await this.write(member, save)
    if (!memberErrors && ctx) this.know(user, team.id, member)
    return memberErrors
  }

  async invite(ctx: Context, invitation: Invited): ReturnType<TeamMembers['invite']> {
    return inTransaction(ctx, async ({ tx }) => {
      const { team, user, rank } = await this.enter(ctx, invitation)
      const errors = (await ctx.validate(invitation)) ?? new ValidationErrors()
      this.checkRole(errors, invitation.role)
      if (!errors.isEmpty) return { errors }
      this.rejectAbove(rank, invitation.role)
      const own = { [this.key]: team, email: invitation.email }
      const [previous] = await this.lockRows(tx, this.options.invitation, own)
      if (previous) this.rejectAbove(rank, previous['role'])
      const problem = await this.findProblem(tx, team, invitation.email)
      if (problem) return { errors: problem }
      if (previous) await tx.delete(this.options.invitation, own)
      const token = newToken(team)
      const expires_at = new Date(Date.now() + this.lifetime)
      Object.assign(invitation, { token_hash: hash(token), expires_at, inviter_id: user.id })
      const rejected = await this.write(invitation, (record) => ctx.save(record))
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
    const inTeam = { [this.key]: team }
    if (await tx.exists(membership, { where: { ...inTeam, user: { email } } as object }))
      return new ValidationErrors().add('email', 'member')
    const others = { ...inTeam, email: Not(email), expires_at: MoreThan(new Date()) } as object
    if ((await tx.countBy(invitation, others)) >= maxInvitations)
      return limitErrors('too_many_invitations', maxInvitations)
    return undefined
  }

  async findInvitation(token: unknown): Promise<Invited> {
    return this.database.read((tx) => this.readInvitation(tx, token, true))
  }

  /** @throws InvitationGone (410) when no invitation with the token is open */
  private async readInvitation(tx: EntityManager, token: unknown, withTeam = false): Promise<Invited> {
    const { invitation } = this.options
    const { relations } = this.database.getMetadata(invitation)
    const names = withTeam ? relations.map(({ propertyName }) => [propertyName, true] as const) : []
    const where = { token_hash: hash(token) } as object
    const found = await tx.findOne(invitation, { where, relations: Object.fromEntries(names) as object })
    if (found && Number(found.expires_at) > Date.now()) return found
    throw new InvitationGone()
  }

  accept(ctx: Context, token: unknown, user: Actor): Promise<Member> {
    return inTransaction(ctx, async ({ tx }) => {
      const { membership, invitation, team } = this.options
      const id = teamIn(token)
      const [row] = id === undefined ? [] : await this.lockRows(tx, team, { id })
      const [member] = row ? await tx.find(membership, { where: this.keysOf(id, user) }) : []
      // A second click leads to the team, although the invitation is used.
      const open = await this.readInvitation(tx, token).catch((error: unknown) => {
        if (member) return undefined
        throw error
      })
      if (open && open.email !== user.email)
        throw new Forbidden(`This invitation is for ${mask(open.email)}.`)
      const used = open && (await tx.delete(invitation, { token_hash: open.token_hash } as object))
      if (member) return member
      if (!open || used?.affected !== 1) throw new InvitationGone()
      if ((await tx.countBy(membership, { [this.key]: id } as object)) >= maxMembers)
        throw limitErrors('too_many_members', maxMembers)
      if (await this.hasTooManyTeams(tx, user)) throw limitErrors('too_many_teams', maxTeams)
      const added = this.newMember(String(id), user, open.role)
      const errors = await this.write(added, (record) => ctx.unscoped.save(record))
      if (errors) throw errors
      this.know(user, String(id), added)
      return added
    })
  }

  changeRole(ctx: Context, membership: Member, role: unknown): Promise<ValidationErrors | undefined> {
    return inTransaction(ctx, async ({ tx }) => {
      const { team, rank } = await this.enter(ctx, membership)
      const present = await this.presentRole(tx, membership)
      this.rejectAbove(rank, present)
      const errors = new ValidationErrors()
      this.checkRole(errors, role)
      if (!errors.isEmpty) return errors
      this.rejectAbove(rank, role)
      if (role !== present && (await this.isLastOwner(tx, team, present))) return lastOwner()
      membership.role = String(role)
      const rejected = await this.write(membership, (record) => ctx.save(record))
      const user = userOf(ctx)
      if (!rejected && user?.id === membership.user_id) this.know(user, team, membership)
      return rejected
    })
  }

  remove(ctx: Context, record: Member | Invited): Promise<void> {
    return inTransaction(ctx, async ({ tx }) => {
      const { team, rank } = await this.enter(ctx, record)
      const present = await this.presentRole(tx, record)
      this.rejectAbove(rank, present)
      const isMember = record instanceof this.options.membership
      if (isMember && (await this.isLastOwner(tx, team, present))) throw lastOwner()
      await this.write(record, (one) => ctx.destroy(one))
      const user = userOf(ctx)
      if (isMember && user?.id === record.user_id) this.know(user, team, undefined)
    })
  }

  async empty(job: JobContext, team: Team): Promise<number> {
    const { tx } = job
    const models = childrenFirst(tx.dataSource).flatMap((metadata) => {
      const chain = chainsOf(metadata).find(
        ({ model, members }) => model.target === this.options.team && !members,
      )
      return chain && !guarded.has(Object(metadata.target)) ? [{ metadata, chain }] : []
    })
    let count = 0
    let refusal: unknown
    let before: number
    do {
      before = count
      refusal = undefined
      for (const { metadata, chain } of models) {
        const where = conditionOn(chain, team.id)
        const order = { id: 'DESC' } as object
        const records = await tx.find<Model>(metadata.target, { where, order, take: maxDeleted - count })
        for (const record of records) {
          const refused = await job.destroy(record).then(() => undefined, rejectUnlessReferred)
          if (refused) refusal = refused
          else count += 1
        }
      }
    } while (count > before && count < maxDeleted && refusal)
    if (count === 0 && refusal) throw refusal
    return count
  }

  /**
   * Locks the team of a record, and reads the role of the user of a request in it again.
   *
   * @throws RecordNotFound (404) when the user is not, or no longer, a member
   */
  private async enter(ctx: Context, record: Model): Promise<Entrance> {
    const { team, membership, administrators } = this.options
    const user = userOf(ctx)
    const id: unknown = Reflect.get(record, this.key)
    const isKnown = this.roles.roleIn(user, id) !== undefined
    const [row] = isKnown ? await this.lockRows(ctx.tx, team, { id }) : []
    if (!user || !row || typeof id !== 'string') throw new RecordNotFound(team.name)
    const known = knownUsers.get(user)
    if (known?.isAdministrator && administrators?.(user) === true) return { team: id, user, rank: 0 }
    const [own] = await this.lockRows(ctx.tx, membership, this.keysOf(id, user))
    if (!this.roles.has(own?.['role'])) throw new RecordNotFound(team.name)
    return { team: id, user, rank: this.roles.rank(own['role']) }
  }

  /** The role of a membership or an invitation, as it is stored now. */
  private async presentRole(tx: EntityManager, record: Member | Invited): Promise<unknown> {
    const model =
      record instanceof this.options.membership ? this.options.membership : this.options.invitation
    const [row] = await this.lockRows(tx, model, { id: record.id })
    if (row) return row['role']
    throw new RecordNotFound(model.name)
  }

  private async isLastOwner(tx: EntityManager, team: string, role: unknown): Promise<boolean> {
    const [highest] = this.options.roles
    if (role !== highest) return false
    const owners = await this.lockRows(tx, this.options.membership, { [this.key]: team, role: highest })
    return owners.length === 1
  }

  /** @throws Forbidden (403) when a role is above that of the user */
  private rejectAbove(rank: number, role: unknown): void {
    if (this.roles.rank(String(role)) < rank) throw new Forbidden()
  }

  private checkRole(errors: ValidationErrors, role: unknown): void {
    if (this.roles.has(role)) return
    errors.fields.delete('role')
    errors.add('role', 'isIn', undefined, { values: this.roles.names.join(', ') })
  }

  private async hasTooManyTeams(tx: EntityManager, user: Actor): Promise<boolean> {
    return (await tx.countBy(this.options.membership, { user_id: user.id } as object)) >= maxTeams
  }

  private newMember(team: string, user: Actor, role: string): Member {
    const values = { [this.key]: team, user_id: user.id, role }
    return Object.assign(new this.options.membership(), values)
  }

  /** The conditions of the membership of a user. */
  private keysOf(team: string | undefined, user: Actor): object {
    return { [this.key]: team, user_id: user.id }
  }

  /** Writes a membership or an invitation, which `ctx.save` and `ctx.destroy` refuse otherwise. */
  private async write<Result>(record: Model, work: (record: Model) => Promise<Result>): Promise<Result> {
    written.add(record)
    return work(record).finally(() => written.delete(record))
  }

  /** Lets the policies of this request know that a membership has changed. */
  private know(user: Actor, team: string, member: Member | undefined): void {
    const known: KnownUser = knownUsers.get(user) ?? { memberships: new Map(), isAdministrator: false }
    const memberships = new Map(known.memberships)
    if (member) memberships.set(team, member)
    else memberships.delete(team)
    knownUsers.set(user, { ...known, memberships })
  }

  /** Reads rows as they are now, and locks them as an UPDATE does, so that whoever refers to them does not wait. */
  private lockRows(tx: EntityManager, model: new () => Model, where: object) {
    const metadata = tx.dataSource.getMetadata(model)
    const updateLock = engineOf(tx.dataSource).rowLocks?.likeUpdate
    return selectLocked(tx, metadata, metadata.columns, where, updateLock, false)
  }
}

/** Limits a request with a token of one team: it needs this team in its path, and no token outlives the membership. */
function limitToken(ctx: Context, isMember: boolean, hasTeam: boolean): void {
  if (!isMember) {
    Object.assign(ctx, { user: undefined })
    ctx.state['currentUser'] = undefined
  } else if (!hasTeam && ctx.route.middleware.some(({ extension }) => extension?.admits)) {
    throw new Forbidden('This token is for one team only. Use it for addresses of this team.')
  }
}

/** Sets the variables of templates: the teams of the user, sorted by name, and the one in the path. */
function showTeams(
  ctx: Context,
  rows: readonly { team: string; name?: string }[],
  place: string | undefined,
): void {
  const teams = rows.map(({ team, name = team }) => ({ id: team, name }))
  ctx.state['userTeams'] = teams.toSorted((one, other) => one.name.localeCompare(other.name, ctx.locale))
  ctx.state['currentTeam'] = teams.find(({ id }) => id === place)
}

/** The models of a database, each before those to which it refers. */
function childrenFirst({ entityMetadatas }: EntityManager['dataSource']): EntityMetadata[] {
  const sorted = new Set<EntityMetadata>()
  const above = new Set<EntityMetadata>()
  const visit = (metadata: EntityMetadata): void => {
    if (above.has(metadata)) return
    above.add(metadata)
    for (const other of entityMetadatas)
      if (other.relations.some((it) => it.isOwning && it.inverseEntityMetadata === metadata)) visit(other)
    sorted.add(metadata)
  }
  for (const metadata of entityMetadatas) if (typeof metadata.target === 'function') visit(metadata)
  return [...sorted].filter(({ target }) => typeof target === 'function')
}

/** Returns the error of a record that cannot be deleted, because another one refers to it. */
function rejectUnlessReferred(error: unknown): ValidationErrors {
  if (error instanceof ValidationErrors && error.status === 409) return error
  throw error
}

function userOf(ctx: object): Actor | undefined {
  return Reflect.get(ctx, 'user') as Actor | undefined
}

/** A token has the id of its team, so that a second click leads to the team, and 32 random bytes. */
function newToken(team: string): string {
  return `${team.replaceAll('-', '')}${randomBytes(32).toString('base64url')}`
}

/** The id of the team in a token. */
function teamIn(token: unknown): string | undefined {
  const [, ...parts] =
    /^([\da-f]{8})([\da-f]{4})([\da-f]{4})([\da-f]{4})([\da-f]{12})[\w-]{43}$/.exec(String(token)) ?? []
  return parts.length > 0 ? parts.join('-') : undefined
}

function hash(token: unknown): string {
  return createHash('sha256').update(String(token)).digest('hex')
}

/** An address that its owner recognizes, and nobody else can read: `a…@example.com`. */
function mask(email: string): string {
  return email.replace(/^(.)[^@]*/u, '$1…')
}

function lastOwner(): ValidationErrors {
  return new ValidationErrors(409).add('base', 'last_owner')
}

function limitErrors(rule: string, max: number): ValidationErrors {
  return new ValidationErrors().add('base', rule, undefined, { max })
}
