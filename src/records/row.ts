import { isDeepStrictEqual } from 'node:util'
import type {
  EntityManager,
  EntityMetadata,
  EntitySubscriberInterface,
  QueryResult,
  QueryRunner,
} from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { DriverUtils } from 'typeorm/driver/DriverUtils.js'
import { memoizeByObject } from '../common/memoize.js'
import { RecordNotFound, VersionConflict } from '../errors.js'
import { engineOf } from '../database/engines/engines.js'
import { permit } from '../database/queries/statement-guards.js'
import { inSavepoint, TransactionManager } from '../database/transactions/transaction-manager.js'
import { kindOf } from '../models/attributes/attributes.js'
import { Model } from '../models/model.js'
import { otherSubscribers } from '../models/model-subscriber.js'
import { isUnchanged } from '../models/record-state.js'
import { read, readerOf, run, type Row } from './fast-path/fast-path.js'
import { lockClause } from './locking.js'
import { splitInParts } from './parts.js'
import { waitingInsertsOf, type InsertingRows, type WaitingInserts } from './waiting-inserts.js'

/** Returns what reads and writes the rows of a model, one at a time. */
export const rowsOf = memoizeByObject((metadata: EntityMetadata) => new Rows(metadata))

/** How a row is written. */
export interface RowWork {
  readonly tx: EntityManager
  /** Whether the write has one statement, which needs its own savepoint on engines that need one. */
  readonly isAlone: boolean
  /** Whether nothing refers to the row, so that it can wait while rows of another table are added. */
  readonly isBeside?: boolean
}

/** How a row is updated. */
export interface UpdateOptions {
  /** Whether the row is locked first. */
  lock: boolean
  /** Whether something beside the row changes, which raises its version. */
  changesMore: boolean
  /** The row, if it has been read and locked already. */
  current?: StoredRow | undefined
}

/** The values of a row, in the order of the cells. */
export interface StoredRow {
  /** As the properties of a record contain them. */
  readonly values: readonly unknown[]
  /** As the driver returns them. */
  readonly raw: readonly unknown[]
}

/** A column, and how it is read and written. */
interface Cell {
  column: ColumnMetadata
  /** Its place in the values of a row. */
  index: number
  /** Its name in statements. */
  name: string
  /** Its name in the rows of a query. */
  alias: string
  convert: (value: unknown) => unknown
  /** The value of a new row if the record has none: null, or a function that returns an expression. */
  missing: unknown
}

/** A column, and the value to store: an expression in SQL if it is a function. */
type Change = [cell: Cell, stored: unknown]

/** Stands for the id in the parameters of a query. */
const idMarker = { marks: 'id' }

/**
 * The rows of a model. A record is written as TypeORM's `save` and `remove` write it, by one statement, with
 * the listeners and subscribers around it. Its version is compared by this statement. Nothing but the row is
 * written.
 */
export class Rows implements InsertingRows {
  readonly table: string
  private readonly id: string
  private readonly cells: readonly Cell[]
  private readonly inserted: readonly Cell[]
  private readonly updated: readonly Cell[]
  private readonly nullable: readonly Cell[]
  /** The INSERT of a row whose values are all parameters, and the beginning of any other one. */
  private readonly insertion: string
  private readonly insertionHead: string
  private readonly version: Cell | undefined
  private readonly deleteDate: Cell | undefined
  /** The columns that the database sets when it inserts a row, and when it updates one. */
  private readonly setByInsert: readonly Cell[]
  private readonly setByUpdate: readonly Cell[]
  private readonly returning: string
  private readonly hasListeners: boolean
  private selection: { sql: string; parameters: readonly unknown[] } | undefined

