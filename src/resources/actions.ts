import type { PathNames } from '../names.js'

/** One of the seven things that a resource can do, and the route that it makes (contract, section 4). */
export interface Action {
  handler: 'list' | 'create' | 'new' | 'show' | 'update' | 'destroy' | 'edit'
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Whether the path leads to the collection or to one item. */
  on: 'collection' | 'item'
  /** What follows that path. */
  suffix: '' | '/new' | '/edit'
  name: keyof PathNames
  /** Mounted only when the resource implements it. */
  optional: boolean
}

/** The seven actions in the order in which they are mounted: `new` before `show`, so that it is not taken for an id. */
export const actions: readonly Action[] = [
  { handler: 'list', method: 'GET', on: 'collection', suffix: '', name: 'collection', optional: false },
  { handler: 'create', method: 'POST', on: 'collection', suffix: '', name: 'collection', optional: false },
  { handler: 'new', method: 'GET', on: 'collection', suffix: '/new', name: 'new', optional: true },
  { handler: 'show', method: 'GET', on: 'item', suffix: '', name: 'item', optional: false },
  { handler: 'update', method: 'PUT', on: 'item', suffix: '', name: 'item', optional: false },
  { handler: 'destroy', method: 'DELETE', on: 'item', suffix: '', name: 'item', optional: false },
  { handler: 'edit', method: 'GET', on: 'item', suffix: '/edit', name: 'edit', optional: true },
]
