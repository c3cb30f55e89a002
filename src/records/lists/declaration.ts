import type { FindOptionsWhere } from 'typeorm'
import type { AttributeKind } from '../../models/attributes/attributes.js'

/** A comparison of a column with the value of a query parameter. */
export type Operator = 'eq' | 'not' | 'in' | 'prefix' | 'contains' | 'lt' | 'lte' | 'gt' | 'gte' | 'null'

/** The value that the function of a custom filter gets for each kind. */
interface KindValues {
  string: string
  text: string
  int: number
  bigint: string
  float: number
  decimal: string
  bool: boolean
  date: string
  time: string
  datetime: Date
  uuid: string
}

/** The kinds of a custom filter. */
export type FilterKind = Exclude<AttributeKind, 'enum' | 'json'>

/** The conditions that a custom filter returns: all of them, or one of several alternatives. */
export type FilterConditions<T> = FindOptionsWhere<T> | FindOptionsWhere<T>[]

/** A filter whose conditions a function computes. `filter()` creates it. */
// The model is known where the filter is declared.
// oxlint-disable-next-line no-explicit-any
export class CustomFilter<T = any> {
  constructor(
    readonly kind: AttributeKind,
    /** The words that the parameter may be, if the kind is `enum`. */
    readonly words: readonly string[] | undefined,
    readonly toConditions: (value: never) => FilterConditions<T>,
  ) {}
}

/** A filter whose parameter has another name than its column. `as()` creates it. */
export class RenamedFilter<Column extends string = string> {
  constructor(
    readonly column: Column,
    readonly operators: readonly Operator[],
  ) {}
}

/**
 * Declares a custom filter: its parameter has a value of a kind, or one of several words. `toConditions`
 * returns the conditions for this value, in the form of TypeORM's `where`. They are added to all other
 * conditions with AND.
 *
 * @example const filters = { popular: filter('int', (votes: number) => ({ votes: MoreThan(votes) })) }
 */
// oxlint-disable-next-line no-explicit-any
export function filter<Kind extends FilterKind, T = any>(
  kind: Kind,
  toConditions: (value: KindValues[Kind]) => NoInfer<FilterConditions<T>>,
): CustomFilter<T>
// oxlint-disable-next-line no-explicit-any
export function filter<const Word extends string, T = any>(
  words: readonly Word[],
  toConditions: (word: Word) => NoInfer<FilterConditions<T>>,
): CustomFilter<T>
export function filter(
  kind: FilterKind | readonly string[],
  toConditions: (value: never) => FilterConditions<unknown>,
): CustomFilter {
  return typeof kind === 'string'
    ? new CustomFilter(kind, undefined, toConditions)
    : new CustomFilter('enum', kind, toConditions)
}

/**
 * Declares a filter of a column whose parameter has another name, for example because the column has the name
 * of a parameter of every list.
 *
 * @example const filters = { sort_key: as('sort', ['eq']) }
 */
export function as<const Column extends string>(
  column: Column,
  operators: readonly Operator[],
): RenamedFilter<Column> {
  return new RenamedFilter(column, operators)
}

/** The names of a model's properties. The start checks that they are columns, or relations. */
type PropertyName<T> = keyof T & string

/** The operators that a type of columns can have. The column's kind may allow fewer, as the start checks. */
type OperatorOf<Value> =
  NonNullable<Value> extends boolean
    ? 'eq' | 'null'
    : NonNullable<Value> extends Date | number
      ? NumberOperator
      : Operator

type NumberOperator = Exclude<Operator, 'prefix' | 'contains'>

/** The filters of a list: the operators of columns, and custom filters under any name. */
export type Filters<T> = {
  readonly [Name in PropertyName<T>]?:
    | readonly OperatorOf<T[Name]>[]
    | RenamedFilter<PropertyName<T>>
    | CustomFilter<T>
} & {
  readonly [name: string]: readonly Operator[] | RenamedFilter<PropertyName<T>> | CustomFilter<T> | undefined
}

/** The name of a column to sort by. A minus before it sorts in descending order. */
export type SortName<T> = PropertyName<T> | `-${PropertyName<T>}`

/** Options of the records that a relation includes. */
// oxlint-disable-next-line no-explicit-any
export interface IncludeOptions<R = any> {
  /** The attributes that are shown: by default all that JSON and XML show of a record. */
  attributes?: readonly PropertyName<R>[]
  /** The maximum of related records of each record, of a to-many relation (50). The newest are included. */
  limit?: number
}

/** The type of the record, or of the records, that a property contains. */
type RelatedOf<Value> = NonNullable<Value> extends readonly (infer Related)[] ? Related : NonNullable<Value>

/** The relations that can be included: with all attributes, with those of a list, or with options. */
export type Includes<T> =
  | readonly PropertyName<T>[]
  | {
      readonly [Name in PropertyName<T>]?:
        | readonly PropertyName<RelatedOf<T[Name]>>[]
        | IncludeOptions<RelatedOf<T[Name]>>
        | true
    }

/** The queries that clients may send to a list. Nothing is allowed that is not declared. */
// The model is known where it is given: `@Queryable<Post>({ ... })`.
// oxlint-disable-next-line no-explicit-any
export interface Queryable<T = any> {
  /** The columns to filter by, and the operators of each of them. */
  filter?: Filters<T>
  /** Columns to sort by. With a minus, the first is the default, descending; else the newest are first. */
  sort?: readonly SortName<T>[]
  /** The text columns in which `search` finds each word. */
  search?: readonly PropertyName<T>[]
  /** Relations that records can include, and the attributes that they show: `{ author: ['id', 'name'] }`. */
  include?: Includes<T>
  /** Parameters that the handler reads itself. */
  params?: readonly string[]
  /** Whether pages have numbers, or begin after a record (`cursor`), which is fast at any depth. */
  pages?: 'numbers' | 'cursor'
}

/** The parameters that every list has. No filter can have one of these names. */
export const listParameters = ['page', 'per_page', 'sort', 'search', 'include', 'after', 'before'] as const
