import { isDeepStrictEqual } from 'node:util'
import type { EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { engineOf, kindOf, rowsOf, type StoredRow } from '../extension.js'
import type { Model } from '../index.js'
import { recordedOf } from './declaration.js'
import type { AttributeChange } from './entry.js'

/** The sorted ids of the links of a record, by their properties. */
export type LinkedIds = ReadonlyMap<string, readonly string[]>

/** A record as it is recorded. */
export interface State {
  row?: StoredRow | undefined
  links: LinkedIds
}

/** The most characters of a text, or of JSON, that are recorded. */
const maxLength = 10_000

/** The changes from a state to another one, in the order of the model. A new record has no state before, a deleted one none after. */
export function changesBetween(metadata: EntityMetadata, before?: State, after?: State): AttributeChange[] {
  return recordedOf(metadata).flatMap(({ name: attribute, column, links, isMasked }) => {
    const valueIn = (state: State | undefined): unknown => {
      if (column) return state?.row ? shownValue(metadata, column, state.row) : null
      return state?.links.get(links.property)
    }
    const [from, to] = [before && valueIn(before), after && valueIn(after)]
    if (!isChanged(from, to, before === undefined || after === undefined)) return []
    if (isMasked) return { attribute, from: null, to: null, masked: true }
    return { attribute, from: shorten(from), to: shorten(to), masked: false }
  })
}

/** @param isWhole whether all values are recorded, because the record is new or deleted */
function isChanged(from: unknown, to: unknown, isWhole: boolean): boolean {
  // Links that were not written have not been read.
  if (!isWhole) return from !== undefined && to !== undefined && JSON.stringify(from) !== JSON.stringify(to)
  const value = from ?? to ?? null
  return value !== null && !(Array.isArray(value) && value.length === 0)
}

/** The value of a column as in JSON, or, if it has a transformer, as it is stored. */
function shownValue(metadata: EntityMetadata, column: ColumnMetadata, { values, raw }: StoredRow): unknown {
  const row = rowsOf(metadata).rowOf(column.transformer ? raw : values)
  const value = row[column.databaseName] ?? null
  if (kindOf(column.type) === 'decimal' && !column.transformer) return withZeros(value, column.scale)
  return value instanceof Date ? value.toJSON() : value
}

/** A decimal with all digits of its column: 1.5 is stored as 1.50. */
function withZeros(value: unknown, scale = 0): unknown {
  if (typeof value !== 'string') return value
  const [whole = '', digits = ''] = value.split('.')
  return digits.length < scale ? `${whole}.${digits.padEnd(scale, '0')}` : value
}

function shorten(value: unknown): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null)
  if (text.length <= maxLength || Array.isArray(value)) return value ?? null
  const characters = Array.from(text.slice(0, 2 * maxLength))
  return characters.length > maxLength ? `${characters.slice(0, maxLength).join('')}…` : value
}

/**
 * The row of a record that was just written, from its properties; undefined if the database may have stored another value than a
 * property has, for example a rounded one.
 */
export function rowOfRecord(
  metadata: EntityMetadata,
  record: Model,
  before: StoredRow | undefined,
): StoredRow | undefined {
  const rows = rowsOf(metadata)
  const given = rows.valuesOf(record)
  // A property that is undefined was not written.
  const values = given.map((value, index) => value ?? (value === null ? null : before?.values[index]))
  const row = rows.rowOf(values)
  const old = before && rows.rowOf(before.values)
  const isKnown = recordedOf(metadata).every(
    ({ column }) =>
      !column ||
      (old && isDeepStrictEqual(old[column.databaseName], row[column.databaseName])) ||
      storesExactly(column, row[column.databaseName]),
  )
  return isKnown ? { values, raw: before?.raw ?? values } : undefined
}

/** Whether a column stores exactly a value, in the form in which it is read again. */
function storesExactly(column: ColumnMetadata, value: unknown): boolean {
  if (value === undefined || value === null) return true
  if (column.transformer || column.isArray) return false
  const kind = kindOf(column.type)
  if (kind === 'int') return typeof value === 'number'
  if (kind === 'bool') return typeof value === 'boolean'
  if (kind === 'datetime') {
    // Without a precision, MariaDB stores no fraction of a second.
    const isExact = engineOf(column.entityMetadata.dataSource).name !== 'mariadb' || column.precision === 6
    return value instanceof Date && isExact
  }
  if (typeof value !== 'string') return false
  if (kind === 'uuid') return value === value.toLowerCase()
  if (kind === 'decimal') {
    const number = /^(?!-[0.]+$)-?(?:0|[1-9]\d*)(?:\.(?<digits>\d+))?$/.exec(value)
    return number !== null && (number.groups?.['digits'] ?? '').length <= (column.scale ?? -1)
  }
  if (kind === 'bigint') return /^(?:0|-?[1-9]\d*)$/.test(value)
  return kind === 'text' || kind === 'date' || (kind === 'string' && isVarying(column)) || kind === 'enum'
}

/** Whether the database pads or cuts no text of a column. */
function isVarying({ type }: ColumnMetadata): boolean {
  return type === String || /^(n?varchar|character varying)$/.test(String(type))
}
