import type { EntityManager, FindOptionsWhere, ObjectLiteral } from 'typeorm'
import type { Translate } from '../models/validation/validation.js'

/** Conditions that records must meet: all conditions of an object, or of one of the objects in a list. */
export type Conditions = FindOptionsWhere<ObjectLiteral> | FindOptionsWhere<ObjectLiteral>[]

/** The parts of a request that the functions of this folder need. It is their first parameter. */
export interface RecordWork {
  readonly tx: EntityManager
  readonly translate?: Translate | undefined
  /** Whether it belongs to seeds or specs, which may write what only methods write otherwise. */
  readonly isOutside?: boolean
  /** The columns that the path sets. A violated unique index is an error of another column. */
  readonly pathKeys?: ReadonlySet<string>
  /** The request, for the paths in its records: a context with `route` and `params`. */
  readonly request?: object
  /** `matched` if `If-Match` has the version of the written record, `stale` if the body has another. */
  comparison?: 'stale' | 'matched' | undefined
  /** The attributes of a record that the request has set, with the values that they had before. */
  bound?(record: object): ReadonlyMap<string, unknown>
  /**
   * Returns the conditions that the records of a model must meet in the request; undefined if there are none.
   *
   * @param where the conditions that they meet already
   */
  scopeFor(model: Function | string, where?: object): Conditions | undefined
  /** The ids of records in the path that the request has found. Without it, trashed records count, too. */
  foundInPath?(model: Function | string): readonly unknown[]
}

/** The same work with another manager, for example that of a savepoint. */
export function workIn(work: RecordWork, tx: EntityManager): RecordWork {
  return tx === work.tx ? work : (Object.create(work, { tx: { value: tx } }) as RecordWork)
}

/** Work without a request, and without scopes. */
export function unscopedWork(tx: EntityManager, translate?: Translate): RecordWork {
  return { tx, translate, isOutside: true, scopeFor: () => undefined }
}
