/**
 * Teams: their members, roles and invitations.
 *
 * @module resource-kit/teams
 */

export { teamMembers } from './team-members.js'
export type { Actor, Invitation, Membership, TeamMembers, TeamOptions } from './declarations.js'
export type { PolicyMembers, RolePolicy, RolePolicyClass } from './role-policy.js'
export { GuardedRecord, InvitationGone } from './errors.js'
export type { Duration } from '../extension.js'
