import type { EntityMetadata } from 'typeorm'
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js'
import { memoizeByObject } from '../common/memoize.js'
import { NotOneRow, VersionNotLoaded } from '../errors.js'
import { recordsOf } from '../models/record-state.js'
import { writesRelation, type RecordWrite } from './participants.js'

/**
 * Requires a record that can be written as one row.
 *
 * @throws NotOneRow when TypeORM would write more than one row of each record of the model
 * @throws VersionNotLoaded when a saved record lacks the version that its model has
 */
export function requireOneRow({ metadata, record, action }: RecordWrite): void {
  const reason = reasonOf(metadata)
  if (reason !== undefined) throw new NotOneRow(reason)
  const { versionColumn, targetName } = metadata
  if (action !== 'create' && versionColumn && versionColumn.getEntityValue(record) === undefined)
    throw new VersionNotLoaded(targetName, versionColumn.propertyName)
}

const reasonOf = memoizeByObject(({ relations, targetName, treeType }: EntityMetadata) => {
  if (treeType) return `${targetName} is a tree`
  const cascading = relations.find(
    ({ isCascadeInsert, isCascadeUpdate, isCascadeRemove }) =>
      isCascadeInsert || isCascadeUpdate || isCascadeRemove,
  )
  return cascading && `${targetName}.${cascading.propertyName} has \`cascade\``
})

/**
 * Throws NotOneRow when one of the relations that were assigned has records that belong to other rows: of a
 * list, or that do not exist yet.
 */
export function rejectAssigned(
  { metadata, record, action }: RecordWrite,
  assigned: readonly RelationMetadata[],
): void {
  for (const relation of assigned) {
    const { propertyName, isManyToOne, isOneToOneOwner, joinColumns } = relation
    if (!relation.persistenceEnabled || writesRelation(relation)) continue
    const related = recordsOf(Reflect.get(record, propertyName))
    const isReference = isManyToOne || isOneToOneOwner
    const isUnsaved = related.some((other) =>
      joinColumns.some(({ referencedColumn }) => referencedColumn?.getEntityValue(other) === undefined),
    )
    const name = `${metadata.targetName}.${propertyName}`
    if (isReference && isUnsaved) throw new NotOneRow(`${name} contains a record that is not saved yet`)
    // A new record has nothing that an empty list could remove.
    if (!isReference && !(action === 'create' && related.length === 0))
      throw new NotOneRow(`${name} was changed, whose records are other rows`)
  }
}
