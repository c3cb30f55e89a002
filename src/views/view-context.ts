import type { FlashMessage } from '../sessions/flash.js'

/** What the helpers of a template need to know of the request that the page answers. */
export interface ViewContext {
  /** The text of a translation id; an id without a translation shows as itself. */
  t(id: string, values?: Record<string, unknown>): string
  /** Whether a translation id has a text. Without this function, an id that shows as itself has none. */
  has?(id: string): boolean
  /** The language of the page: `en-US`. */
  readonly locale: string
  /** The token of forms that change something. Read only when a page has such a form. */
  readonly csrfToken?: string | undefined
  /** The path functions, by name: `postPath`, `newPostsPath`. */
  readonly paths: Record<string, (...args: never[]) => string>
  /** The messages that wait to be shown. Read only when a page shows them. */
  readonly flash: FlashMessage[]
  /** The path and query of the page: `/posts?page=2`. */
  readonly currentUrl: string
  /** The collections that are nested in a record, or without one those of the application. */
  collections?(record?: object): CollectionLink[]
  /** What the user submitted for a field, where it could not be read as the field's type; else undefined. */
  submittedValue?(record: object, field: string): unknown
}

/** Where a collection is: `{ name: 'comments', path: '/posts/1/comments' }`. */
export interface CollectionLink {
  name: string
  path: string
}
