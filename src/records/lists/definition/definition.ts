import type { EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { AttributeKind } from '../../../models/attributes/attributes.js'
import type { Reader } from '../../conditions.js'
import type { FilterConditions, Operator } from '../declaration.js'

/** A column that clients may use. */
export interface ListColumn {
  /** The path of the property: `title`, or `address.city` of an embedded class. */
  name: string
  metadata: ColumnMetadata
  kind: AttributeKind
  /** The values of an enum. */
  values?: readonly string[] | undefined
  /** Converts a value of a request to the kind of the column. */
  read: Reader
}

/** A filter by a column, or a custom filter of the application. */
export interface Filter extends Pick<ListColumn, 'kind' | 'values' | 'read'> {
  /** The name of the parameter, without an operator. */
  name: string
  /** The attribute in messages. */
  attribute: string
  /** The operators that a parameter can have: `title.prefix`. A custom filter has none. */
  operators: readonly Operator[]
  /** The operator of a parameter that names none: `title`. */
  defaultOperator: Operator | undefined
  /** The column; undefined for a custom filter. */
  column?: ListColumn
  toConditions?(value: unknown): FilterConditions<object>
}

/** A column of an order. */
export interface SortKey {
  column: ListColumn
  isDescending: boolean
}

/** A relation that clients may include. */
export interface Include {
  name: string
  /** The maximum number of records of a relation to many; undefined for a relation to one record. */
  limit: number | undefined
  /** The attributes that are shown; undefined for all. */
  attributes: readonly string[] | undefined
}

/** A declaration that has been checked against its model. */
export interface ListDefinition {
  metadata: EntityMetadata
  filters: ReadonlyMap<string, Filter>
  sorts: ReadonlyMap<string, ListColumn>
  /** The order without the `sort` parameter; empty for newest first. */
  order: readonly SortKey[]
  search: readonly ListColumn[]
  includes: ReadonlyMap<string, Include>
  /** The parameters that the handler reads. */
  params: readonly string[]
  /** Whether the pages begin after a record instead of having numbers. */
  hasCursors: boolean
  /** The id, which is the last key of every order. */
  id: ListColumn
}
