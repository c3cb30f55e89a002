/**
 * Teams: their members, roles and invitations.
 *
 * @module resource-kit/teams
 */

export {
  teamMembers,
  type Actor,
  type Invitation,
  type Membership,
  type TeamMembers,
  type TeamOptions,
} from './team-members.js'
export type { PolicyMembers, RolePolicy, RolePolicyClass } from './role-policy.js'
export { GuardedRecord, InvitationGone } from './errors.js'
export type { Duration } from '../extension.js'
