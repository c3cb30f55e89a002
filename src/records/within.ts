import { getMetadataArgsStorage, type EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js'
import { memoizeByObject } from '../common/memoize.js'
import { DeclarationError } from '../errors.js'
import { nearest } from '../naming/spelling.js'
import { ancestorsOf, columnsOf } from '../models/attributes/attributes.js'
import { ownKeysOf } from './loaded-relations.js'

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
}

/** A record that two records must have in common, and the way from each of them to it. */
export interface Common {
  /** The way from the record that refers to the other one. It is empty if this record itself must contain the other one. */
  own: Chain
  /** The way from the record that is referred to. */
  theirs: Chain
}

const declared = new WeakMap<Function, readonly string[]>()
const implied = new WeakMap<Function, Set<string>>()
const caches: (() => void)[] = []

/**
 * Declares in which records a record is: a rental with `@Within('branch')` refers only to customers and items of its own branch. A
 * mounted resource with `@Parent` implies it for the relation whose key is in the path.
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
 * @param relations required relations to one record. The start fails if a relation is none, or if they form a circle
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
 * Declares that the records of a model are in those to which the path of its resource leads. It counts for relations that are
 * required, unless the model has `@Within`.
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
  return all
})

/** The ways of `chainsOf`, and before them the empty one to the record itself. */
export function waysOf(model: EntityMetadata): readonly Chain[] {
  return [{ model, path: [] }, ...chainsOf(model)]
}

/**
 * Returns the records that two records must have in common, as nearest to both as possible, because the records that contain
 * those are then the same.
 *
 * @param ways the ways from the record that refers to the other one, of `waysOf`
 */
export function commonOf(ways: readonly Chain[], target: EntityMetadata): Common[] {
  return chainsOf(target).flatMap((theirs) =>
    ways.flatMap((own) => {
      const isSame = own.model.tablePath === theirs.model.tablePath
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

/** The names of the relations to the records that contain a record of a model, for tools that open no database. */
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