  constructor(private readonly metadata: EntityMetadata) {
    const { driver } = metadata.dataSource
    this.table = metadata.tablePath
      .split('.')
      .map((part) => driver.escape(part))
      .join('.')
    this.cells = metadata.columns.filter(({ isVirtualProperty }) => !isVirtualProperty).map(toCell)
    this.inserted = this.cells.filter(({ column }) => column.isInsert && column.asExpression === undefined)
    this.updated = this.cells.filter(
      ({ column: { isUpdate, isVersion, isDeleteDate, isDiscriminator, asExpression } }) =>
        isUpdate && !isVersion && !isDeleteDate && !isDiscriminator && asExpression === undefined,
    )
    const children = metadata.childEntityMetadatas.map(({ target }) => target)
    this.nullable = this.inserted.filter(
      ({ column: { isNullable, isSelect, isVirtual, target } }) =>
        isNullable && isSelect && !isVirtual && !children.includes(target),
    )
    this.id = driver.escape(metadata.findColumnWithPropertyName('id')?.databaseName ?? 'id')
    this.version = this.cells.find(({ column }) => column.isVersion)
    this.deleteDate = this.cells.find(({ column }) => column.isDeleteDate)
    const returned = metadata.getInsertionReturningColumns()
    this.setByInsert = this.cells.filter(
      ({ column }) => returned.includes(column) && isSetByDatabase(column) && column.isSelect,
    )
    this.setByUpdate = this.setByInsert.filter(
      ({ column: { asExpression, isUpdateDate } }) => asExpression !== undefined || isUpdateDate,
    )
    const canReturn = this.setByInsert.length > 0 && driver.isReturningSqlSupported('insert')
    this.returning = canReturn ? ` RETURNING ${this.setByInsert.map(({ name }) => name).join(', ')}` : ''
    this.insertionHead = `INSERT INTO ${this.table} (${this.inserted.map(({ name }) => name).join(', ')}) VALUES `
    const parameters = this.inserted.map(() => undefined)
    this.insertion = this.insertionHead + this.writeTuple(parameters, []) + this.returning
    this.hasListeners = metadata.listeners.some(
      ({ target, type }) => target !== Model && type !== 'after-load',
    )
  }

  /** Whether more than the statement can belong to a write: the model's listeners, or subscribers. */
  get isHeard(): boolean {
    if (this.hasListeners) return true
    const subscribers = otherSubscribers(this.metadata.dataSource)
    return subscribers.some((subscriber) => EVENTS.some((event) => subscriber[event]))
  }

  /** Inserts the row of a record. */
  async insert(work: RowWork, record: Model): Promise<void> {
    const { metadata, isHeard } = this
    const { broadcaster } = runnerOf(work.tx)
    if (isHeard) await broadcaster.broadcast('BeforeInsert', metadata, record)
    else {
      const promise = listenersOf(record).setGeneratedColumns()
      if (promise) await promise
    }
    const waiting = work.isAlone && !isHeard && this.isComplete(record) && waitingInsertsOf(work.tx)
    if (waiting) return this.insertLater(waiting, record, work.isBeside)
    const values = this.inserted.map((cell) => this.insertedValue(cell, record))
    const sql = values.every(isParameter)
      ? this.insertion
      : this.insertionHead + this.writeTuple(values, []) + this.returning
    const { records = [] } = await this.execute(work, sql, values.filter(isParameter))
    this.version?.column.setEntityValue(record, 1)
    this.fillWithNull(record)
    if (this.returning)
      for (const { column, convert } of this.setByInsert)
        setValue(record, column, convert(records[0][column.databaseName]))
    else await this.readBack(work.tx, record, this.setByInsert)
    if (isHeard) await broadcaster.broadcast('AfterInsert', metadata, record)
  }

  /** Whether a new record has all values that the database would set. */
  private isComplete(record: Model): boolean {
    return this.setByInsert.every(({ column }) => (valueOf(record, column) ?? undefined) !== undefined)
  }

  /** Inserts the row of a record together with others. */
  private async insertLater(
    waiting: WaitingInserts<unknown>,
    record: Model,
    isBeside?: boolean,
  ): Promise<void> {
    await waiting.add(this, record, isBeside)
    this.version?.column.setEntityValue(record, 1)
    this.fillWithNull(record)
  }

  /** Writes the values of a new row in SQL, and adds their parameters. */
  writeNewRow(record: Model, parameters: unknown[]): string {
    return this.writeTuple(
      this.inserted.map((cell) => this.insertedValue(cell, record)),
      parameters,
    )
  }

