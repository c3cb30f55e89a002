import type { EntityMetadata } from 'typeorm'
import { memoizeByObject } from '../common/memoize.js'
import { NotOneRow } from '../errors.js'
import { isUnchanged } from '../models/record-state.js'
import { recordsOf } from './loaded-relations.js'
import { writesRelation } from './participants.js'

/** Throws NotOneRow when TypeORM would write more than one row of each record of a model. */
export function rejectMoreRows(metadata: EntityMetadata): void {
  const reason = reasonOf(metadata)
  if (reason !== undefined) throw new NotOneRow(reason)
}

const reasonOf = memoizeByObject(({ relations, targetName, treeType }: EntityMetadata) => {
  if (treeType) return `${targetName} is a tree`
  const cascading = relations.find(
    ({ isCascadeInsert, isCascadeUpdate, isCascadeRemove }) =>
      isCascadeInsert || isCascadeUpdate || isCascadeRemove,
  )
  return cascading && `${targetName}.${cascading.propertyName} has \`cascade\``
})

/** Throws NotOneRow when a relation was assigned records that belong to other rows: of a list, or that do not exist yet. */
export function rejectAssigned(metadata: EntityMetadata, record: object, isNew: boolean): void {
  for (const relation of metadata.relations) {
    const { propertyName, isManyToOne, isOneToOneOwner, joinColumns } = relation
    const value: unknown = Reflect.get(record, propertyName)
    if (value === undefined || !relation.persistenceEnabled || isUnchanged(record, propertyName)) continue
    if (writesRelation(relation)) continue
    const related = recordsOf(value)
    const isReference = isManyToOne || isOneToOneOwner
    const isUnsaved = related.some((other) =>
      joinColumns.some(({ referencedColumn }) => referencedColumn?.getEntityValue(other) === undefined),
    )
    const name = `${metadata.targetName}.${propertyName}`
    if (isReference && isUnsaved) throw new NotOneRow(`${name} contains a record that is not saved yet`)
    // A new record has nothing that an empty list could remove.
    if (!isReference && !(isNew && related.length === 0))
      throw new NotOneRow(`${name} was changed, whose records are other rows`)
  }
}
