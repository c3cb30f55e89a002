import type { AttributeOf } from '../models/attributes/attribute-of.js'

/** A column of a CSV file: `title`, or `supplier.code` of the record that a key refers to. */
export type CsvColumn<M> = {
  [Name in keyof M & string]-?:
    | Name
    | (NonNullable<M[Name]> extends { id: string } ? `${Name}.${keyof NonNullable<M[Name]> & string}` : never)
}[keyof M & string]

/** The options of an import. */
export interface ImportOptions<M> {
  /** A unique attribute by which a line finds the record that it updates. Without it, each line is new. */
  key?: AttributeOf<M> | 'id'
  /** The maximum number of lines (10,000). A longer file is 413. */
  maxLines?: number
}

/** The options of `@Resource` for many records at once. */
export interface ManyOptions<M, Action extends string> {
  /**
   * The columns of the CSV file of the list, in this order: GET /parts.csv, or /parts with
   * `Accept: text/csv`. `supplier.code` is an attribute of the record that `supplier_id` refers to.
   */
  csv?: readonly CsvColumn<NoInfer<M>>[]
  /**
   * Whether a CSV file can be imported: GET and POST /parts/import. Each line calls `create`, or `update` if
   * the `key` finds a record.
   */
  import?: true | ImportOptions<NoInfer<M>>
  /** The handlers for many items: POST /parts/bulk/archive calls `archive` for each selected part. */
  bulk?: readonly Action[]
}

/** The options of a resource with any model. */
// oxlint-disable-next-line no-explicit-any
export type AnyManyOptions = ManyOptions<any, string>
