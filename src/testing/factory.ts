import { randomInt, randomUUID } from 'node:crypto'
import type { EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { kindOf, type AttributeKind } from '../data/attributes.js'
import type { Database } from '../data/database.js'
import type { Model } from '../data/model.js'
import { saveRecord } from '../data/records.js'
import { FactoryError } from '../errors.js'

/** The class of a model. */
export type ModelClass<T extends Model = Model> = new () => T

/** What the records of a model are like; `n` counts them, from 1. */
export type Defaults<T> = (n: number) => Partial<T>

/**
 * Makes records for tests: every column that must not be empty gets a value of its type, and what the record refers to
 * is made as well.
 *
 * @example
 * factory.define(User, (n) => ({ email: `user${n}@example.com` }))
 * const post = await factory.make(Post, { title: 'Hello' })
 */
export class Factory {
  private readonly defaults = new Map<unknown, Defaults<Model>>()
  private readonly counts = new Map<unknown, number>()

  constructor(private readonly database: Database) {}

  /** Says what the records of a model are like, where a value of the right type is not enough. */
  define<T extends Model>(model: ModelClass<T>, defaults: Defaults<T>): this {
    this.defaults.set(model, defaults)
    return this
  }

  /** A new record, not saved. What it refers to is made by `make` alone. */
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
   * Saves a new record.
   *
   * @throws FactoryError when it is not valid, or when the database refuses it
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

  /** The columns that a record cannot do without. */
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

/** The name of the column and something that no other record has, as far as the column takes it. */
function textOf({ propertyName, length }: ColumnMetadata): string {
  const unique = randomUUID()
  const most = Number(length) || 255
  return most > unique.length + propertyName.length ? `${propertyName} ${unique}` : unique.slice(-most)
}
