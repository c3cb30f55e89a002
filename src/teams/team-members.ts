import type { Next } from 'koa'
import type { Context, Database, Model } from '../index.js'
import { Access } from './access.js'
import { Changes } from './changes.js'
import type { TeamMembers, TeamOptions } from './declarations.js'
import { emptyTeam } from './empty-team.js'
import { rolePolicy, type PolicyMembers } from './role-policy.js'
import { Roles } from './roles.js'

/**
 * Creates the middleware that reads the memberships of `ctx.user`, with one query, and the methods that change them. Declare it
 * below `authenticate()`. Templates have the teams of the user as `userTeams`, and the one in the path as `currentTeam`: their ids
 * and names.
 *
 * @example
 * export const roles = ['owner', 'manager', 'clerk', 'viewer'] as const
 * export const branches = teamMembers(database, { team: Branch, membership: Membership, invitation: Invitation, roles })
 * export const { RolePolicy } = branches
 * @throws DeclarationError when `expires` is malformed, or when the roles are fewer than two or repeat one
 */
export function teamMembers<const Options extends TeamOptions>(
  database: Database,
  options: Options,
): TeamMembers<Options> {
  const roles = new Roles(options.roles)
  const access = new Access(database, options, roles)
  const changes = new Changes(database, options, access)

  async function teamMembers(ctx: Context, next: Next): Promise<void> {
    await access.admit(ctx)
    await next()
  }

  const { team } = options
  const shared: PolicyMembers = {
    roles,
    team,
    middleware: teamMembers,
    get key() {
      return access.key
    },
    keyOf(model) {
      if (model === team || model.prototype instanceof team) return 'id'
      const metadata = database.hasMetadata(model) ? database.getMetadata(model) : undefined
      return metadata?.findColumnWithPropertyName(access.key)?.propertyName
    },
  }
  return Object.assign(teamMembers, {
    beforeBody: true,
    // The keys are those of the models, which may lack them.
    extension: { checkRoutes: async () => void [access.key, access.user] },
    RolePolicy: rolePolicy(shared),
    rolesUpTo: (user: object | undefined, record: Pick<Model, 'id'>) =>
      options.roles.slice(roles.rank(roles.roleIn(user, record.id))),
    create: changes.create.bind(changes),
    invite: changes.invite.bind(changes),
    invitation: changes.findInvitation.bind(changes),
    accept: changes.accept.bind(changes),
    changeRole: changes.changeRole.bind(changes),
    remove: changes.remove.bind(changes),
    empty: emptyTeam,
  }) as unknown as TeamMembers<Options>
}
