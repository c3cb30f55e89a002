import type { EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { kindOf, type AttributeKind } from '../data/attributes/attributes.js'
import type { Database } from '../data/database.js'
import { newId } from '../data/ids.js'
import type { Model } from '../data/model.js'
import { saveRecord } from '../data/records/save.js'
import { unscopedWork } from '../data/records/work.js'
import { FactoryError } from '../errors.js'

/** The class of a model. */
export type ModelClass<T extends Model = Model> = new () => T

/** Default values of a model's records; `n` numbers the records from 1. */
export type Defaults<T> = (n: number) => Partial<T>

/**
 * Creates records for tests. Every required column gets a value of its type that counts up from record to record, and
 * the records it refers to are created as well.
 *
 * @example
 * factory.define(User, (n) => ({ email: `user${n}@example.com` }))
 * const post = await factory.make(Post, { title: 'Hello' })
 */
export class Factory {
  private readonly defaults = new Map<unknown, Defaults<Model>>()
  private readonly counts = new Map<unknown, number>()

  constructor(private readonly database: Database) {}

  /** Defines default values for a model, if a value of the right type is not enough. */
  define<T extends Model>(model: ModelClass<T>, defaults: Defaults<T>): this {
    this.defaults.set(model, defaults)
    return this
  }

  /** Builds a record without saving it. Only `make` creates the records it refers to. */
  build<T extends Model>(model: ModelClass<T>, values: Partial<T> = {}): T {
    const count = (this.counts.get(model) ?? 0) + 1
    this.counts.set(model, count)
    const record = Object.assign(new model(), this.defaults.get(model)?.(count), values)
    for (const column of this.columnsOf(model)) {
      if (column.referencedColumn || Reflect.get(record, column.propertyName) !== undefined) continue
      Reflect.set(record, column.propertyName, valueOf(column, count))
    }
    return record
  }

  /**
   * Creates and saves a record.
   *
   * @throws FactoryError when it is not valid, or when the database rejects it
   */
  async make<T extends Model>(model: ModelClass<T>, values: Partial<T> = {}): Promise<T> {
    const record = this.build(model, values)
    for (const { referencedColumn, propertyName } of this.columnsOf(model)) {
      if (!referencedColumn || Reflect.get(record, propertyName) !== undefined) continue
      const referred = await this.make(classOf(referencedColumn.entityMetadata))
      Reflect.set(record, propertyName, referencedColumn.getEntityValue(referred))
    }
    const errors = await this.database.transaction((tx) => saveRecord(unscopedWork(tx), record))
    if (errors) throw new FactoryError(model.name, errors)
    return record
  }

  /** The required columns of a record. */
  private columnsOf(model: ModelClass): ColumnMetadata[] {
    return this.database.getMetadata(model).columns.filter((column) => {
      const isOwn = column.isPrimary || column.isCreateDate || column.isUpdateDate || column.isVersion
      const isFilled = column.isNullable || column.isGenerated || column.default !== undefined
      return !isOwn && !isFilled
    })
  }
}

/** A model's metadata has its class; that of a table without one has a name. */
function classOf({ target, name }: EntityMetadata): ModelClass {
  if (typeof target === 'function') return target as ModelClass
  throw new TypeError(`${name} isn't a model class, so no record can be created.`)
}

/** The `n`th value of each kind. They ascend, and none is a sample of a generated spec. */
const VALUES: Record<AttributeKind, (n: number, column: ColumnMetadata) => unknown> = {
  string: textOf,
  text: textOf,
  int: (n) => 1000 + n,
  bigint: (n) => `${1000 + n}`,
  float: (n) => 1000.25 + n,
  decimal: decimalOf,
  bool: () => false,
  date: (n) => new Date(Date.UTC(2000, 0, n)).toISOString().slice(0, 10),
  // The afternoon has 43,200 seconds.
  time: (n) => new Date(Date.UTC(2000, 0, 1, 12, 0, n % 43_200)).toISOString().slice(11, 19),
  datetime: (n) => new Date(Date.now() + n),
  uuid: () => newId(),
  json: () => ({}),
  enum: (n, column) => column.enum?.[isUnique(column) ? (n - 1) % column.enum.length : 0],
}

function valueOf(column: ColumnMetadata, n: number): unknown {
  const kind = kindOf(column.type)
  return kind && VALUES[kind](n, column)
}

/** The name of the column with a unique suffix, or a number that is as long as the column allows. */
function textOf(n: number, { propertyName, length }: ColumnMetadata): string {
  const text = `${propertyName} ${newId()}`
  const most = Number(length) || 255
  return text.length <= most ? text : n.toString(36).padStart(most, '0').slice(-most)
}

/** Counts up from 3, by the smallest step: 3.00, 3.01, ... Without a digit before the point, it counts from 0 to 0.4. */
function decimalOf(n: number, { precision, scale = 0 }: ColumnMetadata): string {
  const one = 10n ** BigInt(scale)
  const end = 10n ** BigInt(precision ?? 10)
  const [first, count] = end > one ? [3n * one, end - 3n * one] : [0n, end / 2n]
  const digits = String(first + (BigInt(n) % count)).padStart(scale + 1, '0')
  return scale > 0 ? `${digits.slice(0, -scale)}.${digits.slice(-scale)}` : digits
}

/** Whether a unique index has the column. */
function isUnique(column: ColumnMetadata): boolean {
  const { indices, uniques } = column.entityMetadata
  const own = [...indices.filter((index) => index.isUnique), ...uniques]
  return own.some(({ columns }) => columns.includes(column))
}
