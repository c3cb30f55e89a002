import { In, LessThan, Not, type EntityTarget } from 'typeorm'
import { milliseconds, type Duration } from '../common/duration.js'
import type { Context } from '../context.js'
import { ValidationErrors } from '../errors.js'
import type { Model } from '../models/model.js'
import { inTransaction } from './members.js'
import { destroyRecord } from './save.js'
import { requireTrash, selectTrashed } from './trash.js'
import { unscopedWork } from './work.js'

/** The maximum number of records that a call deletes, so that a transaction stays short. */
const batchSize = 100

/**
 * Deletes old trash of a model for good, the oldest first: at most 100 records, each as by `ctx.destroy`.
 * Records to which others refer stay in the trash. Policies are not asked, because it is for jobs and
 * administrators.
 *
 * @example
 * const emptied = await emptyTrash(job, Contract, { olderThan: '30 days' })
 * @param ctx the context of a job or request
 * @param options.olderThan how long a record has been in the trash: milliseconds, or a text like '30 days'
 * @returns the number of deleted records
 * @throws DeclarationError when `olderThan` is malformed, or when the model has no trash
 */
export async function emptyTrash<T extends Model>(
  ctx: Pick<Context, 'tx' | 'destroy'>,
  model: EntityTarget<T>,
  { olderThan }: { olderThan: Duration },
): Promise<number> {
  const span = milliseconds(olderThan, 'The `olderThan` of emptyTrash()')
  // Every context and job has these members.
  return inTransaction(ctx as Context, async ({ tx, translate }) => {
    const metadata = tx.dataSource.getMetadata(model)
    requireTrash(metadata, 'emptyTrash()')
    const date = metadata.deleteDateColumn?.propertyPath ?? ''
    // The history of a record names who empties the trash.
    const work = { ...unscopedWork(tx, translate), request: ctx }
    const kept: string[] = []
    let count = 0
    while (count < batchSize) {
      const where = { [date]: LessThan(new Date(Date.now() - span)), id: Not(In(kept)) }
      const query = selectTrashed<Model>(tx, metadata, where, { order: { id: 'ASC' } })
      const records = await query.take(batchSize - count).getMany()
      if (records.length === 0) break
      for (const record of records) {
        const isGone = await destroyRecord(work, record, { trash: false }).then(
          () => true,
          (error: unknown) => {
            if (error instanceof ValidationErrors) return false
            throw error
          },
        )
        if (isGone) count += 1
        else kept.push(record.id)
      }
    }
    return count
  })
}
