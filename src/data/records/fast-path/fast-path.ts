import type {
  DataSource,
  EntityManager,
  EntityMetadata,
  EntitySubscriberInterface,
  ObjectLiteral,
} from 'typeorm'
import { DriverUtils } from 'typeorm/driver/DriverUtils.js'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { BoundedMap, memoizeByObject } from '../../../common/memoize.js'
import type { Model } from '../../model.js'
import { engineOf } from '../../engines/engines.js'
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

/** A property of a record, the name of its column in rows, and how its value is read. */
interface Member {
  alias: string
  property: string
  /** Converts a value of the database to JavaScript. */
  read: (value: unknown) => unknown
}

/** A query that TypeORM has built once, and the columns of its condition in the order of its parameters. */
interface CachedQuery {
  sql: string
  names: string[]
}

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
  private readonly columns: ColumnMetadata[]
  private readonly members: Member[]
  private readonly queries = new BoundedMap<CachedQuery>(maxQueries)
  private readonly insertion: string
  private readonly deletion: string

  constructor(private readonly metadata: EntityMetadata) {
    const { driver } = metadata.dataSource
    this.canWrite = hasPlainWrites(metadata)
    this.table = metadata.tablePath
      .split('.')
      .map((part) => this.escape(part))
      .join('.')
    this.columns = metadata.columns
    this.members = metadata.columns
      .filter((column) => !column.isVirtual)
      .map((column) => ({
        alias: DriverUtils.buildAlias(driver, undefined, metadata.name, column.databaseName),
        property: column.propertyName,
        read: readerOf(metadata.dataSource, column),
      }))
    const names = this.columns.map((column) => this.escape(column.databaseName)).join(', ')
    const places = this.columns.map((_, index) => this.placeholder(index)).join(', ')
    this.insertion = `INSERT INTO ${this.table} (${names}) VALUES (${places})`
    this.deletion = `DELETE FROM ${this.table} WHERE ${this.escape(this.idName)} = ${this.placeholder(0)}`
  }

  /** Finds the first record that meets a condition. With `lock`, its row is locked until the transaction ends. */
  find(tx: EntityManager, where: object, lock = false): Promise<object | undefined> | undefined {
    const query = isSimple(where) ? this.queryFor(tx, Object.keys(where)) : undefined
    if (!query) return undefined
    const values = query.names.map((name): unknown => Reflect.get(where, name))
    const rows = lock ? run(tx, query.sql + lockClause(tx), values) : read(tx, query.sql, values)
    return rows.then(([row]) => row && this.toRecord(row))
  }

  /** The query for the first record with values of some columns; undefined if they aren't only columns. */
  private queryFor(tx: EntityManager, names: string[]): CachedQuery | undefined {
    const key = names.join()
    const query = this.queries.get(key) ?? this.build(tx, names)
    if (query && !this.queries.has(key)) this.queries.set(key, query)
    return query
  }

  /** Lets TypeORM build a query. Markers instead of values show which parameter belongs to which column. */
  private build(tx: EntityManager, names: string[]): CachedQuery | undefined {
    const { metadata } = this
    const columns = names.map((name) => metadata.findColumnWithPropertyPathStrict(name))
    if (columns.some((column) => !column || column.transformer || column.embeddedMetadata)) return undefined
    const signs = names.map((name) => `sign of ${name}`)
    const where = Object.fromEntries(names.map((name, index) => [name, signs[index]]))
    const builder = tx.createQueryBuilder<ObjectLiteral>(metadata.target, metadata.name)
    const [sql, parameters] = builder.setFindOptions({ where }).getQueryAndParameters()
    const asked = parameters.flatMap((parameter) => names[signs.indexOf(String(parameter))] ?? [])
    return asked.length === parameters.length ? { sql: `${sql} LIMIT 1`, names: asked } : undefined
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

  /** Inserts a record, or updates those of its columns that differ from the database. */
  async save(tx: EntityManager, record: Model, isNew: boolean): Promise<boolean> {
    if (!this.writes(tx, record, SAVING)) return false
    if (!isNew) return this.update(tx, record)
    await this.insert(tx, record)
    return true
  }

  /** Deletes a record. */
  async remove(tx: EntityManager, record: Model): Promise<boolean> {
    if (!this.writes(tx, record, REMOVING) || record.id === undefined) return false
    await write(tx, this.deletion, [record.id])
    return true
  }

  private writes(tx: EntityManager, record: Model, events: Events): boolean {
    return this.canWrite && !isHeard(tx, events) && hasOnlyColumns(this.metadata, record)
  }

  private async insert(tx: EntityManager, record: Model): Promise<void> {
    const stamped = stampsOf(record).setGeneratedColumns()
    if (stamped) await stamped
    // NULL for columns without a value.
    const values = this.columns.map((column) => this.stored(column, valueOf(record, column)) ?? null)
    await write(tx, this.insertion, values)
    this.fillWithNull(record)
  }

  /** Returns false if the database does not have the record. */
  private async update(tx: EntityManager, record: Model): Promise<boolean> {
    const found = await this.find(tx, { id: record.id })
    if (!found) return false
    if (this.changesOf(record, found).length === 0) return true

    const stamped = stampsOf(record).stampUpdate()
    if (stamped) await stamped
    const changes = this.changesOf(record, found)
    await write(tx, this.updateOf(changes), [...changes.map(([, value]) => value), record.id])
    this.fillWithNull(record)
    return true
  }

  private updateOf(changes: readonly Change[]): string {
    const assignments = changes.map(
      ([{ databaseName }], index) => `${this.escape(databaseName)} = ${this.placeholder(index)}`,
    )
    const condition = `${this.escape(this.idName)} = ${this.placeholder(changes.length)}`
    return `UPDATE ${this.table} SET ${assignments.join(', ')} WHERE ${condition}`
  }

  private get idName(): string {
    return this.metadata.primaryColumns[0]?.databaseName ?? 'id'
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

  private escape(name: string): string {
    return this.metadata.dataSource.driver.escape(name)
  }

  private placeholder(index: number): string {
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

function readerOf({ driver }: DataSource, column: ColumnMetadata): Member['read'] {
  const hydrate = (value: unknown): unknown => driver.prepareHydratedValue(value, column)
  return (column.transformer ? undefined : engineOf(driver).readerOf?.(column, hydrate)) ?? hydrate
}

/** A column, and the value to store. */
type Change = [ColumnMetadata, unknown]

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

function valueOf(record: object, { propertyName }: ColumnMetadata): unknown {
  return Reflect.get(record, propertyName)
}

/** Runs a statement. The request's query runner tracks it, so the manager need not. */
export function run(tx: EntityManager, sql: string, values: unknown[]): Promise<Row[]> {
  return tx.queryRunner ? tx.queryRunner.query(sql, values) : tx.query(sql, values)
}

/** Runs a query that only reads records, and locks nothing. The transaction of a request may run it before it begins. */
export function read(tx: EntityManager, sql: string, values: unknown[]): Promise<Row[]> {
  return tx instanceof TransactionManager ? (tx.read(sql, values) as Promise<Row[]>) : run(tx, sql, values)
}

/**
 * Runs a statement that the database may reject. If the engine would then reject all later statements of the transaction, it
 * runs in a savepoint.
 */
function write(tx: EntityManager, sql: string, values: unknown[]): Promise<unknown> {
  if (!engineOf(tx.dataSource).failureAborts) return run(tx, sql, values)
  if (tx instanceof TransactionManager) return tx.write(sql, values)
  return inSavepoint(tx, (savepoint) => run(savepoint, sql, values))
}

/** The placeholder of a query's n-th parameter. */
export function placeholder(tx: EntityManager, position: number): string {
  return tx.dataSource.driver.createParameter('', position - 1)
}

/** The methods of `Model` that set ids and timestamps before a write. A model may override them by asynchronous ones. */
interface Stamps {
  setGeneratedColumns(): unknown
  stampUpdate(): unknown
}

/** These methods are protected, because no other code may call them. */
function stampsOf(record: Model): Stamps {
  return record as unknown as Stamps
}