  /** Inserts rows that have been written. The statement has its own savepoint on engines that need one. */
  insertWritten(tx: EntityManager, rows: readonly string[], values: unknown[]): Promise<QueryResult> {
    return this.execute({ tx, isAlone: true }, this.insertionHead + rows.join(', '), values)
  }

  /**
   * Updates the columns of a record that differ from its row. Inserts a record without a version whose row is
   * missing.
   *
   * @throws VersionConflict when the model has versions, and the row is missing or has another version than
   *   the record
   * @throws RecordNotFound when the row was moved to the trash, or restored, since the record was read
   */
  async update(work: RowWork, record: Model, options: UpdateOptions): Promise<void> {
    const { metadata, version, isHeard } = this
    const { lock, changesMore } = options
    const current = options.current?.values ?? (await this.select(work.tx, record.id, lock))
    const currentVersion = version && current?.[version.index]
    if (version && String(currentVersion) !== String(version.column.getEntityValue(record)))
      throw new VersionConflict()
    if (!current) return this.insert(work, record)
    if (this.isMoved(record, current)) throw this.notFound()
    const isTouched = changesMore && version !== undefined
    const first = this.changesOf(record, current)
    if (first.length === 0 && !isTouched) return

    const { broadcaster } = runnerOf(work.tx)
    const stored = isHeard ? this.toEntity(current) : record
    if (isHeard)
      await broadcaster.broadcast('BeforeUpdate', metadata, record, stored, ...partsOf(record, first))
    else await listenersOf(record).stampUpdate()
    // The listeners have set `updated_at`, and may have set other columns.
    const changes = this.changesOf(record, current)
    const values: unknown[] = []
    const assignments = changes.map(
      ([cell, value]) => `${cell.name} = ${this.writeValue(cell, value, values)}`,
    )
    if (version) assignments.push(`${version.name} = ${version.name} + 1`)
    if (assignments.length > 0) {
      const sql = `UPDATE ${this.table} SET ${assignments.join(', ')} WHERE `
      await this.writeRow(work, sql, values, record, currentVersion)
    }
    version?.column.setEntityValue(record, increment(currentVersion))
    await this.readBack(work.tx, record, this.setByUpdate)
    if (isHeard)
      await broadcaster.broadcast('AfterUpdate', metadata, record, stored, ...partsOf(record, changes))
  }

  /**
   * Deletes the row of a record.
   *
   * @throws VersionConflict when the model has versions, and the row is missing or has another version than
   *   the record
   * @throws RecordNotFound when the model has a trash, and the row is missing, or was moved since the record
   *   was read
   */
  async remove(work: RowWork, record: Model): Promise<void> {
    const { metadata, isHeard } = this
    const { broadcaster } = runnerOf(work.tx)
    const current = isHeard ? await this.select(work.tx, record.id, false) : undefined
    const stored = current ? this.toEntity(current) : record
    if (isHeard) await broadcaster.broadcast('BeforeRemove', metadata, record, stored)
    const version: unknown = this.version?.column.getEntityValue(record)
    await this.writeRow(work, `DELETE FROM ${this.table} WHERE `, [], record, version)
    if (isHeard) await broadcaster.broadcast('AfterRemove', metadata, record, stored)
  }

