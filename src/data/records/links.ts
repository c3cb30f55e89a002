import type { EntityManager, EntityMetadata } from 'typeorm'
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js'
import { DeclarationError } from '../../errors.js'
import { memoizeByObject } from '../../common/memoize.js'
import { relationIdsOf } from '../attributes/attributes.js'
import { linkOf, referencedBy, valuesOf, type Link } from './link.js'
import { isAsLoaded, markLoaded } from './loaded-values.js'
import { scopedIds, unscoped, type ScopeFor } from './scoped-ids.js'

/** The links of a many-to-many relation, and the property with the ids of the related records. */
export interface Links extends Link {
  /** `label_ids` */
  property: string
  /** `labels` */
  relation: RelationMetadata
}

/**
 * The links that the properties of a model with `@RelationIds` contain.
 *
 * @throws DeclarationError if a property belongs to another kind of relation
 */
export const linksOf = memoizeByObject((metadata: EntityMetadata): Links[] => {
  if (typeof metadata.target !== 'function') return []
  return relationIdsOf(metadata.target).map(({ name, relation: path }) => {
    const relation = metadata.findRelationWithPropertyPath(path)
    if (relation?.isManyToMany) return { ...linkOf(relation), property: name, relation }
    throw new DeclarationError(
      `@RelationIds('${path}') of ${metadata.targetName}.${name} needs a relation that is declared with @ManyToMany. ` +
        `Declare ${path} so, or remove ${name}.`,
    )
  })
})

/** Sets the properties with the ids of related records in their scope, with one query for each relation. */
export async function loadLinks(
  tx: EntityManager,
  metadata: EntityMetadata,
  records: readonly object[],
  scopeFor: ScopeFor = unscoped,
): Promise<void> {
  for (const links of linksOf(metadata)) {
    const idsOf = await readIds(tx, links, records, scopeFor)
    for (const record of records) setLoadedIds(record, links.property, idsOf(record))
  }
}

/** Returns a function that returns the ids of a record. */
async function readIds(
  tx: EntityManager,
  { table, toOwner, toRelated, relation }: Links,
  records: readonly object[],
  scopeFor: ScopeFor,
): Promise<(record: object) => string[]> {
  const owned = referencedBy(toOwner)
  const keys = valuesOf(records, owned)
  if (keys.length === 0) return () => []
  const { driver } = tx.dataSource
  const [owner, related] = [toOwner, toRelated].map(
    ({ databaseName }) => `${driver.escape('link')}.${driver.escape(databaseName)}`,
  )
  const query = tx
    .createQueryBuilder()
    .select(`${owner}`, 'owner_id')
    .addSelect(`${related}`, 'related_id')
    .from(table, 'link')
    .where(`${owner} IN (:...keys)`, { keys })
  const scope = scopeFor(relation.inverseEntityMetadata.target)
  if (scope) {
    const { sql, parameters } = scopedIds(tx, relation.inverseEntityMetadata, referencedBy(toRelated), scope)
    query.andWhere(`${related} IN ${sql}`, parameters)
  }
  const rows = await query.getRawMany<{ owner_id: unknown; related_id: unknown }>()
  const byOwner = new Map<string, string[]>()
  for (const { owner_id, related_id } of rows) {
    const ids = byOwner.get(String(owner_id)) ?? []
    byOwner.set(String(owner_id), ids)
    ids.push(String(related_id))
  }
  return (record) => byOwner.get(String(owned.getEntityValue(record))) ?? []
}

/** Sets a property to ids that the database contains. Saving the record does not write them. */
export function setLoadedIds(record: object, property: string, ids: readonly string[]): void {
  // The order of the links in the database differs between engines.
  Reflect.set(record, property, ids.toSorted())
  markLoaded(record, property)
}

/** The new value of a property with ids; undefined if it has neither been bound nor assigned nor changed. */
export function assignedIds(record: object, property: string): unknown[] | undefined {
  const value: unknown = Reflect.get(record, property)
  return value === undefined || isAsLoaded(record, property) ? undefined : [...new Set([value].flat())]
}
