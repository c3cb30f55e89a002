import type { EntityManager, EntityMetadata, FindOptionsWhere, ObjectLiteral } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'

/** Conditions that records must meet: those of one object, or of one of several. */
export type Conditions = FindOptionsWhere<ObjectLiteral> | FindOptionsWhere<ObjectLiteral>[]

/** Returns the conditions that the records of a model must meet in a request; undefined if there are none. */
export type ScopeFor = (model: Function | string) => Conditions | undefined

/** All records of all models. */
export const unscoped: ScopeFor = () => undefined

/** A list of ids in SQL, with its parameters. */
export interface ScopedIds {
  /** `(SELECT ...)` */
  sql: string
  parameters: ObjectLiteral
}

/** The values of a column, such as the id, of all records that meet a scope. */
export function scopedIds(
  tx: EntityManager,
  { target }: EntityMetadata,
  { propertyPath }: ColumnMetadata,
  scope: Conditions,
): ScopedIds {
  const query = tx
    .createQueryBuilder<ObjectLiteral>(target, 'scoped')
    .select(`scoped.${propertyPath}`)
    .setFindOptions({ where: scope, loadEagerRelations: false })
    .setOption('disable-global-order')
  return { sql: `(${query.getQuery()})`, parameters: query.getParameters() }
}
