/** The membership of a user in a team, as a request has read it. */
export interface KnownMembership {
  id: string
  role: string
  /** The id of the team. */
  team: string
  /** The name of the team, if teams have names. */
  name?: string
}

/** The roles of the user of a request: the memberships by the ids of their teams. */
export interface KnownUser {
  memberships: ReadonlyMap<string, KnownMembership>
  /** Whether the user has the highest role in every team. */
  isAdministrator: boolean
}

/** The users of the requests that are running. A policy gets the user alone, so what is known belongs to this object. */
export const knownUsers = new WeakMap<object, KnownUser>()

/** The roles of an application, the highest first. */
export class Roles {
  constructor(readonly names: readonly string[]) {}

  /** The position of a role in the list, from 0 for the highest. A role that is not in the list is below all others. */
  rank(role: string | undefined): number {
    const rank = role === undefined ? -1 : this.names.indexOf(role)
    return rank < 0 ? this.names.length : rank
  }

  /** Whether a role is in the list. */
  has(role: unknown): role is string {
    return typeof role === 'string' && this.names.includes(role)
  }

  /** The ids of the teams in which a user has a role; undefined for all teams. */
  teamsOf(user: object | undefined): string[] | undefined {
    const known = user && knownUsers.get(user)
    if (known?.isAdministrator) return undefined
    return [...(known?.memberships ?? [])].flatMap(([team, { role }]) => (this.has(role) ? [team] : []))
  }

  /** The role of a user in a team; undefined if there is none. */
  roleIn(user: object | undefined, team: unknown): string | undefined {
    const known = user && knownUsers.get(user)
    if (!known || typeof team !== 'string') return undefined
    const role = known.isAdministrator ? this.names[0] : known.memberships.get(team)?.role
    return this.has(role) ? role : undefined
  }
}
