import { type EntityMetadata } from 'typeorm'
import { unreadable } from '../attributes/coerce.js'
import type { Model } from '../model.js'
import { valueReader } from '../records/conditions.js'
import { targetOf } from '../records/links.js'
import { conditionOn, readAnchor, References } from '../records/references.js'
import { combineAlternatives, noRecords } from '../records/scope.js'
import { commonOf, waysOf } from '../records/within.js'
import type { Conditions, RecordWork } from '../records/work.js'

/** A record in the path of a request. */
export interface RecordInPath {
  model: Function
  /** The property whose value is in the path: `id`, or `slug`. */
  property: string
  value: unknown
}

/** Returns the conditions of the records of a model to which a record can refer; undefined if there are none. */
export async function conditionsFor(
  work: RecordWork,
  target: EntityMetadata,
  record: Model,
): Promise<Conditions | undefined> {
  const metadata = work.tx.dataSource.getMetadata(record.constructor)
  const common = commonOf(waysOf(metadata), target)
  if (common.length === 0) return undefined
  const references = new References(work, metadata, record, true)
  const { where, missing } = await references.conditionsOf(common)
  return missing ? noRecords : where
}

/** Returns the conditions of the records of a model that are in the records of a path; undefined if there are none. */
export async function conditionsInPath(
  work: RecordWork,
  target: EntityMetadata,
  records: readonly RecordInPath[],
): Promise<Conditions | undefined> {
  // The records in the path, and those that contain them, by their tables.
  const known = new Set<string>()
  let where: Conditions | undefined
  for (const { model, property, value } of records) {
    const metadata = work.tx.dataSource.getMetadata(model)
    const column = metadata.findColumnWithPropertyPath(property)
    const ways = waysOf(metadata)
    for (const { own, theirs } of column ? commonOf(ways, target) : []) {
      if (!column || known.has(own.model.tablePath)) continue
      const read = valueReader(column)(value)
      if (read === unreadable || read === undefined) return noRecords
      const last = theirs.path.at(-1)
      const isKey = own.path.length === 0 && last && targetOf(last.key) === column
      const found =
        own.path.length > 0 ? await readAnchor(work, metadata, column, read, own.path) : { [property]: read }
      if (found === undefined || found === null) return noRecords
      where = combineAlternatives(where ?? {}, conditionOn(theirs, isKey ? read : found))
    }
    for (const way of ways) known.add(way.model.tablePath)
  }
  return where
}