  /**
   * Moves a record to the trash, or back.
   *
   * @param date the time of its move to the trash; null if it moves back
   * @throws VersionConflict, RecordNotFound as `remove` does
   */
  async move(work: RowWork, record: Model, date: Date | null): Promise<void> {
    const { metadata, version, deleteDate, isHeard } = this
    if (!deleteDate) return
    const { broadcaster } = runnerOf(work.tx)
    const events = date
      ? (['BeforeSoftRemove', 'AfterSoftRemove'] as const)
      : (['BeforeRecover', 'AfterRecover'] as const)
    const current = isHeard ? await this.select(work.tx, record.id, false) : undefined
    const stored = current ? this.toEntity(current) : record
    if (isHeard) await broadcaster.broadcast(events[0], metadata, record, stored)
    const currentVersion: unknown = version?.column.getEntityValue(record)
    const values: unknown[] = []
    const value = this.writeValue(deleteDate, this.toStored(deleteDate.column, date), values)
    const raised = version ? `, ${version.name} = ${version.name} + 1` : ''
    // MariaDB would set the time of an update.
    const kept = this.cells
      .filter(({ column }) => column.isUpdateDate)
      .map(({ name }) => `, ${name} = ${name}`)
    const sql = `UPDATE ${this.table} SET ${deleteDate.name} = ${value}${raised}${kept.join('')} WHERE `
    await this.writeRow(work, sql, values, record, currentVersion)
    setValue(record, deleteDate.column, date)
    version?.column.setEntityValue(record, increment(currentVersion))
    await this.readBack(work.tx, record, this.setByUpdate)
    if (isHeard) await broadcaster.broadcast(events[1], metadata, record, stored)
  }

  /** Whether a row is in the trash and the record is not, or the other way round. */
  private isMoved(record: Model, current: readonly unknown[]): boolean {
    const { deleteDate } = this
    const date = deleteDate && valueOf(record, deleteDate.column)
    return (
      deleteDate !== undefined &&
      date !== undefined &&
      (date === null) !== (current[deleteDate.index] === null)
    )
  }

  private notFound(): RecordNotFound {
    const reason =
      ' Another request has moved it, or the handler has set its date. Only ctx.destroy and ctx.restore move records.'
    return new RecordNotFound(this.metadata.targetName, reason)
  }

  /** Whether several rows can be written by one statement: nobody hears of each, and nothing is read back. */
  get isWrittenTogether(): boolean {
    return !this.isHeard && !this.version && this.setByUpdate.length === 0
  }

  /** The values of a record, with which `updateAll` compares later ones. */
  valuesOf(record: object): unknown[] {
    return this.cells.map(({ column }) => {
      const value = valueOf(record, column)
      return typeof value === 'object' && !(value instanceof Date) ? structuredClone(value) : value
    })
  }

  /** Reads a row; undefined if it is missing. With `lock`, it is locked until the transaction ends. */
  async readStored(tx: EntityManager, id: unknown, lock: boolean): Promise<StoredRow | undefined> {
    const row = await this.selectRow(tx, id, lock)
    if (!row) return undefined
    const raw = this.cells.map(({ alias }) => row[alias])
    return { raw, values: this.cells.map(({ convert }, index) => convert(raw[index])) }
  }

  /** The values of a row by the names of its columns. */
  rowOf(values: readonly unknown[]): Record<string, unknown> {
    return Object.fromEntries(this.cells.map(({ column, index }) => [column.databaseName, values[index]]))
  }

  /** Whether a record has other values than its row. */
  differs(record: object, values: readonly unknown[]): boolean {
    return this.changesOf(record, values).length > 0
  }

  /** Inserts the rows of records by one statement, if `isWrittenTogether`, else by one for each. */
  async insertAll(tx: EntityManager, records: readonly Model[]): Promise<void> {
    if (!this.isWrittenTogether || !records.every((record) => this.isComplete(record))) {
      for (const record of records) await this.insert({ tx, isAlone: true }, record)
      return
    }
    const values: unknown[] = []
    for (const record of records) await listenersOf(record).setGeneratedColumns()
    await this.insertWritten(
      tx,
      records.map((record) => this.writeNewRow(record, values)),
      values,
    )
    for (const record of records) this.fillWithNull(record)
  }

