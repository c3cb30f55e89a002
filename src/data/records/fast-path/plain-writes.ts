import type { EntityManager, EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { EntityListenerMetadata } from 'typeorm/metadata/EntityListenerMetadata.js'
import { memoizeByObject } from '../../../memoize.js'
import { engineOf } from '../../engines/engines.js'
import { run, selectRecords } from './cached-queries.js'
import { Model } from '../../model.js'
import type { PlainModel } from './plain-model.js'

/**
 * Writes the records of plain models to SQLite with cached statements. Its rules are TypeORM's. If a write needs more than
 * this class supports, TypeORM does it.
 */
export class PlainWrites {
  private readonly table: string
  private readonly columns: ColumnMetadata[]
  private readonly insertion: string

  constructor(private readonly model: PlainModel) {
    const { metadata } = model
    this.table = metadata.tablePath
      .split('.')
      .map((part) => this.escape(part))
      .join('.')
    this.columns = metadata.columns
    const names = this.columns.map((column) => this.escape(column.databaseName)).join(', ')
    const places = this.columns.map(() => '?').join(', ')
    this.insertion = `INSERT INTO ${this.table} (${names}) VALUES (${places})`
  }

  /** Inserts a record. */
  async insert(tx: EntityManager, record: Model): Promise<void> {
    stampsOf(record).stampInsert()
    // NULL for columns without a value.
    const values = this.columns.map((column) => this.stored(column, valueOf(record, column)) ?? null)
    await run(tx, this.insertion, values)
    this.fillWithNull(record)
  }

  /**
   * Updates the columns of a record that differ from the database, if any.
   *
   * @returns false if the database does not have the record
   */
  async update(tx: EntityManager, record: Model): Promise<boolean> {
    const [found] = (await selectRecords(tx, this.model, { where: { id: record.id } })) ?? []
    if (!found) return false
    if (this.changesOf(record, found).length === 0) return true

    stampsOf(record).stampUpdate()
    const changes = this.changesOf(record, found)
    const assignments = changes.map(([{ databaseName }]) => `${this.escape(databaseName)} = ?`).join(', ')
    const sql = `UPDATE ${this.table} SET ${assignments} WHERE ${this.escape(this.idName)} = ?`
    await run(tx, sql, [...changes.map(([, value]) => value), record.id])
    this.fillWithNull(record)
    return true
  }

  /** Deletes a record. */
  async remove(tx: EntityManager, record: Model): Promise<void> {
    await run(tx, `DELETE FROM ${this.table} WHERE ${this.escape(this.idName)} = ?`, [record.id])
  }

  private get idName(): string {
    return this.model.metadata.primaryColumns[0]?.databaseName ?? 'id'
  }

  /** The columns whose values differ from the database, with the values to store. Undefined properties are not written. */
  private changesOf(record: object, found: object): Array<[ColumnMetadata, unknown]> {
    const changes: Array<[ColumnMetadata, unknown]> = []
    for (const column of this.columns) {
      const value = valueOf(record, column)
      const stored = valueOf(found, column)
      if (value === undefined || value === stored) continue
      const prepared = this.stored(column, value)
      // Values that are read as text are stored as the same text, even if they would be rejected now.
      const kept = typeof stored === 'string' ? stored : this.stored(column, stored)
      if (prepared !== kept) changes.push([column, prepared])
    }
    return changes
  }

  private fillWithNull(record: object): void {
    for (const column of this.columns)
      if (column.isNullable && valueOf(record, column) === undefined)
        Reflect.set(record, column.propertyName, null)
  }

  private stored(column: ColumnMetadata, value: unknown): unknown {
    return this.model.metadata.dataSource.driver.preparePersistentValue(value, column)
  }

  private escape(name: string): string {
    return this.model.metadata.dataSource.driver.escape(name)
  }
}

/** Returns the writer for a record; undefined if TypeORM has to write it. */
export function plainWrites(model: PlainModel, record: Model): PlainWrites | undefined {
  const writes = writesOf(model)
  return writes && holdsColumnsAlone(model.metadata, record) ? writes : undefined
}

const writesOf = memoizeByObject((model: PlainModel) =>
  isPlainlySaved(model.metadata) ? new PlainWrites(model) : undefined,
)

/** Whether a record contains only values of its columns: no other record, and no SQL expression. */
function holdsColumnsAlone({ relations, columns }: EntityMetadata, record: object): boolean {
  return (
    relations.every(({ propertyName }) => Reflect.get(record, propertyName) === undefined) &&
    columns.every((column) => typeof valueOf(record, column) !== 'function')
  )
}

function isPlainlySaved(metadata: EntityMetadata): boolean {
  return (
    engineOf(metadata.dataSource).hasFastWrites &&
    metadata.primaryColumns.length === 1 &&
    metadata.primaryColumns[0]?.propertyName === 'id' &&
    metadata.columns.every(isPlainColumn) &&
    metadata.relations.every((relation) => relation.isManyToOne) &&
    listenersOf(metadata).every(isFrameworks)
  )
}

function isPlainColumn(column: ColumnMetadata): boolean {
  const isStamp = column.propertyName === 'created_at' || column.propertyName === 'updated_at'
  const isSpecial =
    column.isVirtual ||
    column.isGenerated ||
    column.isVersion ||
    column.isDeleteDate ||
    column.isArray ||
    !column.isSelect ||
    !column.isInsert ||
    !column.isUpdate ||
    column.asExpression !== undefined ||
    column.transformer !== undefined
  // Only the timestamps of Model are set here. The database sets others.
  const isSetElsewhere = column.default !== undefined || column.isCreateDate || column.isUpdateDate
  return !isSpecial && (isStamp || !isSetElsewhere) && PLAIN_TYPES.has(column.type)
}

/** The types whose stored values can be compared. */
const PLAIN_TYPES = new Set<unknown>(
  [
    [String, 'varchar', 'text', 'uuid', Boolean, 'boolean', Date, 'datetime', 'date', 'time'],
    [Number, 'int', 'integer', 'bigint', 'float', 'double', 'real', 'decimal', 'numeric'],
  ].flat(),
)

function listenersOf(metadata: EntityMetadata): EntityListenerMetadata[] {
  return [
    ...metadata.beforeInsertListeners,
    ...metadata.afterInsertListeners,
    ...metadata.beforeUpdateListeners,
    ...metadata.afterUpdateListeners,
    ...metadata.beforeRemoveListeners,
    ...metadata.afterRemoveListeners,
  ]
}

/** Whether a listener is one of Model's own, which this file calls itself. */
function isFrameworks({ target, propertyName }: EntityListenerMetadata): boolean {
  return target === Model && (propertyName === 'stampInsert' || propertyName === 'stampUpdate')
}

/** The methods of Model that set ids and timestamps before a write. They are protected, because no other code may call them. */
function stampsOf(record: Model): { stampInsert(): void; stampUpdate(): void } {
  return record as unknown as { stampInsert(): void; stampUpdate(): void }
}

function valueOf(record: object, { propertyName }: ColumnMetadata): unknown {
  return Reflect.get(record, propertyName)
}
