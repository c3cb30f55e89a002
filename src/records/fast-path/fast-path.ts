import { QueryResult } from 'typeorm'
import type { EntityManager, EntityMetadata, EntitySubscriberInterface } from 'typeorm'
import { DriverUtils } from 'typeorm/driver/DriverUtils.js'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { BoundedMap, memoizeByObject } from '../../common/memoize.js'
import { versionIn } from '../../models/attributes/attributes.js'
import type { Model } from '../../models/model.js'
import { engineOf } from '../../database/engines/engines.js'
import { VersionConflict } from '../../errors.js'
import { inSavepoint, TransactionManager } from '../../database/transactions/transaction-manager.js'
import { lockClause } from '../locking.js'
import { hasOnlyColumns, hasPlainWrites, isPlain } from './plain-model.js'

/** A row of a TypeORM query, with its columns by their aliases. */
export type Row = Record<string, unknown>

/** Returns the fast path of a model; undefined if the model isn't plain (see `isPlain`), or a subscriber has `afterLoad`. */
export function fastPath(tx: EntityManager, metadata: EntityMetadata): FastPath | undefined {
  return hasListener(tx, ['afterLoad']) ? undefined : pathOf(metadata)
}

const pathOf = memoizeByObject((metadata: EntityMetadata) =>
  isPlain(metadata) ? new FastPath(metadata) : undefined,
)

/** A property of a record, the name of its column in rows, and the function that converts a value of the database. */
interface Property {
  alias: string
  property: string
  convert: (value: unknown) => unknown
}

/** A column, and the value to store. */
type Change = [ColumnMetadata, unknown]

/** The number of queries that are cached for a model. */
const maxQueries = 200

/**
 * Reads and writes the records of a plain model with cached statements, because building a query and hydrating its rows
 * costs more than running it. It follows the rules of TypeORM. Each method returns undefined or false if TypeORM has to
 * do the work.
 */
export class FastPath {
  private readonly canWrite: boolean
  private readonly table: string
  private readonly id: string
  private readonly columns: ColumnMetadata[]
  private readonly properties: Property[]
  private readonly queries = new BoundedMap<string>(maxQueries)
  private readonly insertSql: string
  private readonly deleteSql: string
  /** The column with the version of a row; undefined if the model has none. */
  private readonly version: string | undefined

  constructor(private readonly metadata: EntityMetadata) {
    const { driver } = metadata.dataSource
    this.canWrite = hasPlainWrites(metadata)
    const parts = metadata.tablePath.split('.')
    this.table = parts.map((part) => driver.escape(part)).join('.')
    this.id = driver.escape(metadata.primaryColumns[0]?.databaseName ?? 'id')
    this.columns = metadata.columns
    this.properties = metadata.columns
      .filter((column) => !column.isVirtual)
      .map((column) => ({
        alias: DriverUtils.buildAlias(driver, undefined, metadata.name, column.databaseName),
        property: column.propertyName,
        convert: readerOf(column),
      }))
    const names = this.columns.map((column) => driver.escape(column.databaseName)).join(', ')
    const placeholders = this.columns.map((_, index) => this.placeholder(index)).join(', ')
    this.insertSql = `INSERT INTO ${this.table} (${names}) VALUES (${placeholders})`
    this.version = metadata.versionColumn && driver.escape(metadata.versionColumn.databaseName)
    this.deleteSql = `DELETE FROM ${this.table} WHERE ${this.whereRow(0)}`
  }

  /** Finds the first record that meets a condition. With `lock`, its row is locked until the transaction ends. */
  find(tx: EntityManager, where: object, lock = false): Promise<object | undefined> | undefined {
    const sql = isSimple(where) ? this.queryFor(tx, Object.keys(where)) : undefined
    if (sql === undefined) return undefined
    const values: unknown[] = Object.values(where)
    const rows = lock ? run(tx, sql + lockClause(tx), values) : read(tx, sql, values)
    return rows.then(([row]) => row && this.toRecord(row))
  }