  /**
   * Updates the columns of records that differ from their rows, by one statement if `isWrittenTogether`.
   *
   * @param storedIn returns the values of a record's row, in the order of `valuesOf`
   */
  async updateAll(
    tx: EntityManager,
    records: readonly Model[],
    storedIn: (record: Model) => readonly unknown[],
  ): Promise<void> {
    if (!this.isWrittenTogether) {
      const options = { lock: false, changesMore: false }
      for (const record of records) await this.update({ tx, isAlone: true }, record, options)
      return
    }
    for (const record of records) await listenersOf(record).stampUpdate()
    const all = records.map((record) => ({
      record,
      changes: new Map(this.changesOf(record, storedIn(record))),
    }))
    const cells = this.updated.filter((cell) => all.some(({ changes }) => changes.has(cell)))
    const values: unknown[] = []
    const idOf = ({ id }: Model) => this.metadata.dataSource.driver.createParameter('', values.push(id) - 1)
    const assignments = cells.map((cell) => {
      const cases = all
        .filter(({ changes }) => changes.has(cell))
        .map(
          ({ record, changes }) =>
            `WHEN ${idOf(record)} THEN ${this.writeValue(cell, changes.get(cell), values)}`,
        )
      return `${cell.name} = CASE ${this.id} ${cases.join(' ')} ELSE ${cell.name} END`
    })
    const ids = all.map(({ record }) => idOf(record)).join(', ')
    const sql = `UPDATE ${this.table} SET ${assignments.join(', ')} WHERE ${this.id} IN (${ids})`
    await this.execute({ tx, isAlone: true }, sql, values)
  }

  /** Deletes the rows of records, by one statement if nobody hears of each. */
  async removeAll(tx: EntityManager, records: readonly Model[]): Promise<void> {
    if (this.isHeard) {
      for (const record of records) await this.remove({ tx, isAlone: true }, record)
      return
    }
    await this.onIds(tx, `DELETE FROM ${this.table}`, records)
  }

  /** Makes the values of a column negative, so that those that replace them meet no others. */
  async negate(tx: EntityManager, property: string, records: readonly Model[]): Promise<void> {
    const name = this.cells.find(({ column }) => column.propertyName === property)?.name
    await this.onIds(tx, `UPDATE ${this.table} SET ${name} = -1 - ${name}`, records)
  }

  private async onIds(tx: EntityManager, sql: string, records: readonly Model[]): Promise<void> {
    const { driver } = this.metadata.dataSource
    for (const part of splitInParts(records)) {
      const ids = part.map((_record, index) => driver.createParameter('', index)).join(', ')
      const values = part.map(({ id }) => id)
      await this.execute({ tx, isAlone: true }, `${sql} WHERE ${this.id} IN (${ids})`, values)
    }
  }

  /** Reads the values of a row, in the order of the cells; undefined if it is missing. */
  private async select(tx: EntityManager, id: unknown, lock: boolean): Promise<unknown[] | undefined> {
    const row = await this.selectRow(tx, id, lock)
    return row && this.cells.map(({ alias, convert }) => convert(row[alias]))
  }

  private async selectRow(tx: EntityManager, id: unknown, lock: boolean): Promise<Row | undefined> {
    const { sql, parameters } = (this.selection ??= this.buildSelection(tx))
    const values = parameters.map((value) => (value === idMarker ? id : value))
    const [row] = await (lock ? run(tx, sql + lockClause(tx), values) : read(tx, sql, values))
    return row
  }

  private buildSelection(tx: EntityManager): { sql: string; parameters: readonly unknown[] } {
    const { target, name } = this.metadata
    const [sql, parameters] = tx
      .createQueryBuilder(target, name)
      .select(this.cells.map(({ column }) => `${name}.${column.propertyPath}`))
      .where(`${name}.id = :id`, { id: idMarker })
      .withDeleted()
      .setOption('disable-global-order')
      .getQueryAndParameters()
    return { sql, parameters }
  }

  /** Sets the columns that the database has set. */
  private async readBack(tx: EntityManager, record: Model, cells: readonly Cell[]): Promise<void> {
    if (cells.length === 0) return
    const row = await this.select(tx, record.id, false)
    for (const cell of cells) setValue(record, cell.column, row?.[cell.index])
  }

  /** The values of a row as a record. */
  toEntity(values: readonly unknown[]): object {
    const entity: object = this.metadata.create(undefined, { fromDeserializer: true })
    for (const [index, { column }] of this.cells.entries())
      if (!column.isDiscriminator) setValue(entity, column, values[index])
    return entity
  }

