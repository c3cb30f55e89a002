import type { ColumnType, QueryRunner, TableColumnOptions } from 'typeorm'
import type { AttributeKind } from './attributes.js'
import { engineOf } from './engines/engines.js'

/** What a column may be, beyond its name and kind. */
export type ColumnDetails = Omit<Partial<TableColumnOptions>, 'name' | 'type'>

/** The column type of a kind, understood by every engine, as `@Column` takes it and as migrations use it. */
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
 * A column of a migration, of the type that the engine has for its kind. It is not null unless `isNullable` says so.
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

/** The type of a UUID column, for a foreign key: `uuid` where the engine has it. */
export function uuidType(runner: QueryRunner): string {
  return typeOf(runner, 'uuid')
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
