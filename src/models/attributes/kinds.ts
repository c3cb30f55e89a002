import type { ColumnType, TableColumnOptions } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { FileAttribute } from './file-attributes.js'
import type { NestedList } from './nested-lists.js'
import * as readers from './readers.js'

/** The kind of an attribute's values, independent of the engine's column types. */
export type AttributeKind =
  | 'string'
  | 'text'
  | 'int'
  | 'bigint'
  | 'float'
  | 'decimal'
  | 'bool'
  | 'date'
  | 'time'
  | 'datetime'
  | 'uuid'
  | 'json'
  | 'enum'

/** A property of a model that a client may set: a column, or the ids of a to-many relation. */
export interface Attribute {
  /** The property's name. The column, the JSON member and the form field have the same name. */
  name: string
  kind: AttributeKind
  nullable: boolean
  /** Whether it is a list of such values: the ids of a to-many relation. */
  isList?: true
  /** The files that it contains, if declared with `@HasFile` or `@HasFiles`. Its kind is that of ids. */
  file?: FileAttribute
  /** The class of the objects of `@ValidateNested`, which `ctx.bind` creates. */
  nested?: Function
  /** The list of `@Nested`, whose objects are records of a model. */
  lines?: NestedList
  /** The values of an enum. */
  values?: Array<string | number>
  /** The maximum number of characters of a string. */
  length?: number
  /** The number of digits of a decimal. */
  precision?: number
  /** The number of digits of a decimal after its point. */
  scale?: number
}

/** The differences between the kinds of attributes. */
interface Kind {
  /** The column types that store it, on all engines. Every engine supports the first, that of new columns. */
  types: readonly [ColumnType, ...ColumnType[]]
  /** Converts text and JSON to a value. */
  read: readers.Reader
  /** Whether white space may be intended, so that only empty text means NULL. */
  keepsSpaces?: true
  /** The options of a column in a migration. */
  details?: Partial<TableColumnOptions>
}

// Without the type of KINDS, so that `columnTypes` has the literal types of its columns.
const table = {
  string: {
    types: [
      'varchar',
      String,
      'character varying',
      'varying character',
      'char varying',
      'char',
      'character',
      'native character',
      'nchar',
      'national char',
      'nvarchar',
      'national varchar',
    ],
    read: readers.readText,
    keepsSpaces: true,
  },
  text: {
    types: ['text', 'tinytext', 'mediumtext', 'longtext', 'clob', 'citext'],
    read: readers.readText,
    keepsSpaces: true,
  },
  // TypeORM maps `Number` to an integer.
  int: {
    types: ['int', Number, 'integer', 'int2', 'int4', 'tinyint', 'smallint', 'mediumint'],
    read: readers.integerReader(32n, Number),
  },
  bigint: { types: ['bigint', 'int8', 'unsigned big int'], read: readers.integerReader(64n, String) },
  float: {
    types: ['double precision', 'float', 'float4', 'float8', 'double', 'real'],
    read: readers.readFloat,
  },
  decimal: {
    types: ['decimal', 'numeric', 'dec', 'fixed'],
    read: readers.readDecimal,
    details: { precision: 10, scale: 2 },
  },
  bool: { types: ['boolean', Boolean, 'bool'], read: readers.readBoolean },
  date: { types: ['date'], read: readers.readDate },
  time: {
    types: ['time', 'timetz', 'time with time zone', 'time without time zone'],
    read: readers.readTime,
  },
  datetime: {
    types: [
      Date,
      'datetime',
      'timestamp',
      'timestamptz',
      'timestamp with time zone',
      'timestamp without time zone',
    ],
    read: readers.readDateTime,
  },
  uuid: { types: ['uuid'], read: readers.readUuid },
  json: { types: ['json', 'jsonb', 'simple-json'], read: readers.readJson },
  enum: { types: ['simple-enum', 'enum'], read: readers.readEnum, keepsSpaces: true },
} satisfies Record<AttributeKind, Kind>

/** All kinds. Each column type belongs to one of them. */
export const KINDS: Record<AttributeKind, Kind> = table

/** The column type of each kind, for `@Column` and for migrations. */
export const columnTypes = Object.fromEntries(
  Object.entries(KINDS).map(([kind, { types }]) => [kind, types[0]]),
) as { [Name in AttributeKind]: (typeof table)[Name]['types'][0] }

const kindsByType = new Map<ColumnType, AttributeKind>(
  (Object.keys(KINDS) as AttributeKind[]).flatMap((kind) =>
    KINDS[kind].types.map((type) => [type, kind] as const),
  ),
)

/** Returns the kind of a column type; undefined if attributes cannot have it (blobs, arrays, geometries). */
export function kindOf(type: ColumnType | undefined): AttributeKind | undefined {
  return type === undefined ? undefined : kindsByType.get(type)
}

/** Whether a string is longer than its column allows. Without a limit, `length` is empty. */
export function isTooLong(text: string, { type, length }: ColumnMetadata): boolean {
  // Lengths are counted in code points; JavaScript's `length` counts some of them as two.
  return kindOf(type) === 'string' && length !== '' && [...text].length > Number(length)
}