  /** Finds the columns whose values differ from the row. Ignores what is undefined or was only loaded. */
  private changesOf(record: object, current: readonly unknown[]): Change[] {
    const changes: Change[] = []
    for (const cell of this.updated) {
      const { column } = cell
      const value = valueOf(record, column)
      const previous = current[cell.index]
      if (value === undefined || isSame(value, previous)) continue
      if (column.isVirtual && isUnchanged(record, column.propertyName)) continue
      const stored = typeof value === 'function' ? value : this.toStored(column, value)
      if (!this.isStoredAs(column, stored, previous)) changes.push([cell, stored])
    }
    return changes
  }

  /** Whether a value to store is that of the row, although the values of the two records are not the same. */
  private isStoredAs(column: ColumnMetadata, stored: unknown, previous: unknown): boolean {
    if (column.transformer) return isSame(stored, this.toStored(column, previous))
    // The engine may have stored the members of an object in another order.
    if (kindOf(column.type) === 'json' && typeof stored === 'string')
      return isSame(JSON.parse(stored), previous)
    // Text from the database is compared as it is: `toStored` could reject it, although the database already
    // contains it.
    return isSame(stored, typeof previous === 'string' ? previous : this.toStored(column, previous))
  }

  /** Writes the values of a row in parentheses, and adds their parameters. */
  private writeTuple(values: readonly unknown[], parameters: unknown[]): string {
    return `(${this.inserted.map((cell, index) => this.writeValue(cell, values[index], parameters)).join(', ')})`
  }

  /** The value of a new row: a parameter, or a function that returns an expression in SQL. */
  private insertedValue({ column, missing }: Cell, record: Model): unknown {
    if (column.isVersion) return 1
    if (column.isDiscriminator) return this.metadata.discriminatorValue
    const given = valueOf(record, column)
    const value = typeof given === 'function' ? given : this.toStored(column, given)
    return value === undefined ? missing : value
  }

  /** Writes a value in SQL, and adds its parameter. */
  private writeValue({ column }: Cell, value: unknown, values: unknown[]): string {
    if (typeof value === 'function') return String(value())
    const { driver } = this.metadata.dataSource
    const parameter = driver.createParameter('', values.push(value) - 1)
    return engineOf(driver).parameterOf?.(column, parameter) ?? parameter
  }

  /**
   * Writes the row of a record, if it has the record's version, and is in the trash if the record is.
   *
   * @throws VersionConflict when the model has versions, and there is no such row
   * @throws RecordNotFound when the model has a trash, and there is no such row
   */
  private async writeRow(
    work: RowWork,
    sql: string,
    values: unknown[],
    record: Model,
    version: unknown,
  ): Promise<void> {
    const { driver } = this.metadata.dataSource
    const placeholder = (value: unknown) => driver.createParameter('', values.push(value) - 1)
    let condition = `${this.id} = ${placeholder(record.id)}`
    if (this.version)
      condition += ` AND ${this.version.name} ${version === null ? 'IS NULL' : `= ${placeholder(version)}`}`
    const date = this.deleteDate && valueOf(record, this.deleteDate.column)
    if (this.deleteDate && date !== undefined)
      condition += ` AND ${this.deleteDate.name} IS ${date === null ? 'NULL' : 'NOT NULL'}`
    const { affected } = await this.execute(work, sql + condition, values)
    if (this.version && affected !== 1) throw new VersionConflict()
    if (this.deleteDate && affected !== 1) throw this.notFound()
  }

  /** Runs a statement that may be rejected. PostgreSQL would then reject all others without a savepoint. */
  private execute({ tx, isAlone }: RowWork, sql: string, values: unknown[]): Promise<QueryResult> {
    const runner = runnerOf(tx)
    permit(values)
    if (!isAlone || !engineOf(tx.dataSource).failureAborts || !runner.isTransactionActive)
      return runner.query(sql, values, true)
    // The result is one of TypeORM.
    if (tx instanceof TransactionManager) return tx.write(sql, values) as Promise<QueryResult>
    return inSavepoint(tx, (manager) => runnerOf(manager).query(sql, values, true))
  }

