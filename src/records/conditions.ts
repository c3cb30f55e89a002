import type { EntityMetadata, FindOptionsWhere } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { InstanceChecker } from 'typeorm/util/InstanceChecker.js'
import { memoizeByObject } from '../common/memoize.js'
import { coerce, unreadable } from '../models/attributes/coerce.js'
import { kindOf, type Attribute, type AttributeKind } from '../models/attributes/attributes.js'
import { Model } from '../models/model.js'

/** The values that a record's columns must have. Undefined and null find nothing; `IsNull()` finds null. */
export type Where<T> = {
  [Column in keyof FindOptionsWhere<T>]: FindOptionsWhere<T>[Column] | null | undefined
}

/**
 * Converts the values of conditions to their columns' kinds, so that all engines compare alike: MariaDB would
 * find text by comparing it with 0, and PostgreSQL rejects a malformed UUID. TypeORM's operators are left
 * unchanged.
 *
 * @example readConditions(metadata, { age: '5' }) // { age: 5 }
 * @param path the path of the embedded class that has the conditions, ending with a dot
 * @returns undefined if no record can meet the conditions, because a value is null, undefined or cannot be
 *   converted
 */
export function readConditions(metadata: EntityMetadata, conditions: object, path = ''): object | undefined {
  const names = Object.keys(conditions)
  const values: [string, unknown][] = []
  for (const name of names) {
    const value = readerOf(metadata, path + name)(Reflect.get(conditions, name))
    if (value === unreadable) return undefined
    values.push([name, value])
  }
  return Object.fromEntries(values)
}

/** Converts alternative conditions, without those that no record can meet; undefined if none remain. */
export function readAlternatives(
  metadata: EntityMetadata,
  where: object | readonly object[],
  path = '',
): object | object[] | undefined {
  if (!Array.isArray(where)) return readConditions(metadata, where, path)
  const readable = where.flatMap((conditions) => readConditions(metadata, Object(conditions), path) ?? [])
  return readable.length === 0 ? undefined : readable
}

/** Converts a value that is compared with a property; `unreadable` if the property cannot have this value. */
export type Reader = (value: unknown) => unknown

const cachedReaders = memoizeByObject((_metadata: EntityMetadata) => new Map<string, Reader>())

function readerOf(metadata: EntityMetadata, path: string): Reader {
  const readers = cachedReaders(metadata)
  let reader = readers.get(path)
  if (!reader) {
    const newReader = makeReader(metadata, path)
    // TypeORM throws an error that names the unknown property. It is not cached, because such names have no
    // limit.
    if (!newReader) return (value) => value
    readers.set(path, (reader = acceptOperators(newReader)))
  }
  return reader
}

function makeReader(metadata: EntityMetadata, path: string): Reader | undefined {
  const column = metadata.findColumnWithPropertyPathStrict(path)
  if (column) return columnReader(column)
  if (metadata.findEmbeddedWithPropertyPath(path)) return nestedReader(metadata, `${path}.`)
  const relation = metadata.findRelationWithPropertyPath(path)
  return relation && nestedReader(relation.inverseEntityMetadata)
}

/** Accepts TypeORM's operators, too, and rejects undefined and null. */
function acceptOperators(reader: Reader): Reader {
  return (value) => {
    if (value === undefined || value === null) return unreadable
    return InstanceChecker.isFindOperator(value) ? value : reader(value)
  }
}

/** Converts conditions on another record or an embedded class. Rejects empty ones, which find all. */
function nestedReader(metadata: EntityMetadata, path = ''): Reader {
  return (value) => {
    if (value instanceof Model) return readConditions(metadata, { id: value.id }) ?? unreadable
    if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return unreadable
    return readAlternatives(metadata, value, path) ?? unreadable
  }
}

function columnReader(column: ColumnMetadata): Reader {
  const { transformer } = column
  const read = valueReader(column)
  if (!transformer) return read
  // TypeORM transforms the value itself, so this only checks whether the result can be converted.
  return (value) => {
    try {
      const stored = [transformer].flat().reduce<unknown>((input, { to }) => to(input), value)
      return read(stored) === unreadable ? unreadable : value
    } catch {
      return unreadable
    }
  }
}

/** Returns the function that converts a value to the kind of a column. */
export function valueReader(column: ColumnMetadata): Reader {
  const kind = column.isArray ? undefined : kindOf(column.type)
  switch (kind) {
    case undefined:
      // A blob, an array, a geometry: the engine determines how they are compared.
      return (value) => value
    case 'json':
      // PostgreSQL cannot compare the type json, so a value finds nothing on any engine.
      return () => unreadable
    case 'uuid':
      // Not `readUuid`, which would ignore spaces around the id of a path.
      return (value) => (typeof value === 'string' && UUID.test(value) ? value.toLowerCase() : unreadable)
    default: {
      const attribute = attributeOf(column, kind)
      const limit = SMALL_INTEGERS.has(column.type) ? 2 ** 15 : Infinity
      return (value) => {
        const result = coerce(toText(value, kind), attribute)
        return typeof result === 'number' && (result < -limit || result >= limit) ? unreadable : result
      }
    }
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The small integer types. PostgreSQL rejects a comparison with a larger number. */
const SMALL_INTEGERS = new Set<unknown>(['smallint', 'int2'])

/** Converts a column to an attribute that is not nullable, because blank text is not compared as null. */
function attributeOf(
  { propertyName, unsigned, enum: values, precision, scale }: ColumnMetadata,
  kind: AttributeKind,
): Attribute {
  return {
    name: propertyName,
    // An unsigned integer can be larger than a signed one.
    kind: kind === 'int' && unsigned ? 'bigint' : kind,
    nullable: false,
    ...(values && { values: values.map(String) }),
    ...(typeof precision === 'number' && { precision }),
    ...(scale !== undefined && { scale }),
  }
}

/** Converts big integers, and numbers of an enum, to text: for MariaDB, a number is a position there. */
function toText(value: unknown, kind: AttributeKind): unknown {
  const isText = typeof value === 'bigint' || (typeof value === 'number' && kind === 'enum')
  return isText ? String(value) : value
}
