import type { EntityManager, EntityMetadata, ObjectLiteral } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js'
import { DeclarationError, UnknownRelation } from '../errors.js'
import { memoizeByObject } from '../common/memoize.js'
import { relationIdsOf } from '../models/attributes/attributes.js'
import { inParts } from './parts.js'
import { setLoadedIds } from '../models/record-state.js'
import { scopeOf } from './scope.js'
import type { RecordWork } from './work.js'

/** The table that joins the records of a relation: the one with the foreign key, or the join table. */
export interface Join {
  table: string
  /** The column that refers to the record with the relation. */
  toOwner: ColumnMetadata
  /** The column that refers to the related record. */
  toRelated: ColumnMetadata
}

/**
 * Returns the table that joins the records of a relation, and its columns.
 *
 * @throws UnknownRelation for a key of several columns
 */
export function joinOf(relation: RelationMetadata): Join {
  const { entityMetadata, inverseEntityMetadata, inverseRelation, junctionEntityMetadata } = relation
  // The owning side, in TypeORM's terms, declares the keys. `relation` may be the other side.
  const owning = relation.isOwning ? relation : inverseRelation
  const keys = owning?.joinColumns ?? []
  const [table, toOwner, toRelated] = junctionEntityMetadata
    ? relation.isOwning
      ? [junctionEntityMetadata, keys, relation.inverseJoinColumns]
      : [junctionEntityMetadata, owning?.inverseJoinColumns ?? [], keys]
    : relation.isOwning
      ? [entityMetadata, entityMetadata.primaryColumns, keys]
      : [inverseEntityMetadata, keys, inverseEntityMetadata.primaryColumns]
  if (!toOwner[0] || !toRelated[0] || toOwner.length + toRelated.length > 2)
    throw new UnknownRelation(entityMetadata.targetName, relation.propertyName)
  return { table: table.tablePath, toOwner: toOwner[0], toRelated: toRelated[0] }
}

/** Returns the column that a key refers to; for a primary key, the column itself. */
export function targetOf(key: ColumnMetadata): ColumnMetadata {
  return key.referencedColumn ?? key
}

/** Returns the distinct values of a column in records. */
export function valuesOf(records: readonly object[], { propertyName }: ColumnMetadata): unknown[] {
  const values = records.map((record): unknown => Reflect.get(record, propertyName))
  return [...new Set(values.filter((value) => value !== undefined && value !== null))]
}

/** Returns a function that writes the column of an aliased table in SQL. */
export function columnWriter({ dataSource: { driver } }: EntityManager) {
  return (alias: string, { databaseName }: ColumnMetadata) =>
    `${driver.escape(alias)}.${driver.escape(databaseName)}`
}

/**
 * Writes the SQL `(SELECT ...)` for the keys of all related records that are in the scope of their model, and
 * returns it with its parameters; undefined if the model has neither a scope nor a trash.
 */
export function selectScopedKeys(
  work: RecordWork,
  metadata: EntityMetadata,
  { toRelated }: Join,
): { sql: string; parameters: ObjectLiteral } | undefined {
  const { target, deleteDateColumn } = metadata
  const where = scopeOf(work, metadata)
  if (!where && !deleteDateColumn) return undefined
  const query = work.tx
    .createQueryBuilder<ObjectLiteral>(target, 'scoped')
    .select(`scoped.${targetOf(toRelated).propertyPath}`)
    .setFindOptions({ ...(where && { where }), loadEagerRelations: false })
    .setOption('disable-global-order')
  return { sql: `(${query.getQuery()})`, parameters: query.getParameters() }
}

/** A property with the ids of related records, and how a join table stores them. */
export interface IdList extends Join {
  /** For example `label_ids`. */
  property: string
  /** For example the `labels` relation. */
  relation: RelationMetadata
}

/**
 * The lists of ids of a model: its properties with `@RelationIds`.
 *
 * @throws DeclarationError if a property belongs to another kind of relation
 */
export const idListsOf = memoizeByObject((metadata: EntityMetadata): IdList[] => {
  if (typeof metadata.target !== 'function') return []
  return relationIdsOf(metadata.target).map(({ name, relation: path }) => {
    const relation = metadata.findRelationWithPropertyPath(path)
    if (relation?.isManyToMany) return { ...joinOf(relation), property: name, relation }
    throw new DeclarationError(
      `@RelationIds('${path}') of ${metadata.targetName}.${name} needs a relation that is declared with @ManyToMany. ` +
        `Declare ${path} so, or remove ${name}.`,
    )
  })
})

/** Sets the properties with `@RelationIds` to the ids in their scope, with one query for each. */
export async function loadIdLists(
  work: RecordWork,
  metadata: EntityMetadata,
  records: readonly object[],
): Promise<void> {
  for (const list of idListsOf(metadata)) {
    const idsOf = await readIds(work, list, records)
    for (const record of records) setLoadedIds(record, list.property, idsOf(record))
  }
}

/** Reads the ids of the related records. Returns a function that returns those of one record. */
export async function readIds(
  work: RecordWork,
  list: IdList,
  records: readonly object[],
): Promise<(record: object) => string[]> {
  const { table, toOwner, toRelated, relation } = list
  const ownerKey = targetOf(toOwner)
  const keys = valuesOf(records, ownerKey)
  const column = columnWriter(work.tx)
  const [owner, related] = [column('joined', toOwner), column('joined', toRelated)]
  const rows = await inParts(keys, (part) => {
    const query = work.tx
      .createQueryBuilder()
      .select(owner, 'owner_id')
      .addSelect(related, 'related_id')
      .from(table, 'joined')
      .where(`${owner} IN (:...part)`, { part })
    const scope = selectScopedKeys(work, relation.inverseEntityMetadata, list)
    if (scope) query.andWhere(`${related} IN ${scope.sql}`, scope.parameters)
    return query.getRawMany<{ owner_id: unknown; related_id: unknown }>()
  })
  const byOwner = new Map<string, string[]>()
  for (const { owner_id, related_id } of rows) {
    const ids = byOwner.get(String(owner_id))
    if (ids) ids.push(String(related_id))
    else byOwner.set(String(owner_id), [String(related_id)])
  }
  return (record) => byOwner.get(String(ownerKey.getEntityValue(record))) ?? []
}
