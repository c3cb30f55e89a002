import { In, type EntityManager, type EntityMetadata, type ObjectLiteral } from 'typeorm'
import { ValidationErrors } from '../errors.js'
import { permitQuery } from '../database/queries/statement-guards.js'
import { humanize } from '../naming/words.js'
import { isId } from '../models/ids.js'
import type { Model } from '../models/model.js'
import { columnWriter, idListsOf, readIds, selectScopedKeys, targetOf, type IdList } from './joins.js'
import { exceedsPart, inParts, sum } from './parts.js'
import { assignedIds, isUnchanged, loadedElements, recordsOf, setLoadedIds } from '../models/record-state.js'
import type { RecordWrite } from './participants.js'
import type { RecordWork } from './work.js'

/** A list of ids with a new value. */
export interface Assignment extends IdList {
  ids: readonly unknown[]
}

/** The lists of ids of a record that were bound or assigned, and differ from those that it was read with. */
export function assignmentsOf(metadata: EntityMetadata, record: object): Assignment[] {
  return idListsOf(metadata).flatMap((list) => {
    const ids = assignedIds(record, list.property)
    return ids ? [{ ...list, ids }] : []
  })
}

/**
 * Leaves out the ids of trashed records that the join table has already: a form that was opened before may
 * send them again, and their rows stay.
 */
export async function leaveTrashedIds({ work: { tx }, metadata, record }: RecordWrite): Promise<void> {
  for (const { property, relation, table, toOwner, toRelated } of idListsOf(metadata)) {
    const { target, deleteDateColumn: date } = relation.inverseEntityMetadata
    const loaded = loadedElements(record, property) ?? []
    const ids = date ? (assignedIds(record, property) ?? []) : []
    const added = ids.filter((id) => isId(id) && !loaded.includes(id))
    if (!date || added.length === 0) continue
    const [key, column] = [targetOf(toRelated), columnWriter(tx)]
    const trashed = await inParts(added, (part) =>
      tx
        .createQueryBuilder<ObjectLiteral>(target, 'related')
        .select(column('related', key), 'id')
        .innerJoin(table, 'joined', `${column('joined', toRelated)} = ${column('related', key)}`)
        .where(`${column('joined', toOwner)} = :owner`, { owner: targetOf(toOwner).getEntityValue(record) })
        .andWhere(`${column('related', key)} IN (:...part)`, { part })
        .andWhere(`${column('related', date)} IS NOT NULL`)
        .withDeleted()
        .getRawMany<{ id: unknown }>(),
    )
    const left = new Set(trashed.map(({ id }) => String(id)))
    if (left.size > 0) Object.assign(record, { [property]: ids.filter((id) => !left.has(String(id))) })
  }
}

/** Whether a record is written with other lists of ids than it was read with. Their order does not matter. */
export function changesJoins(record: object, assignments: readonly Assignment[]): boolean {
  return assignments.some(
    ({ property, ids }) => String(loadedElements(record, property)?.toSorted()) !== String(ids.toSorted()),
  )
}

/** Checks that the records of new ids exist. Returns an error for each property with missing records. */
export async function checkIds(
  tx: EntityManager,
  assignments: readonly Assignment[],
): Promise<ValidationErrors | undefined> {
  if (assignments.length === 0) return undefined
  const errors = new ValidationErrors()
  for (const { property, relation, toRelated, ids } of assignments) {
    const { propertyName } = targetOf(toRelated)
    const count = async (part: readonly unknown[]): Promise<number[]> => [
      await tx.countBy(relation.inverseEntityMetadata.target, { [propertyName]: In(part) }),
    ]
    if (ids.every(isId) && sum(await inParts(ids, count)) === ids.length) continue
    const attribute = humanize(property)
    const message = `${attribute} contains a record that does not exist.`
    errors.add(property, 'references', message, { attribute })
  }
  return errors.isEmpty ? undefined : errors
}

