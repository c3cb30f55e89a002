import { In, type EntityTarget, type FindOptionsOrder } from 'typeorm'
import { collectionName, recordName } from '../../naming/words.js'
import { isId } from '../ids.js'
import type { Model } from '../model.js'
import { addScopes } from '../records/scope.js'
import type { RecordWork } from '../records/work.js'

/** The records that a form offers. */
export interface Choices<T extends { id: string } = { id: string }> {
  /** All records, or only the selected ones if there are more than 1,000. */
  records: T[]
  /** Whether these are all records. */
  isComplete: boolean
  /** The name of their collection: `users`. */
  collection: string
}

const maxRecords = 1000

/**
 * Reads the records of a model that a form offers. If there are more than 1,000, it reads only the selected ones.
 *
 * @param selected the ids of the records that the form shows as chosen
 */
export async function findChoices<T extends Model>(
  work: RecordWork,
  model: EntityTarget<T>,
  selected: readonly unknown[],
): Promise<Choices<T>> {
  const metadata = work.tx.dataSource.getMetadata(model)
  const collection = collectionName(recordName(metadata.targetName))
  const find = (conditions: object | undefined, take: number) => {
    const where = addScopes<T>(work, metadata, conditions)
    // Every model has an id, but the compiler cannot see it through the conditional types of TypeORM.
    const order = { id: 'DESC' } as FindOptionsOrder<T>
    return work.tx.find(model, { ...(where && { where }), order, take })
  }
  // One more record than the limit shows that there are too many.
  const records = await find(undefined, maxRecords + 1)
  if (records.length <= maxRecords) return { records, isComplete: true, collection }
  const ids = selected.filter(isId)
  const choices = ids.length > 0 ? await find({ id: In(ids) }, ids.length) : []
  return { records: choices, isComplete: false, collection }
}
