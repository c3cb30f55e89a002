import { QueryResult } from 'typeorm'
import type { EntityManager, EntityMetadata, EntitySubscriberInterface } from 'typeorm'
import { DriverUtils } from 'typeorm/driver/DriverUtils.js'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { BoundedMap, memoizeByObject } from '../../../common/memoize.js'
import { versionIn } from '../../attributes/attributes.js'
import type { Model } from '../../model.js'
import { engineOf } from '../../engines/engines.js'
import { VersionConflict } from '../../../errors.js'
import { inSavepoint, TransactionManager } from '../../transactions/transaction-manager.js'
import { lockClause } from '../locking.js'
import { hasOnlyColumns, hasPlainWrites, isPlain } from './plain-model.js'

/** A row of a TypeORM query, with its columns by their aliases. */
export type Row = Record<string, unknown>

/** The fast path of a model; undefined if the model isn't plain, or if a subscriber listens to its records. */
export function fastPath(tx: EntityManager, metadata: EntityMetadata): FastPath | undefined {
  return isHeard(tx, ['afterLoad']) ? undefined : pathOf(metadata)
}

const pathOf = memoizeByObject((metadata: EntityMetadata) =>
  isPlain(metadata) ? new FastPath(metadata) : undefined,
)

/** A property of a record, the name of its column in rows, and how a value of the database is converted. */
interface Member {
  alias: string
  property: string
  read: (value: unknown) => unknown
}

/** A column, and the value to store. */
type Change = [ColumnMetadata, unknown]

/** The number of queries that are cached for a model. */
const maxQueries = 200

/**
 * Reads and writes the records of a plain model with cached statements, because building a query and hydrating its rows
 * costs more than running it. Its rules are TypeORM's. Each method returns undefined or false if TypeORM has to do the
 * work.
 */
export class FastPath {
  private readonly canWrite: boolean
  private readonly table: string
  private readonly id: string
  private readonly columns: ColumnMetadata[]
  private readonly members: Member[]
  private readonly queries = new BoundedMap<string>(maxQueries)
  private readonly insertion: string
  private readonly deletion: string
  /** The column with the version of a row; undefined if the model has none. */
  private readonly version: string | undefined

  constructor(private readonly metadata: EntityMetadata) {
    const { driver } = metadata.dataSource
    this.canWrite = hasPlainWrites(metadata)
    const parts = metadata.tablePath.split('.')
    this.table = parts.map((part) => driver.escape(part)).join('.')
    this.id = driver.escape(metadata.primaryColumns[0]?.databaseName ?? 'id')
    this.columns = metadata.columns
    this.members = metadata.columns
      .filter((column) => !column.isVirtual)
      .map((column) => ({
        alias: DriverUtils.buildAlias(driver, undefined, metadata.name, column.databaseName),
        property: column.propertyName,
        read: readerOf(column),
      }))
    const names = this.columns.map((column) => driver.escape(column.databaseName)).join(', ')
    const places = this.columns.map((_, index) => this.place(index)).join(', ')
    this.insertion = `INSERT INTO ${this.table} (${names}) VALUES (${places})`
    this.version = metadata.versionColumn && driver.escape(metadata.versionColumn.databaseName)
    this.deletion = `DELETE FROM ${this.table} WHERE ${this.condition(0)}`
  }

  /** Finds the first record that meets a condition. With `lock`, its row is locked until the transaction ends. */
  find(tx: EntityManager, where: object, lock = false): Promise<object | undefined> | undefined {
    const sql = isSimple(where) ? this.queryFor(tx, Object.keys(where)) : undefined
    if (sql === undefined) return undefined
    const values: unknown[] = Object.values(where)
    const rows = lock ? run(tx, sql + lockClause(tx), values) : read(tx, sql, values)
    return rows.then(([row]) => row && this.toRecord(row))
  }