/** Writes the new ids of a saved record. Those outside of the scope stay, which it cannot see. */
export async function writeJoins(
  work: RecordWork,
  record: Model,
  isNew: boolean,
  assignments: readonly Assignment[],
): Promise<void> {
  const { tx } = work
  for (const assignment of assignments) {
    const { table, toOwner, toRelated, ids } = assignment
    const owner: unknown = targetOf(toOwner).getEntityValue(record)
    // A new record has nothing to remove. On MariaDB, a DELETE without rows would lock a gap in which others
    // insert.
    if (!isNew) await removeJoins(work, record, assignment)
    await inParts(ids, async (part) => {
      const query = tx
        .createQueryBuilder()
        .insert()
        .into(table)
        .values(part.map((id) => ({ [toOwner.propertyName]: owner, [toRelated.propertyName]: id })))
        // Some of the rows may exist: `removeJoins` keeps those with these ids.
        .orIgnore()
        .updateEntity(false)
        .callListeners(false)
      await permitQuery(query).execute()
      return []
    })
  }
}

/** Removes the ids of records in the scope from the join table, except those that are assigned. */
async function removeJoins(work: RecordWork, record: Model, assignment: Assignment): Promise<void> {
  const { relation, toRelated, ids } = assignment
  const related = work.tx.dataSource.driver.escape(toRelated.databaseName)
  if (exceedsPart(ids)) return removeOthers(work, record, assignment)
  const query = deleteJoins(work, record, assignment)
  if (ids.length > 0) query.andWhere(`${related} NOT IN (:...ids)`, { ids })
  const scope = selectScopedKeys(work, relation.inverseEntityMetadata, assignment)
  if (scope) query.andWhere(`${related} IN ${scope.sql}`, scope.parameters)
  await query.execute()
}

/** Reads the ids first, because no statement can contain all ids that stay. */
async function removeOthers(work: RecordWork, record: Model, assignment: Assignment): Promise<void> {
  const kept = new Set(assignment.ids.map(String))
  const joinedIds = await readIds(work, assignment, [record])
  const removed = joinedIds(record).filter((id) => !kept.has(id))
  const related = work.tx.dataSource.driver.escape(assignment.toRelated.databaseName)
  await inParts(removed, async (part) => {
    await deleteJoins(work, record, assignment).andWhere(`${related} IN (:...part)`, { part }).execute()
    return []
  })
}

function deleteJoins({ tx }: RecordWork, record: Model, { table, toOwner }: Assignment) {
  const owner: unknown = targetOf(toOwner).getEntityValue(record)
  const column = tx.dataSource.driver.escape(toOwner.databaseName)
  return permitQuery(tx.createQueryBuilder().delete().from(table).where(`${column} = :owner`, { owner }))
}

/**
 * Sets the properties of a saved record to its current ids. Deletes the property of a relation that contains
 * other records.
 */
export function syncIdLists(
  { metadata, record, action }: RecordWrite,
  assignments: readonly Assignment[],
): void {
  for (const { property, relation, toRelated } of idListsOf(metadata)) {
    const newIds = assignments.find((assignment) => assignment.property === property)?.ids.map(String)
    const related: unknown = Reflect.get(record, relation.propertyName)
    const key = targetOf(toRelated)
    const relatedIds =
      related === undefined
        ? undefined
        : recordsOf(related).map((element) => String(key.getEntityValue(element)))
    const writtenIds = relatedIds && !isUnchanged(record, relation.propertyName) ? relatedIds : undefined
    // The assigned ids are written after TypeORM has written an assigned relation, so they count.
    const ids = newIds ?? writtenIds ?? (action === 'create' ? [] : undefined)
    if (!ids) continue
    setLoadedIds(record, property, ids)
    const isCurrent = String(relatedIds?.toSorted()) === String(ids.toSorted())
    if (relatedIds && !isCurrent) Reflect.deleteProperty(record, relation.propertyName)
  }
}
