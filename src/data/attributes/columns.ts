import type { ColumnType, QueryRunner, TableColumnOptions } from 'typeorm'
import type { AttributeKind } from './attributes.js'
import { engineOf } from '../engines/engines.js'

/** The options of a column besides its name and kind. */
export type ColumnDetails = Omit<Partial<TableColumnOptions>, 'name' | 'type'>

/** The column type of each kind, for `@Column` and for migrations. All engines support these types. */
export const columnTypes = {
  string: 'varchar',
  text: 'text',
  int: 'int',
  bigint: 'bigint',
  float: 'double precision',
  decimal: 'decimal',
  bool: 'boolean',
  date: 'date',
  time: 'time',
  datetime: Date,
  uuid: 'uuid',
  json: 'json',
  enum: 'simple-enum',
} satisfies Record<AttributeKind, ColumnType>

/**
 * Returns a column for a migration, with the engine's type for the kind. It is not null unless `isNullable` is set.
 *
 * @example column(runner, 'description', 'text', { isNullable: true })
 */
export function column(
  runner: QueryRunner,
  name: string,
  kind: AttributeKind,
  details: ColumnDetails = {},
): TableColumnOptions {
  return { name, type: typeOf(runner, kind), ...defaultsOf(runner, kind), ...details }
}

/** The `id` column of a model. */
export function primaryKey(runner: QueryRunner): TableColumnOptions {
  return column(runner, 'id', 'uuid', { isPrimary: true })
}

/** The columns `created_at` and `updated_at` of a model. */
export function timestamps(runner: QueryRunner): TableColumnOptions[] {
  const { driver } = runner.dataSource
  const { createDateDefault, updateDateDefault } = driver.mappedDataTypes
  const details = engineOf(driver).updatedAtDetails?.(driver)
  return [
    column(runner, 'created_at', 'datetime', { default: createDateDefault }),
    column(runner, 'updated_at', 'datetime', { default: updateDateDefault, ...details }),
  ]
}

function typeOf(runner: QueryRunner, kind: AttributeKind): string {
  return runner.dataSource.driver.normalizeType({ type: columnTypes[kind] })
}

function defaultsOf(runner: QueryRunner, kind: AttributeKind): ColumnDetails {
  const { driver } = runner.dataSource
  const precision = driver.mappedDataTypes.createDatePrecision
  if (kind === 'datetime' && precision !== undefined) return { precision }
  if (kind === 'decimal') return { precision: 10, scale: 2 }
  return engineOf(driver).columnDetails?.(driver, kind) ?? {}
}
