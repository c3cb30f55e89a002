import {
  In,
  type EntityManager,
  type EntityTarget,
  type FindOptionsOrder,
  type FindOptionsWhere,
} from 'typeorm'
import { collectionName, recordName } from '../../naming/words.js'
import { isId } from '../ids.js'
import type { Model } from '../model.js'
import type { Where } from '../records/conditions.js'

/** The records that a form offers. */
export interface Choices<T extends { id: string } = { id: string }> {
  /** All records; or, if there are too many, only the selected ones. */
  records: T[]
  /** Whether these are all records. */
  isComplete: boolean
  /** The name of their collection: `users`. */
  collection: string
}

/** The maximum number of records that a form offers. */
const most = 1000

/**
 * Reads the records of a model that a form offers. If there are more than 1,000, it reads only the selected ones.
 *
 * @param selected the ids of the records that the form shows as chosen
 * @param scoped adds the scope of the model's policy to conditions
 */
export async function findChoices<T extends Model>(
  tx: EntityManager,
  model: EntityTarget<T>,
  selected: readonly unknown[],
  scoped: (where?: Where<T>) => FindOptionsWhere<T> | FindOptionsWhere<T>[] | undefined = asGiven,
): Promise<Choices<T>> {
  const collection = collectionName(recordName(tx.dataSource.getMetadata(model).targetName))
  const find = (where: Where<T> | undefined, take: number) => {
    const conditions = scoped(where)
    // Every model has an id, but the compiler cannot see it through the conditional types of TypeORM.
    const order = { id: 'DESC' } as FindOptionsOrder<T>
    return tx.find(model, { ...(conditions && { where: conditions }), order, take })
  }
  const records = await find(undefined, most + 1)
  if (records.length <= most) return { records, isComplete: true, collection }
  const ids = selected.filter(isId)
  const where = { id: In(ids) } as Where<T>
  return { records: ids.length > 0 ? await find(where, ids.length) : [], isComplete: false, collection }
}

function asGiven<T>(where?: Where<T>): FindOptionsWhere<T> | undefined {
  return where as FindOptionsWhere<T> | undefined
}
