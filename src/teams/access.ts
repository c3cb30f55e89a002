import type { EntityManager } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import {
  bearerToken,
  declareMembers,
  engineOf,
  keyOwner,
  logFields,
  restoreOnRetry,
  selectLocked,
} from '../extension.js'
import {
  DeclarationError,
  Forbidden,
  RecordNotFound,
  type Context,
  type Database,
  type Model,
} from '../index.js'
import type { Actor, TeamOptions } from './declarations.js'
import { guard } from './guard.js'
import { knownUsers, type KnownMembership, type Roles } from './roles.js'

/** The user who changes something in a team, with the role that the user has when the team is locked. */
interface Entrance {
  team: string
  user: Actor
  rank: number
}

/** Knows and locks the roles of users. */
export class Access {
  private sql?: string

  constructor(
    private readonly database: Database,
    private readonly options: TeamOptions,
    readonly roles: Roles,
  ) {
    const { team, membership, invitation } = options
    const exempt = [membership, invitation]
    guard(database, exempt)
    const visible = (ctx: object) => roles.teamsOf(userOf(ctx))
    declareMembers(database, membership, { team, visible, exempt, role: options.roles.at(-1) ?? '' })
  }

  /** The key of the team in memberships, invitations and records: `branch_id`. */
  get key(): string {
    const { team } = this.options
    const isKey = (key: ColumnMetadata) => key.referencedColumn?.entityMetadata.target === team
    return this.keyWhere(isKey, `relation to ${team.name}`).propertyName
  }

  /** The relation of a membership to its user: `user`. */
  get user(): string {
    const isKey = (key: ColumnMetadata) => key.propertyName === 'user_id'
    return this.keyWhere(isKey, 'relation with the key "user_id"').relationMetadata?.propertyName ?? 'user'
  }

  /** @throws DeclarationError when the model of memberships lacks a key */
  private keyWhere(isKey: (key: ColumnMetadata) => boolean, name: string): ColumnMetadata {
    const { relations, targetName } = this.database.getMetadata(this.options.membership)
    const key = relations.flatMap(({ joinColumns }) => joinColumns).find(isKey)
    if (key) return key
    throw new DeclarationError(
      `teamMembers() needs the user and the team of a ${targetName}, but ${targetName} has no ${name}. Add a @ManyToOne ` +
        'relation with its key.',
    )
  }

  /** Reads the memberships of the user of a request. */
  async admit(ctx: Context): Promise<void> {
    const user = userOf(ctx)
    if (!user) return
    const rows = await this.database.read((tx) => this.readMemberships(tx, user))
    const token: unknown = Reflect.get(bearerToken.get(ctx) ?? {}, this.key) ?? undefined
    const own = rows.filter(({ team }) => token === undefined || team === token)
    const isAdministrator = token === undefined && this.options.administrators?.(user) === true
    if (isAdministrator) logFields(ctx, { administrator: true })
    const known = { memberships: new Map(own.map((row) => [row.team, row])), isAdministrator }
    knownUsers.set(user, known)
    restoreOnRetry(ctx, () => () => knownUsers.set(user, known))
    // An id in the path may be in upper case.
    const place = ctx.params[this.key]?.toLowerCase()
    showTeams(ctx, own, place)
    if (token !== undefined) limitToken(ctx, own.length > 0, place !== undefined)
    const id = place && (known.memberships.get(place)?.id ?? (isAdministrator && 'administrator'))
    if (id) keyOwner.set(ctx, id)
  }

  /** Reads the memberships of a user. The query is built once, because building it costs more than running it. */
  private readMemberships(tx: EntityManager, user: Actor): Promise<KnownMembership[]> {
    this.sql ??= this.membershipsSql(tx)
    return tx.query(this.sql, [user.id])
  }

  private membershipsSql(tx: EntityManager): string {
    const { membership, team } = this.options
    const query = tx
      .createQueryBuilder(membership, 'membership')
      .select(['membership.id AS id', 'membership.role AS role', `membership.${this.key} AS team`])
      // A team in the trash has no members.
      .innerJoin(team, 'team', `team.id = membership.${this.key}`)
      .where('membership.user_id = :user', { user: '' })
    // Pages show the names of teams.
    const hasNames = this.database.getMetadata(team).findColumnWithPropertyName('name') !== undefined
    if (hasNames) query.addSelect('team.name', 'name')
    return query.getQueryAndParameters()[0]
  }

  /**
   * Locks the team of a record, and reads the role of the user of a request in it again.
   *
   * @throws RecordNotFound (404) when the user is not, or no longer, a member
   */
  async enter(ctx: Context, record: Model): Promise<Entrance> {
    const { team, membership, administrators } = this.options
    const user = userOf(ctx)
    const id: unknown = Reflect.get(record, this.key)
    const isKnown = this.roles.roleIn(user, id) !== undefined
    const [row] = isKnown ? await this.lockRows(ctx.tx, team, { id }) : []
    if (!user || !row || typeof id !== 'string') throw new RecordNotFound(team.name)
    const known = knownUsers.get(user)
    if (known?.isAdministrator && administrators?.(user) === true) return { team: id, user, rank: 0 }
    const [own] = await this.lockRows(ctx.tx, membership, { [this.key]: id, user_id: user.id })
    if (!this.roles.has(own?.['role'])) throw new RecordNotFound(team.name)
    return { team: id, user, rank: this.roles.rank(own['role']) }
  }

  /** Reads rows as they are now, and locks them as an UPDATE does, so that records that refer to them do not wait. */
  lockRows(tx: EntityManager, model: new () => Model, where: object) {
    const metadata = tx.dataSource.getMetadata(model)
    const lock = engineOf(tx.dataSource).rowLocks?.likeUpdate
    return selectLocked(tx, metadata, metadata.columns, where, lock, false)
  }
}

/** Sets the variables of templates: the teams of the user, sorted by name, and the one in the path. */
function showTeams(ctx: Context, memberships: readonly KnownMembership[], place: string | undefined): void {
  const teams = memberships.map(({ team, name = team }) => ({ id: team, name }))
  ctx.state['userTeams'] = teams.toSorted((one, other) => one.name.localeCompare(other.name, ctx.locale))
  ctx.state['currentTeam'] = teams.find(({ id }) => id === place)
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

/** The user of a request. */
export function userOf(ctx: object): Actor | undefined {
  return Reflect.get(ctx, 'user') as Actor | undefined
}
