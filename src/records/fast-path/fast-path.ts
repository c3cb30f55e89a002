import type { EntityManager, EntityMetadata } from 'typeorm'
import { DriverUtils } from 'typeorm/driver/DriverUtils.js'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { BoundedMap, memoizeByObject } from '../../common/memoize.js'
import { engineOf } from '../../database/engines/engines.js'
import { TransactionManager } from '../../database/transactions/transaction-manager.js'
import { otherSubscribers } from '../../models/model-subscriber.js'
import { lockClause } from '../locking.js'
import { isPlain } from './plain-model.js'

/** A row of a TypeORM query, with its columns by their aliases. */
export type Row = Record<string, unknown>

/** Returns the fast path of a model; undefined if it isn't plain, or a subscriber has `afterLoad`. */
export function fastPath(tx: EntityManager, metadata: EntityMetadata): FastPath | undefined {
  return hasLoadSubscriber(tx) ? undefined : pathOf(metadata)
}

const pathOf = memoizeByObject((metadata: EntityMetadata) =>
  isPlain(metadata) ? new FastPath(metadata) : undefined,
)

/** A property of a record, the name of its column in rows, and what converts its values. */
interface Property {
  alias: string
  property: string
  convert: (value: unknown) => unknown
}

/** The number of queries that are cached for a model. */
const maxQueries = 200

/**
 * Reads the records of a plain model with cached statements, because building a query and hydrating its rows
 * costs more than running it. It follows the rules of TypeORM. `find` returns undefined if TypeORM has to
 * find the record.
 */
export class FastPath {
  private readonly properties: Property[]
  private readonly queries = new BoundedMap<string>(maxQueries)

  constructor(private readonly metadata: EntityMetadata) {
    const { driver } = metadata.dataSource
    this.properties = metadata.columns
      .filter((column) => !column.isVirtual)
      .map((column) => ({
        alias: DriverUtils.buildAlias(driver, undefined, metadata.name, column.databaseName),
        property: column.propertyName,
        convert: readerOf(column),
      }))
  }

  /** Finds the first record that meets a condition. With `lock`, its row is locked until the end. */
  find(tx: EntityManager, where: object, lock = false): Promise<object | undefined> | undefined {
    const sql = isSimple(where) ? this.queryFor(tx, Object.keys(where)) : undefined
    if (sql === undefined) return undefined
    const values: unknown[] = Object.values(where)
    const rows = lock ? run(tx, sql + lockClause(tx), values) : read(tx, sql, values)
    return rows.then(([row]) => row && this.toRecord(row))
  }

  /** Builds the query for the first record with some values; undefined if a property isn't a column. */
  private queryFor(tx: EntityManager, names: string[]): string | undefined {
    const key = names.join()
    const cached = this.queries.get(key)
    if (cached !== undefined) return cached
    const { metadata } = this
    const columns = names.map((name) => metadata.findColumnWithPropertyPathStrict(name))
    if (columns.some((column) => !column || column.transformer || column.embeddedMetadata)) return undefined
    const conditions = names.map((name, index) => `${metadata.name}.${name} = ${this.placeholder(index)}`)
    const builder = tx.createQueryBuilder(metadata.target, metadata.name).where(conditions.join(' AND '))
    const sql = `${builder.getQuery()} LIMIT 1`
    this.queries.set(key, sql)
    return sql
  }

  /** Creates a record from a row, as TypeORM would. Columns that were not selected are not set. */
  toRecord(row: Row): object {
    const record: Row = this.metadata.create(undefined, { fromDeserializer: true })
    for (const { alias, property, convert } of this.properties) {
      const value = row[alias]
      if (value !== undefined) record[property] = convert(value)
    }
    return record
  }

  /** Returns the placeholder of a parameter, whose index starts at 0. */
  private placeholder(index: number): string {
    return this.metadata.dataSource.driver.createParameter('', index)
  }
}

/** Whether each column of a condition is compared with a single string or number. */
function isSimple(where: object): boolean {
  if (Array.isArray(where)) return false
  for (const value of Object.values(where))
    if (typeof value !== 'string' && typeof value !== 'number') return false
  return true
}

/** Returns the function that converts the values of a column. */
export function readerOf(column: ColumnMetadata): Property['convert'] {
  const { driver } = column.entityMetadata.dataSource
  const hydrate = (value: unknown): unknown => driver.prepareHydratedValue(value, column)
  return (column.transformer ? undefined : engineOf(driver).readerOf?.(column, hydrate)) ?? hydrate
}

/** Whether a subscriber of the application listens to the reading of records, of any model. */
function hasLoadSubscriber({ dataSource }: EntityManager): boolean {
  return otherSubscribers(dataSource).some(({ afterLoad }) => afterLoad !== undefined)
}

/** Runs a statement, on the request's query runner if it has one. */
export function run(tx: EntityManager, sql: string, values: unknown[]): Promise<Row[]> {
  return tx.queryRunner ? tx.queryRunner.query(sql, values) : tx.query(sql, values)
}

/** Runs a query that only reads, and locks nothing. It need not begin the request's transaction. */
export function read(tx: EntityManager, sql: string, values: unknown[]): Promise<Row[]> {
  return tx instanceof TransactionManager ? (tx.read(sql, values) as Promise<Row[]>) : run(tx, sql, values)
}

/** Runs a query of the framework that locks the rows that it reads. */
export function readLocked(tx: EntityManager, sql: string, values: unknown[]): Promise<Row[]> {
  return tx instanceof TransactionManager
    ? (tx.readLocked(sql, values) as Promise<Row[]>)
    : run(tx, sql, values)
}
