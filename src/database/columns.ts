import type { QueryRunner, TableColumnOptions } from 'typeorm'
import type { ColumnDetails } from './engines/engine.js'
import { engineOf } from './engines/engines.js'
import { columnTypes, KINDS, type AttributeKind } from '../models/attributes/kinds.js'

/**
 * Returns a column for a migration, with the engine's type for the kind. It is not null unless `isNullable`
 * is set.
 *
 * @example column(runner, 'description', 'text', { isNullable: true })
 */
export function column(
  runner: QueryRunner,
  name: string,
  kind: AttributeKind,
  details: ColumnDetails = {},
): TableColumnOptions {
  return { name, type: typeOf(runner, kind), ...detailsOf(runner, kind), ...details }
}

/** The `id` column of a model. */
export function primaryKey(runner: QueryRunner): TableColumnOptions {
  return column(runner, 'id', 'uuid', { isPrimary: true })
}

/** The columns `created_at` and `updated_at` of a model. */
export function timestamps(runner: QueryRunner): TableColumnOptions[] {
  const { driver } = runner.dataSource
  const { createDateDefault, updateDateDefault } = driver.mappedDataTypes
  const details = engineOf(driver).columnDetails?.(driver, 'updated_at')
  return [
    column(runner, 'created_at', 'datetime', { default: createDateDefault }),
    column(runner, 'updated_at', 'datetime', { default: updateDateDefault, ...details }),
  ]
}

function typeOf(runner: QueryRunner, kind: AttributeKind): string {
  return runner.dataSource.driver.normalizeType({ type: columnTypes[kind] })
}

function detailsOf(runner: QueryRunner, kind: AttributeKind): ColumnDetails {
  const { driver } = runner.dataSource
  // All datetimes have the precision of `created_at`.
  const precision = driver.mappedDataTypes.createDatePrecision
  if (kind === 'datetime' && precision !== undefined) return { precision }
  return KINDS[kind].details ?? engineOf(driver).columnDetails?.(driver, kind) ?? {}
}