  /** Sets the missing nullable properties of a new record to null, as TypeORM does. */
  private fillWithNull(record: object): void {
    for (const { column } of this.nullable)
      if (valueOf(record, column) === undefined) setValue(record, column, null)
  }

  private toStored(column: ColumnMetadata, value: unknown): unknown {
    return this.metadata.dataSource.driver.preparePersistentValue(value, column)
  }
}

function runnerOf(tx: EntityManager): QueryRunner {
  if (!tx.queryRunner) throw new Error('A row is written without a query runner.')
  return tx.queryRunner
}

/** The listeners of `Model`, which are protected. Methods that override them may return a promise. */
function listenersOf(record: Model) {
  return record as unknown as { setGeneratedColumns(): unknown; stampUpdate(): unknown }
}

/** Whether a value is a parameter of a statement, and not an expression. */
function isParameter(value: unknown): boolean {
  return typeof value !== 'function'
}

const EVENTS = [
  'beforeInsert',
  'afterInsert',
  'beforeUpdate',
  'afterUpdate',
  'beforeRemove',
  'afterRemove',
  'beforeSoftRemove',
  'afterSoftRemove',
  'beforeRecover',
  'afterRecover',
] as const satisfies readonly (keyof EntitySubscriberInterface)[]

function toCell(column: ColumnMetadata, index: number): Cell {
  const { dataSource, name } = column.entityMetadata
  const { driver } = dataSource
  return {
    column,
    index,
    name: driver.escape(column.databaseName),
    alias: DriverUtils.buildAlias(driver, undefined, name, column.databaseName),
    convert: readerOf(column),
    missing: missingValue(column),
  }
}

function missingValue(column: ColumnMetadata): (() => string) | null {
  const { driver } = column.entityMetadata.dataSource
  if (column.isGenerated && column.generationStrategy === 'uuid' && !driver.isUUIDGenerationSupported())
    return () => `'${crypto.randomUUID()}'`
  if (!column.isGenerated && (column.default === undefined || column.default === null)) return null
  return () => (engineOf(driver).lacksDefault ? (driver.normalizeDefault(column) ?? 'NULL') : 'DEFAULT')
}

/** Whether the row may have a value that the record lacks. The times of `Model` and versions are known. */
function isSetByDatabase({ propertyPath, isVersion, isDeleteDate }: ColumnMetadata): boolean {
  return !isVersion && !isDeleteDate && propertyPath !== 'created_at' && propertyPath !== 'updated_at'
}

/** The value of a column. TypeORM would return the id of a loaded record, even for another key. */
export function valueOf(record: object, column: ColumnMetadata): unknown {
  return column.isVirtual || column.embeddedMetadata
    ? column.getEntityValue(record)
    : Reflect.get(record, column.propertyName)
}

function setValue(record: object, column: ColumnMetadata, value: unknown): void {
  if (column.embeddedMetadata) column.setEntityValue(record, value)
  else Reflect.set(record, column.propertyName, value)
}

/** Whether two values are equal. Drivers receive datetimes as text or as dates. */
function isSame(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (left instanceof Date && right instanceof Date) return Number(left) === Number(right)
  return typeof left === 'object' && typeof right === 'object' && isDeepStrictEqual(left, right)
}

/** The changed columns, and the relations whose records were assigned, as TypeORM reports them. */
function partsOf(record: object, changes: readonly Change[]) {
  const columns = changes.map(([{ column }]) => column)
  const relations = columns.flatMap(({ relationMetadata }) => relationMetadata ?? [])
  return [
    columns.filter(({ isVirtual }) => !isVirtual),
    relations.filter(({ propertyName }) => Reflect.get(record, propertyName) !== undefined),
  ] as const
}

/** The version after a version. A row that has none keeps none. */
function increment(version: unknown): unknown {
  if (version === null) return null
  return typeof version === 'string' ? String(BigInt(version) + 1n) : Number(version) + 1
}
