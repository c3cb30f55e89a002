import type { Model } from '../../models/model.js'

/** Values of attributes as JSON: a date is a text. */
export type JsonValues<R> = { readonly [K in keyof R]?: unknown }

/** A resource, as `describeResource` checks it. */
export interface ResourceDescription<R extends Model> {
  /** The name of a record, with which titles and flash messages begin: `blog_post`. */
  name: string
  /** The path of the list, or of a singular resource. A function is called in each test, when the parents exist. */
  path: string | (() => string)
  /** Creates a record, as `factory.make` does. */
  make: (values: Partial<R>) => Promise<R>
  /** The keys of the parent and of the owner whom the records belong to. A record with other keys must not be found. */
  within?: () => Partial<R>
  /** Values with which a record is created. A function can create the records to which they refer. */
  values: JsonValues<R> | (() => Promise<JsonValues<R>>)
  /** Values to which a record is changed. */
  changes: JsonValues<R>
  /** The attributes without which a record isn't valid (none). */
  required?: ReadonlyArray<keyof R & string>
  /** The lists of records that are a part of a record. Its values have one line of each. */
  nested?: { readonly [K in keyof R]?: NestedDescription }
  /** Parameters with which the list finds a record. Without them, the list isn't queried. */
  query?: (record: R) => Record<string, string>
  /** Values of the record that is tested, if those of `make` aren't enough: a list is sorted by them, for example. */
  record?: Partial<R>
  /** Values of a newer record. */
  newer?: Partial<R>
  /** The order of the list (the newer record first). */
  listed?: (record: R, newer: R) => R[]
  /** Whether there can be only one record (no). */
  onlyOne?: boolean
  /** Whether it is a singular resource, without a list (no). */
  singular?: boolean
  /** Whether it has pages, too (yes, except in an API application). */
  pages?: boolean
  /** Whether its model has a version (no). */
  locking?: boolean
  /** Whether each change of a record is recorded (no). */
  history?: boolean
  /** Whether deleted records are moved to a trash, from which they can be restored (no). */
  trash?: boolean
  /** Routes beside those of the seven handlers, as for `kit generate resource --route`. */
  routes?: readonly RouteWord[]
  /**
   * True if a policy with roles decides about the record. A function returns the parent whose policy decides
   * instead: the users who may update the parent. Each handler is then called by the lowest role that the policy allows it, and
   * must refuse it to the highest other one. If nobody may, the highest role gets 403.
   */
  guard?: true | (() => Model)
  /** The media types of the attributes with files; in a list, that of an attribute with a list of files. */
  files?: Readonly<Record<string, string | readonly [string]>>
  /** The columns of the CSV file that the list offers. */
  csv?: readonly string[]
  /** The key of an import, or true if each line of the file creates a record. */
  import?: string | true
  /** The handlers that can be called for many records: `destroy`. */
  bulk?: readonly string[]
  /** The flash messages that differ from `The post was created.`, and from `Publish succeeded.` of a route. */
  messages?: Readonly<Record<string, string>>
  /** Signs out. With this function, visitors must be rejected. */
  asVisitor?: () => Promise<unknown>
  /** Signs another user in. With this function, others must not find the records. */
  asOther?: () => Promise<unknown>
}

/** A list of lines, as `describeResource` checks it. */
export interface NestedDescription {
  /** Values with which a line is created. A function can create the records to which they refer. */
  values: object | (() => Promise<object>)
  /** Values to which a line is changed. */
  changes: object
  /** The attributes without which a line isn't valid (none). */
  required?: readonly string[]
  /** Whether a list can have only one line, because a unique value is the same in all (no). */
  onlyOne?: boolean
}

/** A route that `@Route` adds to the path of a record (`publish:post`), or to that of the list (`drafts:get:collection`). */
export type RouteWord = `${string}:${RouteMethod}` | `${string}:${RouteMethod}:collection`
type RouteMethod = 'get' | 'post' | 'put' | 'patch' | 'delete'
