import { FindOptionsUtils, In } from 'typeorm'
import type { EntityManager, EntityMetadata, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js'
import { UnknownRelation } from '../errors.js'
import { columnWriter, joinOf, targetOf, selectScopedKeys, valuesOf, type Join } from './joins.js'
import { ownKeysOf } from '../models/record-state.js'
import { inParts } from './parts.js'
import { markLoaded } from '../models/record-state.js'
import { addScope, scopeOf } from './scope.js'
import type { RecordWork } from './work.js'
import { Model } from '../models/model.js'
import { applyTransformRules, exposedName } from '../models/attributes/transform-metadata.js'

/** The relations of a model, or of the records of a list, by their names. */
export type RelationOf<R> = R extends readonly (infer Element)[]
  ? RelationOf<Element>
  : {
      [Name in keyof R & string]-?: NonNullable<R[Name]> extends Model | readonly Model[] ? Name : never
    }[keyof R & string]

/** The options of loading relations. */
interface LoadOptions {
  /** The maximum number of related records of each record, of which the newest are loaded, newest first. */
  limit?: number | undefined
  /** The attributes that the related records have; undefined for all. */
  attributes?: readonly string[] | undefined
}

/**
 * Loads the related records of records of one model, with one query for each relation. A relation to one
 * record is null if that record does not exist. A relation to many records is a list in the order of their
 * ids.
 *
 * Saving a record does not write a loaded relation, unless it has been changed.
 *
 * @example await loadRelations(work, posts, ['author'])
 * @throws UnknownRelation if the model has no such relation, or one with a key of several columns
 */
export async function loadRelations(
  work: RecordWork,
  records: readonly Model[],
  relations: readonly string[],
  { limit, attributes }: LoadOptions = {},
): Promise<void> {
  const [first] = records
  if (!first) return
  const metadata = work.tx.dataSource.getMetadata(first.constructor)
  for (const name of relations) {
    const relation = metadata.findRelationWithPropertyPath(name)
    if (!relation) throw new UnknownRelation(metadata.targetName, name)
    const [key, secondKey] = ownKeysOf(relation)
    if (secondKey) throw new UnknownRelation(metadata.targetName, name)
    const relatedTo = await (key
      ? loadByKey(work, relation, key, records)
      : loadByJoin(work, relation, records, limit))
    const isToMany = relation.isOneToMany || relation.isManyToMany
    for (const record of records) {
      const all = relatedTo(record)
      const related = attributes ? all.map((element) => pickAttributes(element, attributes)) : all
      Reflect.set(record, name, isToMany ? related : (related[0] ?? null))
      markLoaded(record, name)
    }
  }
}

/**
 * Copies some attributes of a record, as JSON and XML show them. The copy has another class, because the
 * rules of class-transformer of the record's class could show more.
 */
function pickAttributes(record: object, attributes: readonly string[]): object {
  const names = attributes.map((name) => exposedName(record.constructor, name))
  const entries = Object.entries(applyTransformRules(record)).filter(([name]) => names.includes(name))
  return Object.assign(Object.create(Model.prototype), Object.fromEntries(entries))
}

/** Returns the loaded records that belong to a record. */
type FindRelated = (record: Model) => object[]

/** Loads the related records to which a key of the records refers. */
async function loadByKey(
  work: RecordWork,
  { inverseEntityMetadata: metadata }: RelationMetadata,
  key: ColumnMetadata,
  records: readonly Model[],
): Promise<FindRelated> {
  const referenced = targetOf(key)
  const keys = valuesOf(records, key)
  const scope = scopeOf(work, metadata)
  const related = await inParts(keys, (part) => {
    const where = addScope(metadata, { [referenced.propertyName]: In(part) }, scope) ?? {}
    return work.tx.findBy(metadata.target, where)
  })
  const byKey = new Map(related.map((record) => [valueOf(record, referenced), record]))
  return (record) => [byKey.get(valueOf(record, key)) ?? []].flat()
}

/** Loads the related records by the table that joins them: the related table, or a join table. */
async function loadByJoin(
  work: RecordWork,
  relation: RelationMetadata,
  records: readonly Model[],
  limit: number | undefined,
): Promise<FindRelated> {
  const join = joinOf(relation)
  const [ownerKey, relatedKey] = [targetOf(join.toOwner), targetOf(join.toRelated)]
  const keys = valuesOf(records, ownerKey)
  const parts = await inParts(keys, async (part) => {
    const query = buildJoinQuery(work, relation.inverseEntityMetadata, join, part, limit)
    return [await query.getRawAndEntities<{ joined_owner: unknown; joined_related: unknown }>()]
  })
  const raw = parts.flatMap((part) => part.raw)
  const byKey = new Map(
    parts.flatMap(({ entities }) =>
      entities.map((record) => [String(valueOf(record, relatedKey)), record] as const),
    ),
  )
  // Joined eager relations repeat a record in several rows.
  const byOwner = new Map<string, Set<object>>()
  for (const { joined_owner, joined_related } of raw) {
    const record = byKey.get(String(joined_related))
    const related = byOwner.get(String(joined_owner)) ?? new Set()
    if (record) byOwner.set(String(joined_owner), related.add(record))
  }
  return (record) => [...(byOwner.get(String(valueOf(record, ownerKey))) ?? [])]
}

/** Builds the query for records that are joined to owners with these keys, each with the key of its owner. */
function buildJoinQuery(
  work: RecordWork,
  metadata: EntityMetadata,
  join: Join,
  keys: readonly unknown[],
  limit: number | undefined,
): SelectQueryBuilder<object> {
  const { tx } = work
  const { table, toOwner, toRelated } = join
  const { driver } = tx.dataSource
  const column = columnWriter(tx)
  const related = column('related', targetOf(toRelated))
  const isJoined = `${column('joined', toRelated)} = ${related}`
  const scope = selectScopedKeys(work, metadata, join)
  const query = tx.createQueryBuilder<object>(metadata.target, 'related')
  if (limit === undefined) query.innerJoin(table, 'joined', isJoined)
  else
    query.innerJoin(
      (query) => selectRankedJoins(query, tx, join, keys, scope?.sql),
      'joined',
      `${isJoined} AND ${driver.escape('joined')}.${driver.escape(rankColumn)} <= ${Number(limit)}`,
    )
  query
    .addSelect(column('joined', toOwner), 'joined_owner')
    .addSelect(column('joined', toRelated), 'joined_related')
    .where(`${column('joined', toOwner)} IN (:...keys)`, { keys })
  if (scope) query.andWhere(`${related} IN ${scope.sql}`, scope.parameters)
  FindOptionsUtils.joinEagerRelations(query, 'related', metadata)
  const direction = limit === undefined ? 'ASC' : 'DESC'
  for (const { propertyPath } of metadata.primaryColumns)
    query.addOrderBy(`related.${propertyPath}`, direction)
  return query
}

/** Selects and numbers the joining rows in the scope for each owner, the newest first: ids sort by time. */
function selectRankedJoins(
  query: SelectQueryBuilder<ObjectLiteral>,
  tx: EntityManager,
  { table, toOwner, toRelated }: Join,
  keys: readonly unknown[],
  scopeSql: string | undefined,
): SelectQueryBuilder<ObjectLiteral> {
  const column = columnWriter(tx)
  const [owner, key] = [column('joined', toOwner), column('joined', toRelated)]
  query
    .select(owner, toOwner.databaseName)
    .addSelect(key, toRelated.databaseName)
    .addSelect(`ROW_NUMBER() OVER (PARTITION BY ${owner} ORDER BY ${key} DESC)`, rankColumn)
    .from(table, 'joined')
    .where(`${owner} IN (:...keys)`, { keys })
  // The outer query has the parameters of the scope.
  if (scopeSql !== undefined) query.andWhere(`${key} IN ${scopeSql}`)
  return query
}

/** The column with the number of a joining row among those of its owner. */
const rankColumn = 'kit_rank'

function valueOf(record: object, { propertyName }: ColumnMetadata): unknown {
  return Reflect.get(record, propertyName)
}
