import type { EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { App } from '../application/application.js'
import {
  filesOf,
  kindOf,
  nestedListsOf,
  relationIdsOf,
  type AttributeKind,
} from '../models/attributes/attributes.js'
import type { FileAttribute } from '../models/attributes/file-attributes.js'
import { rulesOf } from '../models/attributes/plain-attributes.js'
import type { Database } from '../database/database.js'
import { newId } from '../models/ids.js'
import type { Model } from '../models/model.js'
import { ownKeysOf } from '../models/record-state.js'
import { saveRecord } from '../records/save.js'
import { chainsOf, enclosuresOf } from '../records/within.js'
import { unscopedWork } from '../records/work.js'
import { getMetadataStorage } from '../models/validation/class-validator.js'
import { sampleFile } from './sample-file.js'
import { FactoryError, type ValidationErrors } from '../errors.js'

/** The class of a model. */
export type ModelClass<T extends Model = Model> = new () => T

/** Returns default values for a record of a model. The first record has the number 1. */
export type Defaults<T> = (n: number) => Partial<T>

/**
 * Creates records for tests. Every required column gets a value of its type, which ascends from record to record if the type
 * permits. The records that a required column refers to are created, too.
 *
 * @example
 * factory.define(User, (n) => ({ email: `user${n}@example.com` }))
 * const post = await factory.make(Post, { title: 'Hello' })
 */
export class Factory {
  private readonly defaults = new Map<unknown, Defaults<Model>>()
  private readonly counts = new Map<unknown, number>()

  /** @param app the application that stores the files of the records */
  constructor(
    private readonly database: Database,
    private readonly app?: App,
  ) {}

  /** Defines default values for the records of a model, for columns for which a value of the right type is not enough. */
  define<T extends Model>(model: ModelClass<T>, defaults: Defaults<T>): this {
    this.defaults.set(model, defaults)
    return this
  }

  /** Builds a record without saving it. Only `make` creates the records that it refers to. */
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
   * Creates and saves a record. The records that it refers to are inside of the same parent: the customer of a rental is in the
   * rental's branch.
   *
   * @throws FactoryError when the record is not valid, or when it violates a constraint of the database
   */
  make<T extends Model>(model: ModelClass<T>, values: Partial<T> = {}): Promise<T> {
    return this.makeInside(model, values, new Map())
  }

  /**
   * Saves a record that was built or made, as `ctx.save` does: with the rules and hooks of its model, and without policies.
   *
   * @example
   * const post = factory.build(Post, { title: ' ' })
   * expect((await factory.save(post))?.codes).to.deep.equal({ title: ['present'] })
   * @returns the errors; undefined if the record was saved
   */
  save(record: Model): Promise<ValidationErrors | undefined> {
    return this.database.transaction((tx) => saveRecord(unscopedWork(tx), record))
  }

  /** @param around the ids of the records that contain the new one, by their tables */
  private async makeInside<T extends Model>(
    model: ModelClass<T>,
    values: Partial<T>,
    around: ReadonlyMap<string, unknown>,
  ): Promise<T> {
    const record = await this.fill(this.build(model, values), around)
    const errors = await this.save(record)
    if (errors) throw new FactoryError(model.name, errors)
    return record
  }

  /**
   * Gives a record what it needs: the records to which it refers, as many lines as it must have, and its files.
   *
   * @param key the column with the key of the record whose line it is, which is set when that is saved
   */
  private async fill<T extends Model>(
    record: T,
    around: ReadonlyMap<string, unknown>,
    key?: ColumnMetadata,
  ): Promise<T> {
    const model = record.constructor as ModelClass<T>
    const metadata = this.database.getMetadata(model)
    const enclosing = new Set(enclosuresOf(metadata).map(({ key }) => key))
    const inside = new Map(around)
    await this.addContainers(record, metadata, inside)
    await this.addGiven(record, metadata, inside)
    const columns = this.columnsOf(model).toSorted(
      (a, b) => Number(enclosing.has(b)) - Number(enclosing.has(a)),
    )
    for (const column of columns) {
      const { referencedColumn, propertyName, relationMetadata } = column
      if (!referencedColumn || column === key || Reflect.get(record, propertyName) !== undefined) continue
      // The key of a record that is given is assigned when this one is saved.
      if (relationMetadata && Reflect.get(record, relationMetadata.propertyName) !== undefined) continue
      const { entityMetadata } = referencedColumn
      const container = enclosing.has(column) ? inside.get(entityMetadata.tablePath) : undefined
      const make = async () => {
        const made = await this.makeInside(classOf(entityMetadata), {}, inside)
        await this.makeMember(entityMetadata, made, inside, model)
        return referencedColumn.getEntityValue(made)
      }
      Reflect.set(record, propertyName, container ?? (await make()))
      if (enclosing.has(column)) await this.addContainers(record, metadata, inside)
    }
    await this.addLines(record, metadata, inside)
    await this.addFiles(record)
    return record
  }

  /** Adds as many lines as a record must have. */
  private async addLines(
    record: Model,
    metadata: EntityMetadata,
    inside: ReadonlyMap<string, unknown>,
  ): Promise<void> {
    for (const { name, min } of nestedListsOf(record.constructor)) {
      const relation = metadata.findRelationWithPropertyPath(name)
      if (!relation?.inverseRelation || Reflect.get(record, name) !== undefined) continue
      const [key] = ownKeysOf(relation.inverseRelation)
      const lines: Model[] = []
      while (lines.length < min)
        lines.push(await this.fill(this.build(classOf(relation.inverseEntityMetadata)), inside, key))
      Reflect.set(record, name, lines)
    }
  }

  /** Makes a new user a member of the team to whose record the user will belong. */
  private async makeMember(
    metadata: EntityMetadata,
    { id }: Model,
    inside: ReadonlyMap<string, unknown>,
    referrer: Function,
  ): Promise<void> {
    for (const { model, members } of chainsOf(metadata)) {
      const team = inside.get(model.tablePath)
      if (!members || team === undefined || members.exempt.includes(referrer)) continue
      const values = {
        [members.team.propertyName]: team,
        [members.user.propertyName]: id,
        role: members.role,
      }
      await this.make(classOf(members.user.entityMetadata), values as Partial<Model>)
    }
  }

  /** Stores a file for each attribute that requires one. */
  private async addFiles(record: Model): Promise<void> {
    const model = record.constructor
    const missing = filesOf(model).filter(
      (attribute) => Reflect.get(record, attribute.name) === undefined && needsFile(model, attribute),
    )
    for (const attribute of missing) {
      const file = await this.storeFile(attribute)
      if (file) Reflect.set(record, attribute.name, file)
    }
  }

  /**
   * Stores a file that an attribute accepts; undefined if the application stores no files.
   *
   * @internal
   */
  async storeFile({ types }: FileAttribute): Promise<object | undefined> {
    const { storedFiles } = await import('../files/index.js')
    const file = sampleFile(types[0] ?? 'text/plain')
    const content = Buffer.from(await file.arrayBuffer())
    return this.app?.extension(storedFiles)?.store(content, { filename: file.name })
  }

  /** Adds the ids of the records that contain a record, as far as its keys are known. */
  private async addContainers(
    record: Model,
    metadata: EntityMetadata,
    found: Map<string, unknown>,
  ): Promise<void> {
    for (const { relation, key } of enclosuresOf(metadata)) {
      const parent = relation.inverseEntityMetadata
      const given = relation.getEntityValue(record) as Model | undefined
      const id: unknown = key.getEntityValue(record) ?? given?.id
      if (id === undefined || found.has(parent.tablePath)) continue
      found.set(parent.tablePath, id)
      await this.addContainersOf(id, parent, found)
    }
  }

  /** Adds the ids of the records that contain those to which a record refers. */
  private async addGiven(
    record: Model,
    metadata: EntityMetadata,
    found: Map<string, unknown>,
  ): Promise<void> {
    const lists = new Map(relationIdsOf(record.constructor).map(({ name, relation }) => [relation, name]))
    for (const relation of metadata.relations) {
      const [key] = ownKeysOf(relation)
      const list: unknown = Reflect.get(record, lists.get(relation.propertyName) ?? '')
      const id: unknown = Array.isArray(list) ? list[0] : key?.getEntityValue(record)
      await this.addContainersOf(id, relation.inverseEntityMetadata, found)
    }
  }

  private async addContainersOf(
    id: unknown,
    metadata: EntityMetadata,
    found: Map<string, unknown>,
  ): Promise<void> {
    if (typeof id !== 'string' || enclosuresOf(metadata).length === 0) return
    const record = await this.database.manager.findOneBy(classOf(metadata), { id })
    if (record) await this.addContainers(record, metadata, found)
  }

  /** The columns that need a value: null is not allowed, and neither TypeORM nor the database fills them in. */
  private columnsOf(model: ModelClass): ColumnMetadata[] {
    return this.database.getMetadata(model).columns.filter((column) => {
      const isOwn = column.isPrimary || column.isCreateDate || column.isUpdateDate || column.isVersion
      const isFilled = column.isNullable || column.isGenerated || column.default !== undefined
      return !isOwn && !isFilled
    })
  }
}

/** @throws TypeError when the metadata has no class, but only the name of a table */
function classOf({ target, name }: EntityMetadata): ModelClass {
  if (typeof target === 'function') return target as ModelClass
  throw new TypeError(`${name} isn't a model class, so no record can be created.`)
}

/** The `n`th value of each kind. The values of most kinds ascend, and none is a value that generated specs look for. */
const VALUES: Record<AttributeKind, (n: number, column: ColumnMetadata) => unknown> = {
  string: textOf,
  text: textOf,
  int: (n) => 1000 + n,
  bigint: (n) => `${1000 + n}`,
  float: (n) => 1000.25 + n,
  decimal: decimalOf,
  bool: () => false,
  date: (n) => new Date(Date.UTC(2000, 0, n)).toISOString().slice(0, 10),
  // The values begin at noon, and after the 43,200 seconds until midnight, they begin again.
  time: (n) => new Date(Date.UTC(2000, 0, 1, 12, 0, n % 43_200)).toISOString().slice(11, 19),
  datetime: (n) => new Date(Date.now() + n),
  uuid: () => newId(),
  json: () => ({}),
  enum: (n, column) => column.enum?.[isUnique(column) ? (n - 1) % column.enum.length : 0],
}

function valueOf(column: ColumnMetadata, n: number): unknown {
  const kind = kindOf(column.type)
  if (isEmail(column)) return `user-${n}-${newId()}@example.com`
  return kind && VALUES[kind](n, column)
}

/** Whether a text must be an email address, according to the rules of its model. */
function isEmail({ entityMetadata, propertyName }: ColumnMetadata): boolean {
  return getMetadataStorage()
    .getTargetValidationMetadatas(classOf(entityMetadata), '', false, false)
    .some((rule) => rule.propertyName === propertyName && rule.name === 'isEmail')
}

/** The name of the column with a unique suffix; if that is too long for the column, a number with the length of the column. */
function textOf(n: number, { propertyName, length }: ColumnMetadata): string {
  const text = `${propertyName} ${newId()}`
  const maxLength = Number(length) || 255
  return text.length <= maxLength ? text : n.toString(36).padStart(maxLength, '0').slice(-maxLength)
}

/** Counts up from 3 by the smallest step: 3.00, 3.01, and so on. Without digits before the point, it counts from 0 to below 0.5. */
function decimalOf(n: number, { precision, scale = 0 }: ColumnMetadata): string {
  // SQLite keeps 15 digits.
  const places = Math.min(scale, 12)
  const one = 10n ** BigInt(places)
  const end = 10n ** BigInt((precision ?? 10) - scale + places)
  const [first, count] = end > one ? [3n * one, end - 3n * one] : [0n, end / 2n]
  const digits = String(first + (BigInt(n) % count)).padStart(places + 1, '0')
  return places > 0 ? `${digits.slice(0, -places)}.${digits.slice(-places)}` : digits
}

/** Whether a column is part of a unique index or constraint. */
export function isUnique(column: ColumnMetadata): boolean {
  const { indices, uniques } = column.entityMetadata
  const constraints = [...indices.filter((index) => index.isUnique), ...uniques]
  return constraints.some(({ columns }) => columns.includes(column))
}

/** Whether a record needs a file of an attribute. */
export function needsFile(model: Function, { name, isList }: FileAttribute): boolean {
  return !isList && rulesOf(model, name).some((rule) => rule.name === 'present')
}