  /** Builds the query for the first record with values of some properties; undefined if a property isn't a simple column. */
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

  /**
   * Inserts a record, or updates those of its columns that differ from the database.
   *
   * @throws VersionConflict when the model has versions, and the row is missing or has another version than the record
   */
  async save(tx: EntityManager, record: Model, isNew: boolean): Promise<boolean> {
    if (!this.canWriteRecord(tx, record, SAVING)) return false
    if (!isNew) return this.update(tx, record)
    await this.insert(tx, record)
    return true
  }

  /**
   * Deletes a record.
   *
   * @throws VersionConflict when the row has another version than the record, or does not exist
   */
  async remove(tx: EntityManager, record: Model): Promise<boolean> {
    if (!this.canWriteRecord(tx, record, REMOVING) || record.id === undefined) return false
    const version = this.version && versionIn(record)
    if (this.version && version === undefined) return false
    await writeRow(tx, this.deleteSql, [record.id], version)
    return true
  }

  private canWriteRecord(tx: EntityManager, record: Model, events: Events): boolean {
    // Without a query runner, the number of changed rows is unknown.
    if (this.version && !tx.queryRunner) return false
    return this.canWrite && !hasListener(tx, events) && hasOnlyColumns(this.metadata, record)
  }

  private async insert(tx: EntityManager, record: Model): Promise<void> {
    const promise = protectedMethodsOf(record).setGeneratedColumns()
    if (promise) await promise
    const values = this.columns.map((column) =>
      column.isVersion ? 1 : (this.toStored(column, valueOf(record, column)) ?? null),
    )
    await write(tx, this.insertSql, values)
    this.fillWithNull(record)
    this.setVersion(record, 1)
  }

  /** Returns false if the row is missing, or has no version although its model has versions. Throws as `save` does. */
  private async update(tx: EntityManager, record: Model): Promise<boolean> {
    const current = await this.find(tx, { id: record.id })
    if (this.version && hasOtherVersion(record, current)) throw new VersionConflict()
    const version = this.version && versionIn(current)
    if (!current || (this.version && version === undefined)) return false
    if (this.findChanges(record, current).length === 0) return true

    const promise = protectedMethodsOf(record).stampUpdate()
    if (promise) await promise
    // `stampUpdate` has set `updated_at`, and may have set other columns.
    const changes = this.findChanges(record, current)
    const { driver } = this.metadata.dataSource
    const assignments = changes.map(
      ([{ databaseName }], index) => `${driver.escape(databaseName)} = ${this.placeholder(index)}`,
    )
    if (this.version) assignments.push(`${this.version} = ${this.version} + 1`)
    const sql = `UPDATE ${this.table} SET ${assignments.join(', ')} WHERE ${this.whereRow(changes.length)}`
    const values = [...changes.map(([, value]) => value), record.id]
    await writeRow(tx, sql, values, version)
    this.setVersion(record, Number(version) + 1)
    return true
  }

  /** Writes the condition on the row of a record: on its id, and on its version if the model has versions. */
  private whereRow(firstIndex: number): string {
    const condition = `${this.id} = ${this.placeholder(firstIndex)}`
    return this.version ? `${condition} AND ${this.version} = ${this.placeholder(firstIndex + 1)}` : condition
  }

  /** Sets the version of a written record, if its model has versions. */
  private setVersion(record: object, version: number): void {
    const { versionColumn } = this.metadata
    if (versionColumn) Reflect.set(record, versionColumn.propertyName, version)
  }

  /** Finds the columns whose values differ from the database, with the values to store. Ignores undefined properties. */
  private findChanges(record: object, current: object): Change[] {
    const changes: Change[] = []
    for (const column of this.columns) {
      const value = valueOf(record, column)
      const previous = valueOf(current, column)
      if (value === undefined || value === previous) continue
      const stored = this.toStored(column, value)
      // Text from the database is compared as it is: `toStored` could reject it, although the database already contains it.
      const previousStored = typeof previous === 'string' ? previous : this.toStored(column, previous)
      if (!isSame(stored, previousStored)) changes.push([column, stored])
    }
    return changes
  }

