import { In } from 'typeorm'
import { DeclarationError, nothing, Policy, type Model, type PolicyScope } from '../index.js'
import type { Roles } from './roles.js'

/** The roles and the team that all policies of an application share. */
export interface PolicyMembers<Role extends string = string> {
  readonly roles: Roles<Role>
  readonly team: new () => Model
  /** The key of the team in its records: `branch_id`. */
  readonly key: string
  /** The middleware without which nobody has a role. */
  readonly middleware: Function
  /** The attribute of a model that has the id of a team; undefined if its records belong to none. */
  keyOf(model: Function): string | undefined
}

/**
 * The policy of records of teams: every member sees the records of a team, and its methods say from which role on a member may
 * change them. `teamMembers()` makes the class that an application extends.
 *
 * @example
 * export class RentalPolicy extends RolePolicy<Rental> {
 *   update(user: User | undefined, rental: Rental) {
 *     return this.atLeast('clerk', user, rental)
 *   }
 * }
 */
export abstract class RolePolicy<T extends Model, Role extends string = string> extends Policy<T> {
  /** @internal */
  static readonly members: PolicyMembers

  /** The records of the user's teams. An administrator sees all. */
  scope(user: object | undefined, model: Function = Object): PolicyScope<T> {
    const { roles, key, keyOf } = this.members
    const ids = roles.teamsOf(user)
    if (ids?.length === 0) return nothing
    const conditions = ids ? { [keyOf(model) ?? key]: In(ids) } : {}
    // The compiler does not know which columns the records have.
    return conditions as PolicyScope<T>
  }

  /**
   * The role of a user in the team of a record, which has the team's key or is the team; undefined if there is none.
   *
   * @example return this.role(user, rental) === 'accountant'
   */
  protected role(user: object | undefined, record: T | undefined): Role | undefined {
    const { roles, team, key } = this.members
    const id: unknown = record instanceof team ? record.id : Reflect.get(Object(record), key)
    return roles.roleIn(user, id) as Role | undefined
  }

  /** Whether a user has a role, or a higher one, in the team of a record. */
  protected atLeast(role: NoInfer<Role>, user: object | undefined, record: T | undefined): boolean {
    const { roles } = this.members
    if (roles.has(role)) return roles.rank(this.role(user, record)) <= roles.rank(role)
    throw new DeclarationError(
      `${this.constructor.name} asks for the role ${JSON.stringify(role)}, but the roles are ${roles.names.join(', ')}.`,
    )
  }

  /** Whether the role in a membership or an invitation is not above that of a user in its team, so that the user may change it. */
  protected reaches(user: object | undefined, record: T & { role: string }): boolean {
    const { roles } = this.members
    return roles.rank(this.role(user, record)) <= roles.rank(record.role)
  }

  /** @internal */
  static checkRoute(route: { middleware: readonly Function[]; handlerName: string }, model: Function): void {
    const { middleware, team, key, keyOf } = this.members
    if (!route.middleware.includes(middleware))
      throw new DeclarationError(
        `${this.name} of ${route.handlerName} needs the roles of the user, which the middleware of teamMembers() reads. ` +
          'Declare it above the resource, below authenticate(): app.use(branches).',
      )
    if (keyOf(model) === undefined)
      throw new DeclarationError(
        `${this.name} extends RolePolicy, but a ${model.name} has no "${key}", so it belongs to no ${team.name}. Add the ` +
          'key, or extend Policy.',
      )
  }

  private get members(): PolicyMembers {
    return (this.constructor as typeof RolePolicy).members
  }
}

/** The class that the policies of an application extend. */
export type RolePolicyClass<Role extends string = string> = (abstract new <T extends Model>() => RolePolicy<
  T,
  Role
>) &
  Pick<typeof RolePolicy, 'checkRoute'> & { readonly members: PolicyMembers<Role> }

/** Creates the class that the policies of an application extend. */
export function rolePolicy<Role extends string>(members: PolicyMembers<Role>): RolePolicyClass<Role> {
  abstract class MemberPolicy<T extends Model> extends RolePolicy<T, Role> {
    static override readonly members = members
  }
  return MemberPolicy
}
