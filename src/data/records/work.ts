import type { EntityManager, FindOptionsWhere, ObjectLiteral } from 'typeorm'
import type { Translate } from '../validation/validation.js'

/** Conditions that records must meet: those of an object, or of one object of a list. */
export type Conditions = FindOptionsWhere<ObjectLiteral> | FindOptionsWhere<ObjectLiteral>[]

/** The parts of a request that the functions of this folder need. It is their first parameter. */
export interface RecordWork {
  readonly tx: EntityManager
  readonly translate?: Translate | undefined
  /** The columns that the path sets. The error of a unique index belongs to one of its other columns. */
  readonly pathKeys?: ReadonlySet<string>
  /** `matched` if `If-Match` contains the version of the record that is written, `stale` if the body contains another one. */
  comparison?: 'stale' | 'matched' | undefined
  /** Returns the conditions that the records of a model must meet in the request; undefined if there are none. */
  scopeFor(model: Function | string): Conditions | undefined
}

/** Work without a request, and without scopes. */
export function unscopedWork(tx: EntityManager, translate?: Translate): RecordWork {
  return { tx, translate, scopeFor: () => undefined }
}
