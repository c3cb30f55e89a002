import { randomInt, randomUUID } from 'node:crypto'
import type { Model } from 'resource-kit'
import type { EntityTarget } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { database } from '../../src/database.js'

/**
 * Saves a record, with something in every column that must not be empty. Records that it refers to are made as well.
 *
 * @example const post = await make(Post, { title: 'Hello' })
 */
export async function make<T extends Model>(model: new () => T, values: object = {}): Promise<T> {
  const record = Object.assign(new model(), values)
  for (const column of database.getMetadata(model).columns) {
    const isSet = Reflect.get(record, column.propertyName) !== undefined
    const isOwn = column.isPrimary || column.isCreateDate || column.isUpdateDate
    if (isSet || isOwn || column.isNullable) continue
    Reflect.set(record, column.propertyName, await valueOf(column))
  }
  return database.manager.save(record)
}

/** Deletes all records of a model, and those that refer to them. */
export async function clear(model: EntityTarget<Model>, cleared = new Set<unknown>()): Promise<void> {
  const own = database.getMetadata(model)
  cleared.add(own)
  for (const other of database.entityMetadatas) {
    const refers = other.foreignKeys.some((key) => key.referencedEntityMetadata === own)
    if (refers && !cleared.has(other)) await clear(other.target as EntityTarget<Model>, cleared)
  }
  await database.createQueryBuilder().delete().from(model).execute()
}

/** A record as XML: `<post><title>Hello</title></post>`. */
export function xmlOf(name: string, fields: Record<string, string>): string {
  const elements = Object.entries(fields).map(([field, value]) => `<${field}>${value}</${field}>`)
  return `<${name}>${elements.join('')}</${name}>`
}

async function valueOf({ referencedColumn, type, propertyName, enum: values }: ColumnMetadata) {
  if (referencedColumn) return (await make(referencedColumn.entityMetadata.target as new () => Model)).id
  switch (type) {
    case 'int':
    case Number:
      return randomInt(1_000_000)
    case 'bigint':
    case 'double precision':
    case 'decimal':
      return `${randomInt(1_000_000)}`
    case 'boolean':
    case Boolean:
      return false
    case 'date':
      return '2026-01-02'
    case 'time':
      return '03:04:05'
    case Date:
    case 'datetime':
      return new Date()
    case 'uuid':
      return randomUUID()
    case 'json':
      return {}
    case 'simple-enum':
      return values?.[0]
    default:
      return `${propertyName} ${randomUUID()}`
  }
}
