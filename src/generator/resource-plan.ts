import type { Team } from './application.js'
import type { Attribute } from './arguments/attributes.js'
import type { ListPlan } from './arguments/lists.js'
import type { ManyPlan } from './arguments/many.js'
import type { Names } from './arguments/names.js'
import type { NestedPlan } from './arguments/nested.js'
import type { AddedRoute } from './arguments/routes.js'

/** The description of a resource, computed once. */
export interface ResourcePlan {
  /** The command that generates it. */
  command: string
  /** The command that the handlers record. It contains `--locking` only if no migration records that option. */
  handlersCommand: string
  kind: 'web' | 'api'
  /** The kind of the application, which decides the format of requests without `Accept`. */
  application: 'web' | 'api'
  names: Names
  /** The names of the model, which another resource may share. */
  model: Names
  attributes: readonly Attribute[]
  routes: readonly AddedRoute[]
  /** The columns of each unique index of several columns. */
  uniques: readonly (readonly string[])[]
  /** The queries that clients may send to the list; undefined if there are none. */
  list: ListPlan | undefined
  /** Its options for many records at once. */
  many: ManyPlan
  /** The lists of records that are a part of a record. */
  nested: readonly NestedPlan[]
  /** The property of the parent whose lines the records are. */
  listOf?: string
  owner: Names | undefined
  /** The team whose roles decide about the records. */
  team: Team | undefined
  /** The team in whose path the resource is, with or without roles of its own. */
  home: Team | undefined
  /** Whether the model has a version. */
  hasVersion: boolean
  /** Whether each change of a record is recorded. */
  hasHistory: boolean
  /** Whether deleted records are moved to a trash. */
  hasTrash: boolean
  /** The model of the users who sign in. */
  accounts: Names | undefined
  /** The attributes of accounts that lists may include. */
  publicAttributes: readonly string[]
  /** The parents with a policy, the nearest first. */
  guards: readonly Names[]
  /** The attribute that is the heading of a parent's page: its first required text. */
  titleOfParent: string | undefined
  /** Returns the owner of the records of another model. */
  ownerOf: (names: Names) => Names | undefined
  /** Whether the policy of another model asks for roles. */
  hasRoles: (names: Names) => boolean
  /** Returns the models that contain the records of another model. */
  enclosuresOf: (names: Names) => Names[]
}

/** The plan of the model of a list's lines. */
export function planOfLines(
  plan: ResourcePlan,
  { name, names, attributes, uniques }: NestedPlan,
): ResourcePlan {
  return {
    ...plan,
    names,
    model: names,
    attributes,
    uniques,
    listOf: name,
    list: undefined,
    many: { csv: undefined, import: undefined, bulk: [] },
    routes: [],
    nested: [],
    owner: undefined,
    team: undefined,
    hasVersion: false,
    hasTrash: false,
  }
}
