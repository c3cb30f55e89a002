import { IsNull, Not, type EntityManager, type EntityMetadata, type ObjectLiteral } from 'typeorm'
import type { FindOneOptions, SelectQueryBuilder } from 'typeorm'
import { FindOptionsUtils } from 'typeorm'
import { DeclarationError } from '../errors.js'
import type { Model } from '../models/model.js'
import { combineAlternatives } from './scope.js'

/** `@DeleteDateColumn` gives a model a trash: records with a date, which TypeORM's queries leave out. */

/** Whether a record is in the trash, as it was read. */
export function isTrashed({ deleteDateColumn }: EntityMetadata, record: object): boolean {
  return (deleteDateColumn?.getEntityValue(record) ?? undefined) !== undefined
}

/** @throws DeclarationError when a model has no trash */
export function requireTrash({ deleteDateColumn, targetName }: EntityMetadata, what: string): void {
  if (deleteDateColumn) return
  throw new DeclarationError(
    `${what} needs a trash, but ${targetName} has no property with @DeleteDateColumn(). Declare one, and add its column in a migration.`,
  )
}

/**
 * Selects the trashed records of a model that meet conditions. Relations are joined first, so that they leave
 * out trashed records.
 *
 * @throws DeclarationError when the model has no trash
 */
export function selectTrashed<T extends ObjectLiteral>(
  tx: EntityManager,
  metadata: EntityMetadata,
  where: object | undefined,
  options: FindOneOptions<T> = {},
): SelectQueryBuilder<T> {
  requireTrash(metadata, '`trashed: true`')
  const { target, name, deleteDateColumn } = metadata
  const query = tx.createQueryBuilder<T>(target, name)
  FindOptionsUtils.joinEagerRelations(query, name, metadata)
  const inTrash = { [deleteDateColumn?.propertyPath ?? '']: Not(IsNull()) }
  const conditions = combineAlternatives(where ?? {}, inTrash)
  return query.withDeleted().setFindOptions({ ...options, where: conditions, loadEagerRelations: false })
}

/** @throws DeclarationError when a record is not where a move begins */
export function requirePlace(metadata: EntityMetadata, record: Model, isInTrash: boolean): void {
  if (isTrashed(metadata, record) === isInTrash) return
  throw new DeclarationError(
    isInTrash
      ? `The ${metadata.targetName} is not in the trash, so it cannot be restored. Find it with \`trashed: true\`.`
      : `The ${metadata.targetName} is in the trash already. To delete it for good, use \`trash: false\`.`,
  )
}
