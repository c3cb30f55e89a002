import { In, type EntityTarget, type FindOptionsOrder } from 'typeorm'
import { collectionName, recordName } from '../../naming/words.js'
import { isId } from '../../models/ids.js'
import type { Model } from '../../models/model.js'
import { addScope, addScopes } from '../scope.js'
import type { Conditions, RecordWork } from '../work.js'

/** The records that a form offers. */
export interface Choices<T extends { id: string } = { id: string }> {
  /** All records, or only the selected ones if there are more than 1,000. */
  records: T[]
  /** Whether these are all records. */
  isComplete: boolean
  /** The name of their collection: `users`. */
  collection: string
  /** The selected ids that are not among all records. A form shows them as "Not available". */
  unavailable?: readonly string[]
}

const maxRecords = 1000

/**
 * Reads the records of a model that a form offers. If there are more than 1,000, it reads only the selected
 * ones.
 *
 * @param selected the ids of the records that the form shows as chosen
 * @param where the conditions of the records that the form may offer; undefined if there are none
 */
export async function findChoices<T extends Model>(
  work: RecordWork,
  model: EntityTarget<T>,
  selected: readonly unknown[],
  where?: Conditions,
): Promise<Choices<T>> {
  const metadata = work.tx.dataSource.getMetadata(model)
  const collection = collectionName(recordName(metadata.targetName))
  const find = (conditions: object | undefined, take: number, withDeleted = false) => {
    const all = addScope(metadata, conditions, where)
    const inScope = addScopes<T>(work, metadata, all)
    // Every model has an id, but the compiler cannot see it through the conditional types of TypeORM.
    const order = { id: 'DESC' } as FindOptionsOrder<T>
    return work.tx.find(model, { ...(inScope && { where: inScope }), order, take, withDeleted })
  }
  // One more record than the limit shows that there are too many.
  const records = await find(undefined, maxRecords + 1)
  const ids = [...new Set(selected.filter(isId).map(String))]
  if (records.length <= maxRecords) {
    const missing = ids.filter((id) => !records.some((record) => record.id === id))
    // A selected record stays selected in the trash, so that the form does not choose another one.
    if (metadata.deleteDateColumn && missing.length > 0)
      records.push(...(await find({ id: In(missing) }, missing.length, true)))
    const unavailable = ids.filter((id) => !records.some((record) => record.id === id))
    return { records, isComplete: true, collection, unavailable }
  }
  const choices = ids.length > 0 ? await find({ id: In(ids) }, ids.length, true) : []
  return { records: choices, isComplete: false, collection }
}