  /** The query for the first record with values of some columns; undefined if they aren't only columns. */
  private queryFor(tx: EntityManager, names: string[]): string | undefined {
    const key = names.join()
    const known = this.queries.get(key)
    if (known !== undefined) return known
    const { metadata } = this
    const columns = names.map((name) => metadata.findColumnWithPropertyPathStrict(name))
    if (columns.some((column) => !column || column.transformer || column.embeddedMetadata)) return undefined
    const conditions = names.map((name, index) => `${metadata.name}.${name} = ${this.place(index)}`)
    const builder = tx.createQueryBuilder(metadata.target, metadata.name).where(conditions.join(' AND '))
    const sql = `${builder.getQuery()} LIMIT 1`
    this.queries.set(key, sql)
    return sql
  }

  /** Creates a record from a row, as TypeORM would. Columns that were not selected are not set. */
  toRecord(row: Row): object {
    const record: Row = this.metadata.create(undefined, { fromDeserializer: true })
    for (const { alias, property, read: readValue } of this.members) {
      const value = row[alias]
      if (value !== undefined) record[property] = readValue(value)
    }
    return record
  }

  /**
   * Inserts a record, or updates those of its columns that differ from the database.
   *
   * @throws VersionConflict when its row has another version than the record
   */
  async save(tx: EntityManager, record: Model, isNew: boolean): Promise<boolean> {
    if (!this.writes(tx, record, SAVING)) return false
    if (!isNew) return this.update(tx, record)
    await this.insert(tx, record)
    return true
  }

  /**
   * Deletes a record.
   *
   * @throws VersionConflict when its row has another version, or does not exist
   */
  async remove(tx: EntityManager, record: Model): Promise<boolean> {
    if (!this.writes(tx, record, REMOVING) || record.id === undefined) return false
    const version = this.version && versionIn(record)
    if (this.version && version === undefined) return false
    await writeRow(tx, this.deletion, [record.id], version)
    return true
  }

  private writes(tx: EntityManager, record: Model, events: Events): boolean {
    // Without a query runner, the number of changed rows is unknown.
    if (this.version && !tx.queryRunner) return false
    return this.canWrite && !isHeard(tx, events) && hasOnlyColumns(this.metadata, record)
  }

  private async insert(tx: EntityManager, record: Model): Promise<void> {
    const stamped = stampsOf(record).setGeneratedColumns()
    if (stamped) await stamped
    // NULL for columns without a value.
    const values = this.columns.map((column) =>
      column.isVersion ? 1 : (this.stored(column, valueOf(record, column)) ?? null),
    )
    await write(tx, this.insertion, values)
    this.fillWithNull(record)
    this.setVersion(record, 1)
  }

  /** Returns false if the database does not have the record. */
  private async update(tx: EntityManager, record: Model): Promise<boolean> {
    const found = await this.find(tx, { id: record.id })
    if (this.version && hasOtherVersion(record, found)) throw new VersionConflict()
    const version = this.version && versionIn(found)
    if (!found || (this.version && version === undefined)) return false
    if (this.changesOf(record, found).length === 0) return true

    const stamped = stampsOf(record).stampUpdate()
    if (stamped) await stamped
    const changes = this.changesOf(record, found)
    const { driver } = this.metadata.dataSource
    const assignments = changes.map(
      ([{ databaseName }], index) => `${driver.escape(databaseName)} = ${this.place(index)}`,
    )
    if (this.version) assignments.push(`${this.version} = ${this.version} + 1`)
    const sql = `UPDATE ${this.table} SET ${assignments.join(', ')} WHERE ${this.condition(changes.length)}`
    const values = [...changes.map(([, value]) => value), record.id]
    await writeRow(tx, sql, values, version)
    this.setVersion(record, Number(version) + 1)
    this.fillWithNull(record)
    return true
  }

  /** The condition on the row of a record: its id, and its version if there is one. */
  private condition(index: number): string {
    const condition = `${this.id} = ${this.place(index)}`
    return this.version ? `${condition} AND ${this.version} = ${this.place(index + 1)}` : condition
  }

