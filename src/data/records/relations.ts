import { FindOptionsUtils, In } from 'typeorm'
import type { EntityManager, EntityMetadata, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js'
import { UnknownRelation } from '../../errors.js'
import { columnsOf, linkOf, referencedBy, scopedKeys, valuesOf, type Link } from './links.js'
import { ownKeysOf } from './loaded-relations.js'
import { markLoaded } from './record-state.js'
import { withinScope } from './scope.js'
import type { RecordWork } from './work.js'
import { Model } from '../model.js'
import { exposed, exposedName } from '../attributes/transform-metadata.js'

/** The relations of a model, or of the records of a list, by their names. */
export type RelationOf<R> = R extends readonly (infer One)[]
  ? RelationOf<One>
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
 * Loads the related records of records of one model, with one query for each relation. A relation to one record is null if
 * there is none. A relation to many records is a list in the order of their ids.
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
    const [key] = ownKeysOf(relation)
    const related = await (key
      ? loadByKey(work, relation, key, records)
      : loadByLink(work, relation, records, limit))
    const isToMany = relation.isOneToMany || relation.isManyToMany
    for (const record of records) {
      const found = attributes ? related(record).map((one) => withOnly(one, attributes)) : related(record)
      Reflect.set(record, name, isToMany ? found : (found[0] ?? null))
      markLoaded(record, name)
    }
  }
}

/**
 * A copy of a record with some of its attributes, as JSON and XML show them. It has no class with rules of class-transformer:
 * they could show more.
 */
function withOnly(record: object, attributes: readonly string[]): object {
  const names = attributes.map((name) => exposedName(record.constructor, name))
  const shown = Object.entries(exposed(record)).filter(([name]) => names.includes(name))
  return Object.assign(Object.create(Model.prototype), Object.fromEntries(shown))
}

/** Returns the loaded records that belong to a record. */
type Related = (record: Model) => object[]

/** Loads the records that a property of the given records refers to. */
async function loadByKey(
  work: RecordWork,
  { inverseEntityMetadata: metadata }: RelationMetadata,
  key: ColumnMetadata,
  records: readonly Model[],
): Promise<Related> {
  const named = referencedBy(key)
  const keys = valuesOf(records, key)
  const scope = work.scopeFor(metadata.target)
  const where = withinScope(metadata, { [named.propertyName]: In(keys) }, scope) ?? {}
  const found = keys.length > 0 ? await work.tx.findBy(metadata.target, where) : []
  const byKey = new Map(found.map((record) => [valueOf(record, named), record]))
  return (record) => [byKey.get(valueOf(record, key)) ?? []].flat()
}

/** Loads the records that a table links to the given records. */
async function loadByLink(
  work: RecordWork,
  relation: RelationMetadata,
  records: readonly Model[],
  limit: number | undefined,
): Promise<Related> {
  const link = linkOf(relation)
  const [owned, named] = [referencedBy(link.toOwner), referencedBy(link.toRelated)]
  const keys = valuesOf(records, owned)
  if (keys.length === 0) return () => []
  const query = linkQuery(work, relation.inverseEntityMetadata, link, keys, limit)
  const { entities, raw } = await query.getRawAndEntities<{ link_owner: unknown; link_related: unknown }>()
  const byKey = new Map(entities.map((record) => [String(valueOf(record, named)), record]))
  const byOwner = new Map<string, Set<object>>()
  for (const { link_owner, link_related } of raw) {
    const record = byKey.get(String(link_related))
    const list = byOwner.get(String(link_owner)) ?? new Set()
    if (record) byOwner.set(String(link_owner), list.add(record))
  }
  return (record) => [...(byOwner.get(String(valueOf(record, owned))) ?? [])]
}

/** The query for the records that are linked to owners with these keys, each with the key of its owner. */
function linkQuery(
  work: RecordWork,
  metadata: EntityMetadata,
  link: Link,
  keys: readonly unknown[],
  limit: number | undefined,
): SelectQueryBuilder<object> {
  const { tx } = work
  const { table, toOwner, toRelated } = link
  const { driver } = tx.dataSource
  const column = columnsOf(tx)
  const related = column('related', referencedBy(toRelated))
  const isLinked = `${column('link', toRelated)} = ${related}`
  const inScope = scopedKeys(work, metadata, link)
  const query = tx.createQueryBuilder<object>(metadata.target, 'related')
  if (limit === undefined) query.innerJoin(table, 'link', isLinked)
  else
    query.innerJoin(
      (links) => rankedLinks(links, tx, metadata, link, keys, inScope?.sql),
      'link',
      `${isLinked} AND ${driver.escape('link')}.${driver.escape(rank)} <= ${Number(limit)}`,
    )
  query
    .addSelect(column('link', toOwner), 'link_owner')
    .addSelect(column('link', toRelated), 'link_related')
    .where(`${column('link', toOwner)} IN (:...keys)`, { keys })
  if (inScope) query.andWhere(`${related} IN ${inScope.sql}`, inScope.parameters)
  FindOptionsUtils.joinEagerRelations(query, 'related', metadata)
  const direction = limit === undefined ? 'ASC' : 'DESC'
  for (const { propertyPath } of metadata.primaryColumns)
    query.addOrderBy(`related.${propertyPath}`, direction)
  return query
}

/** The links in the scope, numbered for each owner, the newest related record first. */
function rankedLinks(
  links: SelectQueryBuilder<ObjectLiteral>,
  tx: EntityManager,
  { deleteDateColumn, tablePath }: EntityMetadata,
  { table, toOwner, toRelated }: Link,
  keys: readonly unknown[],
  scopeSql: string | undefined,
): SelectQueryBuilder<ObjectLiteral> {
  const column = columnsOf(tx)
  const [owner, key] = [column('linked', toOwner), column('linked', toRelated)]
  links
    .select(owner, toOwner.databaseName)
    .addSelect(key, toRelated.databaseName)
    .addSelect(`ROW_NUMBER() OVER (PARTITION BY ${owner} ORDER BY ${key} DESC)`, rank)
    .from(table, 'linked')
    .where(`${owner} IN (:...keys)`, { keys })
  if (scopeSql !== undefined) links.andWhere(`${key} IN ${scopeSql}`)
  if (deleteDateColumn && tablePath === table) links.andWhere(`${column('linked', deleteDateColumn)} IS NULL`)
  return links
}

/** The column of a link's number. */
const rank = 'kit_rank'

function valueOf(record: object, { propertyName }: ColumnMetadata): unknown {
  return Reflect.get(record, propertyName)
}
