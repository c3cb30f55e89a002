import type { EntityManager } from 'typeorm'
import type { App } from '../application/application.js'
import { newId } from '../models/ids.js'
import type { Model } from '../models/model.js'
import { isAllowed } from '../policies/abilities.js'
import type { PolicyClass } from '../policies/policy.js'
import type { PolicyMembers } from '../teams/index.js'
import type { Client } from './client.js'

/**
 * Signs in the lowest role that the policy of a record allows to do something with it; else the owner of the record, else any user.
 * If the policy allows it to nobody, it signs in the highest role. A spec then says that the handler does what the policy says, and
 * stays right when the policy is edited.
 *
 * @example
 * const isAllowed = await signInFor(client, 'update', rental)
 * const { status } = await client.patch(path, { json: { number: '2' } })
 * expect(status).to.equal(isAllowed ? 200 : 403)
 * @returns whether the policy allows it
 */
export async function signInFor(client: Client, ability: string, record: Model): Promise<boolean> {
  const people: Person[] = []
  for await (const person of peopleFor(client, ability, record)) {
    people.push(person)
    if (person.isAllowed) break
  }
  const person =
    people.find(({ isAllowed }) => isAllowed) ?? people.findLast(({ role }) => role) ?? people.at(-1)
  await client.helper('signIn')(client, await person?.make())
  return person?.isAllowed === true
}

/** Somebody who can be signed in. */
interface Person {
  /** The role in the team of the record; undefined if the person needs none. */
  role?: string
  isAllowed: boolean
  make(): Promise<Model>
}

/** The users who could change a record: the roles in its team, the lowest first, the users to whom it refers, and any user. */
export async function* peopleFor(client: Client, ability: string, record: Model): AsyncGenerator<Person> {
  const policy = policyOf(client.app, record.constructor)
  const allows = async (user: object) => !policy || isAllowed(policy, ability, user, record, client.tx)
  const members = policy && membersOf(policy)
  const team = members && teamOf(members, record)
  if (members && team)
    for (const role of members.roles.names.toReversed()) {
      const isAllowed = await allows(memberOf(members, team.id, role))
      yield { role, isAllowed, make: () => client.helper('makeMember')(team, role) }
    }
  const anybody = await client.helper('makeUser')()
  for (const user of [...(await findOwners(client, record, anybody)), anybody])
    yield { isAllowed: await allows(user), make: async () => user }
}

/** A policy that extends `RolePolicy`. */
interface RolePolicyOf<Role extends string> extends PolicyClass {
  readonly members: PolicyMembers<Role>
}

/**
 * Declares one test for each ability of a policy: from which role on it allows it. Lower roles, members of other teams and visitors
 * must not be allowed.
 *
 * @example describePolicy(RentalPolicy, { create: 'clerk', update: 'clerk', destroy: 'manager' })
 * @param abilities the lowest role of each ability; `false` if nobody is allowed
 * @param make creates the record, for a policy that reads more of it than its team
 */
export function describePolicy<Role extends string>(
  policy: RolePolicyOf<Role>,
  abilities: Readonly<Record<string, NoInfer<Role> | false>>,
  make?: () => Model | Promise<Model>,
): void {
  const { describe, it } = globalThis as unknown as Mocha
  describe(policy.name, () => {
    for (const [ability, lowest] of Object.entries(abilities))
      it(`allows ${ability} ${lowest === false ? 'to nobody' : `from ${lowest} up`}`, async () => {
        const { members } = policy
        const team = newId()
        const record = (await make?.()) ?? { id: team, [members.key]: team }
        const { id = team } = teamOf(members, record) ?? {}
        const actual = await readPermissions(policy, ability, record, id)
        const expected = expectedOf(members.roles.names, lowest)
        const isEqual = Object.entries(expected).every(([who, allowed]) => actual[who] === allowed)
        if (isEqual) return
        const message = `${policy.name}.${ability} is allowed to ${nameOf(actual)}, but the spec says ${nameOf(expected)}.`
        throw Object.assign(new Error(message), { actual, expected, showDiff: true })
      })
  })
}

/** The functions of mocha. */
export interface Mocha {
  describe(title: string, declare: () => void): void
  it(title: string, test: (this: { skip(): never }) => Promise<void>): void
  before(work: () => Promise<void>): void
}

/** The roles and others who are allowed to do something, or not: `{ owner: true, viewer: false, visitor: false }`. */
type Permissions = Record<string, boolean>

const OUTSIDE = 'the highest role of another team'
const VISITOR = 'a visitor'

async function readPermissions(
  policy: RolePolicyOf<string>,
  ability: string,
  record: object,
  team: string,
): Promise<Permissions> {
  const { members } = policy
  const permissions: Permissions = {}
  const allows = async (user: object | undefined) => isAllowed(policy, ability, user, record)
  for (const role of members.roles.names) permissions[role] = await allows(memberOf(members, team, role))
  permissions[OUTSIDE] = await allows(memberOf(members, newId(), members.roles.names[0] ?? ''))
  permissions[VISITOR] = await allows(undefined)
  return permissions
}

function expectedOf(names: readonly string[], lowest: string | false): Permissions {
  const last = lowest === false ? -1 : names.indexOf(lowest)
  const roles = names.map((role, index) => [role, index <= last] as const)
  return { ...Object.fromEntries(roles), [OUTSIDE]: false, [VISITOR]: false }
}

function nameOf(permissions: Permissions): string {
  const names = Object.entries(permissions).flatMap(([who, allowed]) => (allowed ? [who] : []))
  return names.join(', ') || 'nobody'
}

/** Returns the policy of a model, or that of the model that it extends. */
function policyOf(app: App, model: Function): PolicyClass | undefined {
  const all = app.routes.flatMap(({ resource }) => resource?.policies ?? [])
  const parent: unknown = Object.getPrototypeOf(model)
  const own = all.find((declared) => declared.model === model)?.policy
  return own ?? (typeof parent === 'function' ? policyOf(app, parent) : undefined)
}

/** The roles and the team that a policy reads; undefined if it does not extend `RolePolicy`. */
export function membersOf(policy: PolicyClass): PolicyMembers | undefined {
  return 'members' in policy ? (policy.members as PolicyMembers) : undefined
}

/** A user with a role in a team, of whom no table knows. */
function memberOf({ roles }: PolicyMembers, team: string, role: string): object {
  return roles.assume({ id: newId() }, team, { id: newId(), role })
}

/** The team of a record, with its id alone; undefined if the record is a new team. */
function teamOf({ team, key }: PolicyMembers, record: object): Model | undefined {
  const id: unknown = record instanceof team ? record.id : Reflect.get(record, key)
  return typeof id === 'string' ? Object.assign(new team(), { id }) : undefined
}

/** The users to whom a record refers. */
async function findOwners({ tx }: { tx: EntityManager }, record: Model, anybody: Model): Promise<Model[]> {
  const { relations } = tx.dataSource.getMetadata(record.constructor)
  const keys = relations.flatMap(({ inverseEntityMetadata, joinColumns, isManyToMany }) =>
    inverseEntityMetadata.target === anybody.constructor && !isManyToMany ? joinColumns : [],
  )
  const ids = keys.map((key) => key.getEntityValue(record) as string | null | undefined)
  const users = ids.map((id) => (id ? tx.findOneBy<Model>(anybody.constructor, { id }) : null))
  return (await Promise.all(users)).flatMap((user) => user ?? [])
}
