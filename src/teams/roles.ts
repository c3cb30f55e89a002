import { DeclarationError } from '../index.js'

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
interface KnownUser {
  memberships: ReadonlyMap<string, KnownMembership>
  /** Whether the user has the highest role in every team. */
  isAdministrator: boolean
}

/** The users of the requests that are running. A policy gets the user alone, so what is known belongs to this object. */
export const knownUsers = new WeakMap<object, KnownUser>()

/** The roles of an application, the highest first. */
export class Roles<Role extends string = string> {
  /** @throws DeclarationError when the roles are fewer than two or repeat one */
  constructor(readonly names: readonly Role[]) {
    if (new Set(names).size < Math.max(2, names.length))
      throw new DeclarationError(
        `The roles of teamMembers() are ${names.join(', ')}. Name at least two different ones, the highest first.`,
      )
  }

  /** The position of a role in the list, from 0 for the highest. A role that is not in the list is below all others. */
  rank(role: unknown): number {
    return this.has(role) ? this.names.indexOf(role) : this.names.length
  }

  has(role: unknown): role is Role {
    return this.names.includes(role as Role)
  }

  /** The ids of the teams in which a user has a role; undefined for all teams. */
  teamsOf(user: object | undefined): string[] | undefined {
    const known = user && knownUsers.get(user)
    if (known?.isAdministrator) return undefined
    return [...(known?.memberships ?? [])].flatMap(([team, { role }]) => (this.has(role) ? [team] : []))
  }

  /** The role of a user in a team; undefined if there is none. */
  roleIn(user: object | undefined, team: unknown): Role | undefined {
    const known = user && knownUsers.get(user)
    if (!known || typeof team !== 'string') return undefined
    const role = known.isAdministrator ? this.names[0] : known.memberships.get(team)?.role
    return this.has(role) ? role : undefined
  }

  /** Lets the policies know the membership of a user in a team, without a query, and returns the user. */
  assume<User extends object>(user: User, team: string, membership?: { id: string; role: string }): User {
    const { memberships, isAdministrator = false } = knownUsers.get(user) ?? {}
    const others = [...(memberships ?? [])].filter(([id]) => id !== team)
    const own = membership ? [[team, { ...membership, team }] as const] : []
    knownUsers.set(user, { memberships: new Map([...others, ...own]), isAdministrator })
    return user
  }
}
