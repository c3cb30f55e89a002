import type { PathNames } from '../naming/names.js'

/** One of the seven actions of a resource, and its route. */
export interface Action {
  handler: 'list' | 'create' | 'new' | 'show' | 'update' | 'destroy' | 'edit'
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Whether the path begins with that of the collection or that of one item. */
  on: 'collection' | 'item'
  /** The end of the path. */
  suffix: '' | '/new' | '/edit'
  /** Which path name of the resource it has: `postsPath`, `postPath`, `newPostsPath` or `editPostPath`. */
  name: keyof PathNames
  /** Whether the route is mounted only if the resource implements the handler. */
  optional: boolean
}

/** The seven actions in mount order: `new` precedes `show`, so that `/posts/new` shows no post. */
export const actions: readonly Action[] = [
  { handler: 'list', method: 'GET', on: 'collection', suffix: '', name: 'collection', optional: false },
  { handler: 'create', method: 'POST', on: 'collection', suffix: '', name: 'collection', optional: false },
  { handler: 'new', method: 'GET', on: 'collection', suffix: '/new', name: 'new', optional: true },
  { handler: 'show', method: 'GET', on: 'item', suffix: '', name: 'item', optional: false },
  { handler: 'update', method: 'PUT', on: 'item', suffix: '', name: 'item', optional: false },
  { handler: 'destroy', method: 'DELETE', on: 'item', suffix: '', name: 'item', optional: false },
  { handler: 'edit', method: 'GET', on: 'item', suffix: '/edit', name: 'edit', optional: true },
]

/** The actions of a singular resource. It has no list, and the path of its only item: `/session`. */
export const singularActions: readonly Action[] = actions
  .filter(({ handler }) => handler !== 'list')
  .map((action) => ({ ...action, on: 'item', name: action.name === 'collection' ? 'item' : action.name }))
