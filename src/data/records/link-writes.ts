import { In, type EntityManager, type EntityMetadata } from 'typeorm'
import { ValidationErrors } from '../../errors.js'
import { humanize } from '../../naming/words.js'
import { engineOf } from '../engines/engines.js'
import { isId } from '../ids.js'
import type { Model } from '../model.js'
import { assignedIds, linksOf, referencedBy, scopedKeys, setLoadedIds, type Links } from './links.js'
import { recordsOf } from './loaded-relations.js'
import { lockRow } from './locking.js'
import { isAsLoaded, loadedElements } from './record-state.js'
import type { RecordWork } from './work.js'

/** The new links of a record. */
export interface Assignment extends Links {
  ids: readonly unknown[]
}

/** The links of a record that were bound or assigned, and differ from those that it was read with. */
export function assignmentsOf(metadata: EntityMetadata, record: object): Assignment[] {
  return linksOf(metadata).flatMap((links) => {
    const ids = assignedIds(record, links.property)
    return ids ? [{ ...links, ids }] : []
  })
}

/** Whether a record is written with other links than it was read with. The order of the ids means nothing. */
export function changesLinks(
  metadata: EntityMetadata,
  record: object,
  assignments: readonly Assignment[],
): boolean {
  return (
    assignments.some(
      ({ property, ids }) => String(loadedElements(record, property)?.toSorted()) !== String(ids.toSorted()),
    ) ||
    metadata.manyToManyRelations.some(
      ({ isLazy, propertyName }) => !isLazy && Reflect.get(record, propertyName) !== undefined,
    )
  )
}

/** Returns an error for each property with ids of records that do not exist. */
export async function unknownIds(
  tx: EntityManager,
  assignments: readonly Assignment[],
): Promise<ValidationErrors | undefined> {
  if (assignments.length === 0) return undefined
  const errors = new ValidationErrors()
  for (const { property, relation, toRelated, ids } of assignments) {
    const { propertyName } = referencedBy(toRelated)
    const where = { [propertyName]: In(ids) }
    const isKnown =
      ids.every(isId) &&
      (ids.length === 0 || (await tx.countBy(relation.inverseEntityMetadata.target, where)) === ids.length)
    if (isKnown) continue
    const attribute = humanize(property)
    const message = `${attribute} contains a record that does not exist.`
    errors.add(property, 'references', message, { attribute })
  }
  return errors.isEmpty ? undefined : errors
}

/** Writes the new links of a saved record. Links to records outside of a scope stay, because the request does not know them. */
export async function writeLinks(
  work: RecordWork,
  record: Model,
  isNew: boolean,
  assignments: readonly Assignment[],
): Promise<void> {
  const { tx } = work
  const metadata = tx.dataSource.getMetadata(record.constructor)
  // Without the lock, two requests that write the links of a record at the same time could leave those of both.
  const isLocked = isNew || metadata.versionColumn || !engineOf(tx.dataSource).rowLock
  if (assignments.length > 0 && !isLocked) await lockRow(tx, metadata, record)
  for (const assignment of assignments) {
    const { table, toOwner, toRelated, ids } = assignment
    const owner: unknown = referencedBy(toOwner).getEntityValue(record)
    // A new record has no links. On MariaDB, deleting none of them would lock a gap in which others insert theirs.
    if (!isNew) await removeLinks(work, owner, assignment)
    if (ids.length === 0) continue
    await tx
      .createQueryBuilder()
      .insert()
      .into(table)
      .values(ids.map((id) => ({ [toOwner.propertyName]: owner, [toRelated.propertyName]: id })))
      .orIgnore()
      .updateEntity(false)
      .callListeners(false)
      .execute()
  }
}

async function removeLinks(work: RecordWork, owner: unknown, assignment: Assignment): Promise<void> {
  const { tx } = work
  const { table, toOwner, toRelated, relation, ids: kept } = assignment
  const { driver } = tx.dataSource
  const query = tx
    .createQueryBuilder()
    .delete()
    .from(table)
    .where(`${driver.escape(toOwner.databaseName)} = :owner`, { owner })
  const related = driver.escape(toRelated.databaseName)
  if (kept.length > 0) query.andWhere(`${related} NOT IN (:...kept)`, { kept })
  const scoped = scopedKeys(work, relation.inverseEntityMetadata, assignment)
  if (scoped) query.andWhere(`${related} IN ${scoped.sql}`, scoped.parameters)
  await query.execute()
}

/** Sets the properties of a saved record to its current links, and removes related records that are no longer linked. */
export function syncLinks(
  metadata: EntityMetadata,
  record: object,
  isNew: boolean,
  assignments: readonly Assignment[],
): void {
  for (const { property, relation, toRelated } of linksOf(metadata)) {
    const assigned = assignments.find((one) => one.property === property)?.ids.map(String)
    const value: unknown = Reflect.get(record, relation.propertyName)
    const key = referencedBy(toRelated)
    const related =
      value === undefined ? undefined : recordsOf(value).map((one) => String(key.getEntityValue(one)))
    const written = related && !isAsLoaded(record, relation.propertyName) ? related : undefined
    const ids = assigned ?? written ?? (isNew ? [] : undefined)
    if (!ids) continue
    setLoadedIds(record, property, ids)
    const isCurrent = String(related?.toSorted()) === String(ids.toSorted())
    if (related && !isCurrent) Reflect.deleteProperty(record, relation.propertyName)
  }
}
