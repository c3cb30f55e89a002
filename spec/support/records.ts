import type { EntityManager, EntityTarget } from 'typeorm'
import type { ValidationErrors } from '../../src/errors.js'
import { findChoices as choices } from '../../src/records/lists/choices.js'
import type { PageOptions, PageQuery } from '../../src/records/lists/pagination.js'
import * as lists from '../../src/records/lists/request.js'
import type { Model } from '../../src/models/model.js'
import { findRecord as find, findRecordBy as findBy } from '../../src/records/find.js'
import type { FindRecordOptions } from '../../src/records/locking.js'
import { loadRelations as load } from '../../src/records/relations.js'
import { destroyRecord as destroy, saveRecord as save } from '../../src/records/save.js'
import { unscopedWork } from '../../src/records/work.js'
import type { Translate } from '../../src/models/validation/validation.js'

/** The functions of `src/records` and `src/records/lists`, for a transaction without a request. */

/** `ctx.find` */
export function findRecord<T extends Model>(
  tx: EntityManager,
  model: EntityTarget<T>,
  id: unknown,
  options?: FindRecordOptions,
): Promise<T> {
  return find(unscopedWork(tx), model, id, options)
}

/** `ctx.findOneBy` */
export function findRecordBy<T extends Model>(
  tx: EntityManager,
  model: EntityTarget<T>,
  conditions: object,
  options?: FindRecordOptions,
): Promise<T> {
  return findBy(unscopedWork(tx), model, conditions, options)
}

/** `ctx.save` */
export function saveRecord(
  tx: EntityManager,
  record: Model,
  translate?: Translate,
  known?: ValidationErrors,
): Promise<ValidationErrors | undefined> {
  return save(unscopedWork(tx, translate), record, known)
}

/** `ctx.destroy` */
export function destroyRecord(tx: EntityManager, record: Model): Promise<void> {
  return destroy(unscopedWork(tx), record)
}

/** `ctx.load` */
export function loadRelations(
  tx: EntityManager,
  records: readonly Model[],
  relations: readonly string[],
): Promise<void> {
  return load(unscopedWork(tx), records, relations)
}

/** `ctx.choices` */
export function findChoices<T extends Model>(
  tx: EntityManager,
  model: EntityTarget<T>,
  selected: readonly unknown[],
) {
  return choices(unscopedWork(tx), model, selected)
}

/** A request for a page of a list. */
export type ListRequest = lists.ListRequest & { translate: Translate }

/** `ctx.paginate`, of a list with `@Queryable` */
export function paginateRequest<T extends Model>(
  tx: EntityManager,
  model: EntityTarget<T>,
  options: PageOptions<T>,
  request: ListRequest,
) {
  return lists.paginateRequest(unscopedWork(tx, request.translate), model, options, request)
}

/** `ctx.paginate` */
export function paginate<T extends Model>(
  tx: EntityManager,
  model: EntityTarget<T>,
  query: PageQuery,
  options: PageOptions<T> = {},
) {
  const request = { query, querystring: '', params: {}, prefersHtml: () => false }
  return lists.paginateRequest(unscopedWork(tx), model, options, request)
}
