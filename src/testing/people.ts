import type { Model } from '../models/model.js'
import type { Client } from './client.js'

/**
 * How the specs of an application make users and sign them in. Generated helpers in `spec/support` set it:
 * `Object.assign(client.people, { makeUser, signIn })`.
 */
export interface People {
  /** Creates a user. */
  makeUser?(): Promise<Model>
  /** Signs a user in. */
  // The application has its own class of users.
  // oxlint-disable-next-line no-explicit-any
  signIn?(client: Client, user: any): Promise<unknown>
  /** Creates a team. */
  makeTeam?(): Promise<Model>
  /** Creates a user who is a member of a team. */
  // The application has its own class of teams, and its own roles.
  // oxlint-disable-next-line no-explicit-any
  makeMember?(team: any, role: any): Promise<Model>
}

/** @throws Error when a helper that a spec needs is missing */
export function helperOf<Name extends keyof People>(people: People, name: Name): NonNullable<People[Name]> {
  const helper = people[name]
  if (helper) return helper
  throw new Error(
    `client.people has no ${name}. Set it in spec/support: Object.assign(client.people, { ${name} }).`,
  )
}
