import type { DataSource, EntityMetadata, SelectQueryBuilder, ObjectLiteral } from 'typeorm'
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js'
import { isSecretAttribute } from '../naming/secret-names.js'
import { uniqueIndexesOf } from './unique-indexes.js'
import { chainsOf, commonOf, enclosuresOf, waysOf, type Chain, type Common } from './within.js'

/** References of a relation that lead to records of other parents. */
export interface Crossing {
  /** `Rental.customer` */
  name: string
  count: number
}

/** A unique index of records that are within others, over all of those. */
export interface WideIndex {
  table: string
  name: string
  columns: string[]
  /** The keys that it could begin with: `branch_id`. */
  keys: string[]
}

/** Counts the stored references that lead to records of other parents, with one query for each relation. */
export async function findCrossings(dataSource: DataSource): Promise<Crossing[]> {
  const crossings: Crossing[] = []
  for (const metadata of modelsOf(dataSource)) {
    for (const relation of metadata.relations) {
      if (!relation.isOwning) continue
      // A former member may still be an assignee.
      const commons = commonOf(waysOf(metadata), relation.inverseEntityMetadata).filter(
        ({ theirs }) => !theirs.members,
      )
      const count = commons.length > 0 ? await countCrossings(dataSource, relation, commons) : 0
      if (count > 0) crossings.push({ name: `${metadata.targetName}.${relation.propertyName}`, count })
    }
  }
  return crossings
}

/**
 * Finds the unique indexes that tell which values the records of other parents have: they contain neither the
 * key of a parent nor a reference that stays inside of it.
 */
export async function findWideIndexes(dataSource: DataSource): Promise<WideIndex[]> {
  const runner = dataSource.createQueryRunner()
  try {
    const found: WideIndex[] = []
    for (const metadata of modelsOf(dataSource)) {
      const keys = enclosuresOf(metadata).map(({ key }) => key.databaseName)
      const indexes = keys.length > 0 ? await uniqueIndexesOf(runner, metadata) : []
      const inside = new Set([...keys, ...keysInside(metadata)])
      // Nobody can send a value of a secret, such as the digest of a token.
      for (const { table, name, columns } of indexes)
        if (!columns.some((column) => inside.has(column) || isSecretAttribute(column)))
          found.push({ table, name, columns, keys })
    }
    return found
  } finally {
    await runner.release()
  }
}

/** The models of the application. The tables of many-to-many relations have no class. */
function modelsOf(dataSource: DataSource): EntityMetadata[] {
  return dataSource.entityMetadatas.filter(({ target }) => typeof target === 'function')
}

/** The keys of references that stay inside of a parent. */
function keysInside(metadata: EntityMetadata): string[] {
  return metadata.relations
    .filter(({ isOwning, isManyToMany, inverseEntityMetadata }) => {
      return isOwning && !isManyToMany && commonOf(chainsOf(metadata), inverseEntityMetadata).length > 0
    })
    .flatMap(({ joinColumns }) => joinColumns.map(({ databaseName }) => databaseName))
}

async function countCrossings(
  dataSource: DataSource,
  { entityMetadata, propertyName }: RelationMetadata,
  commons: readonly Common[],
): Promise<number> {
  const query = dataSource.createQueryBuilder(entityMetadata.target, 'own').select('COUNT(*)', 'count')
  query.innerJoin(`own.${propertyName}`, 'their')
  const conditions = commons.map(({ own, theirs }, index) => {
    return `${containerOf(query, 'own', own, `own_${index}`)} <> ${containerOf(query, 'their', theirs, `their_${index}`)}`
  })
  const row = await query.where(conditions.join(' OR ')).getRawOne<{ count: unknown }>()
  return Number(row?.count ?? 0)
}

/** Joins the records on the way to a containing record, and returns the column with its id. */
function containerOf(
  query: SelectQueryBuilder<ObjectLiteral>,
  start: string,
  { path }: Chain,
  prefix: string,
): string {
  const last = path.at(-1)
  if (!last) return `${start}.id`
  const end = path.slice(0, -1).reduce((alias, { relation }, index) => {
    query.innerJoin(`${alias}.${relation.propertyName}`, `${prefix}_${index}`)
    return `${prefix}_${index}`
  }, start)
  return `${end}.${last.key.propertyName}`
}
