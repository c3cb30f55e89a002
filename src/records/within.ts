import { getMetadataArgsStorage, Raw, type EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js'
import { memoizeByObject } from '../common/memoize.js'
import { DeclarationError } from '../errors.js'
import { nearest } from '../naming/spelling.js'
import { ancestorsOf, columnsOf } from '../models/attributes/attributes.js'
import { ownKeysOf } from '../models/record-state.js'

/** A relation to the record that contains a record, and its key. */
export interface Enclosure {
  /** The `branch` relation. */
  relation: RelationMetadata
  /** The `branch_id` column. */
  key: ColumnMetadata
}

/** The way from a record to a record that contains it: over its rental to its branch. */
export interface Chain {
  /** The model of the containing record. */
  model: EntityMetadata
  path: readonly Enclosure[]
  /** The table by which records are in another, instead of a path: users are members of branches. */
  members?: MemberTable
}

/** The table of a model whose records say that users are in a branch. */
export interface MemberTable {
  /** The `user_id` column. */
  user: ColumnMetadata
  /** The `branch_id` column. */
  team: ColumnMetadata
  /** The ids of the teams whose members a request may see; undefined for all. */
  visible(request: object): readonly string[] | undefined
  /** The models whose records may refer to users who are not members yet. */
  exempt: readonly Function[]
  /** The role of new members in specs. */
  role: string
}

/** A record that two records must have in common, and the way from each of them to it. */
export interface Common {
  /** The way from the record that refers to the other; empty if it must contain the other itself. */
  own: Chain
  /** The way from the record that is referred to. */
  theirs: Chain
}

const declared = new WeakMap<Function, readonly string[]>()
const implied = new WeakMap<Function, Set<string>>()
/** How members are declared. */
type MemberOptions = { team: Function } & Omit<MemberTable, 'user' | 'team'>

const memberships = new Map<Function, MemberOptions>()
const caches: (() => void)[] = []

/**
 * Declares in which records a record is: a rental with `@Within('branch')` refers only to customers and items
 * of its own branch. A mounted resource with `@Parent` implies it for the relation whose key is in the path.
 *
 * Without relations, records may refer to anything, also below a parent.
 *
 * @example
 * ```ts
 * @Entity('rentals')
 * @Within('branch')
 * export class Rental extends Model {
 *   @Column('uuid')
 *   branch_id!: string
 *
 *   @ManyToOne(() => Branch)
 *   @JoinColumn({ name: 'branch_id' })
 *   branch?: Relation<Branch>
 * }
 * ```
 * @param relations required relations to one record. The start fails if a relation is none, or if they form a
 *   circle
 */
export function Within(): (target: Function) => void
export function Within<Name extends string>(
  ...relations: Name[]
): (target: abstract new (...args: never[]) => { [Property in Name]?: object | null }) => void
export function Within(...relations: string[]) {
  return (target: Function): void => {
    declared.set(target, relations)
  }
}

/**
 * Declares that the records of a model are in those to which the path of its resource leads. It counts for
 * relations that are required, unless the model has `@Within`.
 *
 * @param keys the keys that the path sets: `branch_id`
 */
export function implyWithin(model: Function, keys: Iterable<string>): void {
  const known = implied.get(model) ?? new Set()
  const all = new Set([...known, ...keys])
  if (all.size === known.size) return
  implied.set(model, all)
  for (const forget of caches) forget()
}

/**
 * Declares that users are in the teams of which they are members, so that a record in a team refers only to
 * its members.
 *
 * @param membership the model with the keys of a user (`user_id`) and of a team
 */
export function declareMembers(membership: Function, options: MemberOptions): void {
  memberships.set(membership, options)
  for (const forget of caches) forget()
}

/** Caches what is derived from `@Within` and the paths of resources, until another path implies something. */
export function memoizeWithin<Result>(
  compute: (metadata: EntityMetadata) => Result,
): (metadata: EntityMetadata) => Result {
  let cached = memoizeByObject(compute)
  caches.push(() => (cached = memoizeByObject(compute)))
  return (metadata) => cached(metadata)
}

/**
 * The relations to the records that contain a record of a model.
 *
 * @throws DeclarationError when `@Within` names something else than a required relation to one record
 */
export const enclosuresOf = memoizeWithin((metadata: EntityMetadata): readonly Enclosure[] => {
  const { target, relations } = metadata
  if (typeof target !== 'function') return []
  const { names, keys } = declarationOf(target)
  if (names) return names.map((name) => readEnclosure(metadata, name))
  return relations.flatMap((relation) => {
    const [key, secondKey] = ownKeysOf(relation)
    const isInItself = relation.inverseEntityMetadata.tablePath === metadata.tablePath
    const isRequired = key && !secondKey && !key.isNullable && !isInItself
    return isRequired && keys.has(key.propertyName) ? [{ relation, key }] : []
  })
})

/**
 * The ways from a record of a model to the records that contain it, the nearest first.
 *
 * @throws DeclarationError when `@Within` is wrong, or when records would contain each other
 */
export const chainsOf = memoizeWithin((metadata: EntityMetadata): readonly Chain[] => {
  const all: Chain[] = []
  let last: Chain[] = [{ model: metadata, path: [] }]
  while (last.length > 0) {
    last = last.flatMap(({ model, path }) =>
      enclosuresOf(model).map((enclosure) => {
        const { inverseEntityMetadata: next } = enclosure.relation
        const earlier = [metadata, ...path.map(({ relation }) => relation.inverseEntityMetadata)]
        if (earlier.some(({ tablePath }) => tablePath === next.tablePath))
          throw circle(metadata, [...path, enclosure])
        return { model: next, path: [...path, enclosure] }
      }),
    )
    all.push(...last)
  }
  return [...all, ...memberChains(metadata)]
})

/** The ways from a user to the teams of which the user is a member. */
function memberChains({ dataSource, tablePath }: EntityMetadata): Chain[] {
  return [...memberships].flatMap(([membership, { team: model, ...options }]): Chain[] => {
    if (!dataSource.hasMetadata(membership) || !dataSource.hasMetadata(model)) return []
    const team = dataSource.getMetadata(model)
    const keys = dataSource
      .getMetadata(membership)
      .relations.flatMap((it) => (it.isOwning ? it.joinColumns : []))
    const keyTo = (table: string) =>
      keys.find((key) => key.referencedColumn?.entityMetadata.tablePath === table)
    const [userKey, teamKey] = [keyTo(tablePath), keyTo(team.tablePath)]
    if (tablePath === team.tablePath || userKey?.propertyName !== 'user_id' || !teamKey) return []
    return [{ model: team, path: [], members: { ...options, user: userKey, team: teamKey } }]
  })
}

/** The conditions of the users who are members of one of some teams. */
export function membersOf({ user, team }: MemberTable, ids: readonly unknown[]): object {
  const { escape } = user.entityMetadata.dataSource.driver
  const [column, key] = [user, team].map(({ databaseName }) => escape(databaseName))
  const table = user.entityMetadata.tablePath
    .split('.')
    .map((part) => escape(part))
    .join('.')
  // All operators of a query share their parameters.
  const parameters = Object.fromEntries(ids.map((id) => [`team_${String(id).replace(/\W/g, '')}`, id]))
  const list = Object.keys(parameters).map((name) => `:${name}`)
  const sql = (alias: string) =>
    list.length > 0
      ? `${alias} IN (SELECT ${column} FROM ${table} WHERE ${key} IN (${list.join()}))`
      : '1 = 0'
  return { id: Raw(sql, parameters) }
}

/** The ways of `chainsOf`, and before them the empty one to the record itself. */
export function waysOf(model: EntityMetadata): readonly Chain[] {
  return [{ model, path: [] }, ...chainsOf(model)]
}

/**
 * Returns the records that two records must have in common, as nearest to both as possible, because the
 * records that contain those are then the same.
 *
 * @param ways the ways from the record that refers to the other one, of `waysOf`
 */
export function commonOf(ways: readonly Chain[], target: EntityMetadata): Common[] {
  const model = ways[0]?.model.target
  return chainsOf(target).flatMap((theirs) =>
    ways.flatMap((own) => {
      if (theirs.members?.exempt.some((one) => one === model)) return []
      const isSame = own.model.tablePath === theirs.model.tablePath && !own.members
      const isImplied = theirs.path.length > 1 && own.path.at(-1)?.relation === theirs.path.at(-1)?.relation
      return isSame && !isImplied ? [{ own, theirs }] : []
    }),
  )
}

/** Returns the names of relations in `@Within`, and the keys in paths, which may belong to relations. */
function declarationOf(model: Function): { names: string[] | undefined; keys: ReadonlySet<string> } {
  const models = ancestorsOf(model)
  const names = models.flatMap((one) => declared.get(one) ?? [])
  const isDeclared = models.some((one) => declared.has(one))
  const keys = new Set(models.flatMap((one) => [...(implied.get(one) ?? [])]))
  return { names: isDeclared ? [...new Set(names)] : undefined, keys }
}

/** Whether `@Within()` says that the records of a model may refer to anything. */
export function isFree(model: Function): boolean {
  return declarationOf(model).names?.length === 0
}

/** The names of the relations to the records that contain one of a model, for tools without a database. */
export function enclosureNames(model: Function): string[] {
  const { names, keys } = declarationOf(model)
  if (names) return names
  const models: unknown[] = ancestorsOf(model)
  const required = columnsOf(model).filter(({ options }) => options.nullable !== true)
  const keyOf = new Map(
    required.map(({ options, propertyName }) => [options.name ?? propertyName, propertyName]),
  )
  return getMetadataArgsStorage()
    .joinColumns.filter(({ target, name = '' }) => models.includes(target) && keys.has(keyOf.get(name) ?? ''))
    .map(({ propertyName }) => propertyName)
}

function readEnclosure(metadata: EntityMetadata, name: string): Enclosure {
  const relation = metadata.relations.find(({ propertyName }) => propertyName === name)
  const [key, secondKey] = relation ? ownKeysOf(relation) : []
  if (relation && key && !secondKey && !key.isNullable) return { relation, key }
  const suggestion = nearest(
    name,
    metadata.relations.map(({ propertyName }) => propertyName),
  )
  const reason = !relation
    ? `which is not a relation.${suggestion ? ` Did you mean "${suggestion}"?` : ' Name a relation, like "branch".'}`
    : key?.isNullable
      ? `whose key "${key.propertyName}" is nullable. Make the key required, or remove the relation from @Within.`
      : 'which is not a relation to one record with a key. Name a @ManyToOne relation whose key is a property.'
  throw new DeclarationError(`@Within of ${metadata.targetName} names "${name}", ${reason}`)
}

function circle({ targetName }: EntityMetadata, path: readonly Enclosure[]): DeclarationError {
  const names = path.map(({ relation }) => relation.inverseEntityMetadata.targetName)
  return new DeclarationError(
    `The records of ${targetName} would be in themselves: ${[targetName, ...names].join(' is within ')}. ` +
      `Remove a relation from @Within. If a model has none, because the paths of resources imply it, add @Within().`,
  )
}
