import { randomInt, randomUUID } from 'node:crypto'
import type { EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { kindOf, type AttributeKind } from '../data/attributes.js'
import type { Database } from '../data/database.js'
import type { Model } from '../data/model.js'
import { saveRecord } from '../data/records/save.js'
import { FactoryError } from '../errors.js'

/** The class of a model. */
export type ModelClass<T extends Model = Model> = new () => T

/** Default values of a model's records; `n` numbers the records from 1. */
export type Defaults<T> = (n: number) => Partial<T>

/**
 * Creates records for tests. Every required column gets a value of its type, and the records it refers to are created as
 * well.
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
      Reflect.set(record, column.propertyName, valueOf(column))
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
    const errors = await this.database.transaction((tx) => saveRecord(tx, record))
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

const VALUES: Record<AttributeKind, (column: ColumnMetadata) => unknown> = {
  string: textOf,
  text: textOf,
  int: () => randomInt(30_000),
  bigint: () => `${randomInt(1_000_000)}`,
  float: () => randomInt(1_000) / 4,
  decimal: ({ scale = 0 }) => randomInt(9).toFixed(scale),
  bool: () => false,
  date: () => '2026-01-02',
  time: () => '03:04:05',
  datetime: () => new Date(),
  uuid: () => randomUUID(),
  json: () => ({}),
  enum: (column) => column.enum?.[0],
}

function valueOf(column: ColumnMetadata): unknown {
  const kind = kindOf(column.type)
  return kind && VALUES[kind](column)
}

/** The name of the column with a unique suffix, as long as the column allows. */
function textOf({ propertyName, length }: ColumnMetadata): string {
  const unique = randomUUID()
  const most = Number(length) || 255
  return most > unique.length + propertyName.length ? `${propertyName} ${unique}` : unique.slice(-most)
}
