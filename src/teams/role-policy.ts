import { In } from 'typeorm'
import { DeclarationError, nothing, Policy, type Model, type PolicyScope } from '../index.js'
import type { Roles } from './roles.js'

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
  /** The records of the user's teams. An administrator sees all. */
  abstract override scope(user: object | undefined, model?: Function): PolicyScope<T>

  /**
   * The role of a user in the team of a record, which has the team's key or is the team; undefined if there is none.
   *
   * @example return this.role(user, rental) === 'accountant'
   */
  protected abstract role(user: object | undefined, record: T | undefined): Role | undefined

  /** Whether a user has a role, or a higher one, in the team of a record. */
  protected abstract atLeast(role: NoInfer<Role>, user: object | undefined, record: T | undefined): boolean

  /** Whether the role in a membership or an invitation is not above that of a user in its team, so that the user may change it. */
  protected abstract reaches(user: object | undefined, record: T & { role: string }): boolean
}

/** The class that policies of records of teams extend, with what specs of policies read. */
export interface RolePolicyClass<Role extends string = string> {
  /** The roles and the users that policies know. */
  readonly members: PolicyMembers<Role>
  checkRoute(route: { middleware: readonly Function[]; handlerName: string }, model: Function): void
}

/** What the policies of an application share. */
export interface PolicyMembers<Role extends string = string> {
  readonly roles: Roles & { readonly names: readonly Role[] }
  readonly team: new () => Model
  /** The key of the team in its records: `branch_id`. */
  readonly key: string
  /** The middleware without which nobody has a role. */
  readonly middleware: Function
  /** Whether the records of a model have the key. */
  hasKey(model: Function): boolean
}

/** Creates the class that the policies of an application extend. */
export function rolePolicy<Role extends string>(
  members: PolicyMembers<Role>,
): (abstract new <T extends Model>() => RolePolicy<T, Role>) & RolePolicyClass<Role> {
  const { roles, team } = members
  const isTeam = (model: Function) => model === team || model.prototype instanceof team

  abstract class TeamPolicy<T extends Model> extends RolePolicy<T, Role> {
    static readonly members = members

    static checkRoute(
      { middleware, handlerName }: { middleware: readonly Function[]; handlerName: string },
      model: Function,
    ): void {
      if (!middleware.includes(members.middleware))
        throw new DeclarationError(
          `${this.name} of ${handlerName} needs the roles of the user, which teamMembers() reads. Declare ` +
            'its middleware above the resource, below authenticate(): app.use(branches).',
        )
      if (!isTeam(model) && !members.hasKey(model))
        throw new DeclarationError(
          `${this.name} extends RolePolicy, but ${model.name} has no "${members.key}", so its records belong to no ` +
            `${team.name}. Add the key, or extend Policy.`,
        )
    }

    scope(user: object | undefined, model: Function = Object): PolicyScope<T> {
      const ids = roles.teamsOf(user)
      if (ids?.length === 0) return nothing
      const conditions = ids ? { [isTeam(model) ? 'id' : members.key]: In(ids) } : {}
      // The compiler does not know which columns the records have.
      return conditions as PolicyScope<T>
    }

    protected role(user: object | undefined, record: T | undefined): Role | undefined {
      const id: unknown = record instanceof team ? record.id : Reflect.get(Object(record), members.key)
      return roles.roleIn(user, id) as Role | undefined
    }

    protected atLeast(role: Role, user: object | undefined, record: T | undefined): boolean {
      if (!roles.has(role))
        throw new DeclarationError(
          `${this.constructor.name} asks for the role ${JSON.stringify(role)}, but the roles are ${roles.names.join(', ')}.`,
        )
      return roles.rank(this.role(user, record)) <= roles.rank(role)
    }

    protected reaches(user: object | undefined, record: T & { role: string }): boolean {
      return roles.rank(this.role(user, record)) <= roles.rank(record.role)
    }
  }
  return TeamPolicy
}