  private setVersion(record: object, version: number): void {
    const { versionColumn } = this.metadata
    if (versionColumn) Reflect.set(record, versionColumn.propertyName, version)
  }

  /** The columns whose values differ from the database, with the values to store. Undefined properties are not written. */
  private changesOf(record: object, found: object): Change[] {
    const changes: Change[] = []
    for (const column of this.columns) {
      const value = valueOf(record, column)
      const stored = valueOf(found, column)
      if (value === undefined || value === stored) continue
      const prepared = this.stored(column, value)
      // Values that are read as text are stored as the same text, even if they would be rejected now.
      const kept = typeof stored === 'string' ? stored : this.stored(column, stored)
      if (!isSame(prepared, kept)) changes.push([column, prepared])
    }
    return changes
  }

  private fillWithNull(record: object): void {
    for (const column of this.columns)
      if (column.isNullable && valueOf(record, column) === undefined)
        Reflect.set(record, column.propertyName, null)
  }

  private stored(column: ColumnMetadata, value: unknown): unknown {
    return this.metadata.dataSource.driver.preparePersistentValue(value, column)
  }

  private place(index: number): string {
    return this.metadata.dataSource.driver.createParameter('', index)
  }
}

/** Whether each column of a condition is compared with a single text or number. */
function isSimple(where: object): boolean {
  if (Array.isArray(where)) return false
  for (const value of Object.values(where))
    if (typeof value !== 'string' && typeof value !== 'number') return false
  return true
}

function readerOf(column: ColumnMetadata): Member['read'] {
  const { driver } = column.entityMetadata.dataSource
  const hydrate = (value: unknown): unknown => driver.prepareHydratedValue(value, column)
  return (column.transformer ? undefined : engineOf(driver).readerOf?.(column, hydrate)) ?? hydrate
}

/** Whether two values are stored as the same value. Drivers receive datetimes as text or as dates. */
function isSame(one: unknown, other: unknown): boolean {
  return one === other || (one instanceof Date && other instanceof Date && +one === +other)
}

type Events = readonly (keyof EntitySubscriberInterface)[]

const SAVING: Events = ['beforeInsert', 'afterInsert', 'beforeUpdate', 'afterUpdate']
const REMOVING: Events = ['beforeRemove', 'afterRemove']

/** Whether a subscriber of the application listens to one of these events, for any model. */
function isHeard({ dataSource: { subscribers } }: EntityManager, events: Events): boolean {
  // The first subscriber is the framework's own.
  if (subscribers.length <= 1) return false
  return subscribers.slice(1).some((subscriber) => events.some((event) => subscriber[event] !== undefined))
}

/** Whether a record was read with another version. The values of that version do not show what the handler has changed. */
function hasOtherVersion(record: object, found: object | undefined): boolean {
  const read = versionIn(record)
  return !found || (read !== undefined && read !== versionIn(found))
}

function valueOf(record: object, { propertyName }: ColumnMetadata): unknown {
  return Reflect.get(record, propertyName)
}

/** Runs a statement. The request's query runner tracks it, so the manager need not. */
export function run(tx: EntityManager, sql: string, values: unknown[]): Promise<Row[]> {
  return tx.queryRunner ? tx.queryRunner.query(sql, values) : tx.query(sql, values)
}

/** @throws VersionConflict when the model has versions, and no row has the id and this version */
async function writeRow(tx: EntityManager, sql: string, values: unknown[], version: unknown): Promise<void> {
  if (version === undefined) return void (await write(tx, sql, values))
  const result = await write(tx, sql, [...values, version])
  if (!(result instanceof QueryResult && result.affected === 1)) throw new VersionConflict()
}

/** Runs a query that only reads records, and locks nothing. The transaction of a request may run it before it begins. */
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

/** The protected methods of `Model` that set ids and timestamps. A model may override them by asynchronous ones. */
function stampsOf(record: Model) {
  return record as unknown as { setGeneratedColumns(): unknown; stampUpdate(): unknown }
}
