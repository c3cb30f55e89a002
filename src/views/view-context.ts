import type { FlashMessage } from '../sessions/flash.js'

/** The data of a request that a template's helpers need. */
export interface ViewContext {
  /** Translates an id. Returns the id if it has no translation. */
  t(id: string, values?: Record<string, unknown>): string
  /** Whether an id has a translation. Without this function, an id that translates to itself has none. */
  has?(id: string): boolean
  /** The language of the page: `en-US`. */
  readonly locale: string
  /** The time zone of datetimes: `Europe/Berlin`. */
  readonly timeZone: string
  /** The maximum size of all files of a form in bytes. */
  readonly filesLimit?: number | undefined
  /** The CSRF token. It is only read by a page with a form. */
  readonly csrfToken?: string | undefined
  /** Returns a random key for the form of a new record, by which a repeated request is recognized. */
  newKey?(): string | undefined
  /** The path helpers, by name: `postPath`, `newPostsPath`. */
  readonly paths: Record<string, (...args: never[]) => string>
  /** Returns the path of a static file, with the digest of its content. */
  asset(name: string): string
  /** The pending messages. They are only read by a page that shows them. */
  readonly flash: FlashMessage[]
  /** The path and query of the page: `/posts?page=2`. */
  readonly currentUrl: string
  /** The collections and singular resources that are nested in a record, or, without a record, in none. */
  collections?(record?: object): CollectionLink[]
  /** The actions for many records that the policy has, and their paths. */
  bulkActions?(): readonly { action: string; path: string }[]
  /** The property of a record by which they select it. */
  readonly bulkKey?: string | undefined
  /** Whether the user may do something with a record. */
  can?(ability: string, record: object): boolean
  /** The submitted value of a field, if it could not be read as the field's type; else undefined. */
  submittedValue?(record: object, field: string): unknown
  /** The rows of a list that the request has sent, and the number of blank ones; else undefined. */
  sentRows?(
    record: object,
    list: string,
  ): { rows: readonly { line: object; isRemoved: boolean }[]; blank: number } | undefined
  /** The attributes that a request to the resource of the page may set; undefined for all. */
  readonly fields?: readonly string[] | undefined
}

/** A link to a collection: `{ name: 'comments', ids: ['comments'], path: '/posts/1/comments' }`. */
export interface CollectionLink {
  /** Its name, without a translation. */
  name: string
  /** The ids that its translation may have. The first one that has a translation applies. */
  ids: readonly string[]
  path: string
}