  /** Sets the missing nullable properties of a new record to null, as TypeORM does. */
  private fillWithNull(record: object): void {
    for (const column of this.columns)
      if (column.isNullable && valueOf(record, column) === undefined)
        Reflect.set(record, column.propertyName, null)
  }

  private toStored(column: ColumnMetadata, value: unknown): unknown {
    return this.metadata.dataSource.driver.preparePersistentValue(value, column)
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

function readerOf(column: ColumnMetadata): Property['convert'] {
  const { driver } = column.entityMetadata.dataSource
  const hydrate = (value: unknown): unknown => driver.prepareHydratedValue(value, column)
  return (column.transformer ? undefined : engineOf(driver).readerOf?.(column, hydrate)) ?? hydrate
}

/** Whether two values are stored as the same value. Drivers receive datetimes as text or as dates. */
function isSame(left: unknown, right: unknown): boolean {
  return left === right || (left instanceof Date && right instanceof Date && +left === +right)
}

type Events = readonly (keyof EntitySubscriberInterface)[]

const SAVING: Events = ['beforeInsert', 'afterInsert', 'beforeUpdate', 'afterUpdate']
const REMOVING: Events = ['beforeRemove', 'afterRemove']

/** Whether a subscriber of the application listens to one of these events, for any model. */
function hasListener({ dataSource: { subscribers } }: EntityManager, events: Events): boolean {
  // The first subscriber is the framework's own.
  if (subscribers.length <= 1) return false
  return subscribers.slice(1).some((subscriber) => events.some((event) => subscriber[event] !== undefined))
}

/** Whether the current row of a record is missing, or has another version than the record. */
function hasOtherVersion(record: object, current: object | undefined): boolean {
  const version = versionIn(record)
  return !current || (version !== undefined && version !== versionIn(current))
}

function valueOf(record: object, { propertyName }: ColumnMetadata): unknown {
  return Reflect.get(record, propertyName)
}

/** Runs a statement, on the request's query runner if it has one. */
export function run(tx: EntityManager, sql: string, values: unknown[]): Promise<Row[]> {
  return tx.queryRunner ? tx.queryRunner.query(sql, values) : tx.query(sql, values)
}

/** @throws VersionConflict when the model has versions, and no row has the id and this version */
async function writeRow(tx: EntityManager, sql: string, values: unknown[], version: unknown): Promise<void> {
  if (version === undefined) return void (await write(tx, sql, values))
  const result = await write(tx, sql, [...values, version])
  if (!(result instanceof QueryResult && result.affected === 1)) throw new VersionConflict()
}

/** Runs a query that only reads records, and locks nothing. Such a query does not need to begin the request's transaction. */
export function read(tx: EntityManager, sql: string, values: unknown[]): Promise<Row[]> {
  return tx instanceof TransactionManager ? (tx.read(sql, values) as Promise<Row[]>) : run(tx, sql, values)
}

/**
 * Runs a statement that the database may reject, in a savepoint if the engine would then reject all later statements. With a
 * query runner, it returns a `QueryResult` with the number of changed rows.
 */
function write(tx: EntityManager, sql: string, values: unknown[]): Promise<unknown> {
  if (tx instanceof TransactionManager && engineOf(tx.dataSource).failureAborts) return tx.write(sql, values)
  const execute = (manager: EntityManager): Promise<unknown> =>
    manager.queryRunner ? manager.queryRunner.query(sql, values, true) : manager.query(sql, values)
  return engineOf(tx.dataSource).failureAborts ? inSavepoint(tx, execute) : execute(tx)
}

/** The protected methods of `Model` that set ids and timestamps. Only methods that override them may return a promise. */
function protectedMethodsOf(record: Model) {
  return record as unknown as { setGeneratedColumns(): unknown; stampUpdate(): unknown }
}
