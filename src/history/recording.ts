import { QueryFailedError } from 'typeorm'
import { assignedIds, idListsOf, problemOf, rowsOf, takePart } from '../extension.js'
import type { RecordWork, RecordWrite } from '../extension.js'
import { changesBetween, rowOfRecord, type LinkedIds, type State } from './changes.js'
import { checkHistories, entriesOf, hasHistory } from './declaration.js'
import { EntriesMissing, EntryIsReadOnly, UnrecordedWrite } from './errors.js'
import { HistoryEntry, missingParts, type HistoryAction } from './entry.js'
import { readLinks } from './links.js'
import { noteEntry, originOf } from './origin.js'

/** The links before a write. */
const linksBefore = new WeakMap<RecordWrite, LinkedIds>()

takePart({
  concerns: hasHistory,
  needsRow: true,
  canWait: true,
  checkModels: checkHistories,
  checkTables: async (database) => (database.entityMetadatas.some(hasHistory) ? missingParts(database) : []),
  async before(write) {
    const { work, metadata, record, action } = write
    if (action === 'destroy') linksBefore.set(write, await readLinks(work.tx, metadata, record, () => true))
    if (action === 'update')
      linksBefore.set(
        write,
        await readLinks(work.tx, metadata, record, ({ property }) => isAssigned(write, property)),
      )
  },
  after: record,
})

// Links belong to the record that is saved, so the history of the other side would lack them.
takePart({
  concerns: (metadata) =>
    !hasHistory(metadata) &&
    idListsOf(metadata).some(({ relation }) => hasHistory(relation.inverseEntityMetadata)),
  async check(write) {
    const { metadata } = write
    for (const { property, relation } of idListsOf(metadata))
      if (hasHistory(relation.inverseEntityMetadata) && isAssigned(write, property))
        throw new UnrecordedWrite(
          `links of ${relation.inverseEntityMetadata.targetName}`,
          `ctx.save of ${metadata.targetName}.${property}. Declare @History() on ${metadata.targetName}, too.`,
        )
    return undefined
  },
})

takePart({
  concerns: ({ target }) => target === HistoryEntry,
  check: () => Promise.reject(new EntryIsReadOnly()),
})

function isAssigned({ record: written, action }: RecordWrite, property: string): boolean {
  if (action !== 'create' && action !== 'update') return false
  const ids = assignedIds(written, property)
  return ids !== undefined && !(action === 'create' && ids.length === 0)
}

/** Inserts the entry of a write. */
async function record(write: RecordWrite): Promise<void> {
  const { work, metadata, record: written, row } = write
  // An update whose row is missing has inserted it.
  const action = write.action === 'update' && !row ? 'create' : write.action
  if (action === 'destroy' && !row) return
  const isMove = action === 'trash' || action === 'restore'
  const before: State | undefined = row && { row, links: linksBefore.get(write) ?? new Map() }
  const after = isMove || action === 'destroy' ? undefined : await stateAfter(write)
  const changes = isMove ? [] : changesBetween(metadata, before, after)
  if (action === 'update' && changes.length === 0) return
  const { reason, isWaiting } = write
  await insertEntry(work, metadata.tablePath, action, { record_id: written.id, changes, reason }, isWaiting)
}

/** Reads what the database has stored, unless the record shows it. */
async function stateAfter(write: RecordWrite): Promise<State> {
  const { work, metadata, record: written, row: before } = write
  const known = rowOfRecord(metadata, written, before)
  const row = known ?? (await rowsOf(metadata).readStored(work.tx, written.id, false))
  const isNew = write.action === 'create'
  const links = await readLinks(work.tx, metadata, written, (it) => isAssigned(write, it.property), isNew)
  return { row, links }
}

/**
 * Inserts an entry, in the transaction of the work.
 *
 * @param isWaiting whether it is sent together with others of an import
 */
export async function insertEntry(
  work: RecordWork,
  table: string,
  action: HistoryAction,
  values: Partial<Pick<HistoryEntry, 'record_id' | 'changes'>> & { reason?: string | undefined },
  isWaiting = false,
): Promise<void> {
  const { record_id = null, changes = [], reason = null } = values
  const entry = Object.assign(new HistoryEntry(), { table_name: table, action, record_id, changes, reason })
  Object.assign(entry, originOf(work))
  await rowsOf(entriesOf(work.tx.dataSource))
    .insert({ tx: work.tx, isAlone: isWaiting, isBeside: true }, entry)
    .catch((error: unknown) => {
      const isMissing = error instanceof QueryFailedError && problemOf(error) === 'missing'
      throw isMissing ? new EntriesMissing(error) : error
    })
  noteEntry(work)
}
