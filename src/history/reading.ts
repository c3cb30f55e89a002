import { IsNull, LessThan, MoreThanOrEqual, type EntityMetadata, type ObjectLiteral } from 'typeorm'
import {
  inParts,
  inTransaction,
  isId,
  isTrashed,
  kindOf,
  milliseconds,
  rowsOf,
  scopeOf,
  takePart,
  type Conditions,
  type Duration,
  type RecordWork,
} from '../extension.js'
import { DeclarationError, errors, Model, RecordNotFound } from '../index.js'
import type { Context, JobContext, Page } from '../index.js'
import { entriesOf, hasHistory, recordedOf } from './declaration.js'
import { HistoryEntry, type AttributeChange } from './entry.js'
import { inWork } from './guard.js'
import { originOf } from './origin.js'
import { insertEntry } from './recording.js'

// Entries can be older than the rules of their model.
takePart({
  concerns: ({ target }) => target === HistoryEntry,
  loaded: async (work, { dataSource }, entries) => hide(work, dataSource.entityMetadatas, entries),
})

takePart({
  concerns: hasHistory,
  // It names nobody, because the reader may not be allowed to see the user.
  async explainChange(work, { tablePath }, { id }) {
    const where = { table_name: tablePath, record_id: id }
    const [entry] = await work.tx.find(HistoryEntry, { where, order: { id: 'DESC' }, take: 1 })
    if (!entry) return undefined
    const isOwn = entry.user_id === originOf(work).user_id
    const who = entry.user_id === null ? 'nobody' : isOwn ? 'you' : 'another'
    const text = { nobody: 'without a user', you: 'by you', another: 'by another user' }[who]
    const time = entry.created_at
    return (
      work.translate?.(`validation.stale.by_${who}`, { time }) ??
      `Last changed ${text}, ${time.toISOString()}.`
    )
  },
})

/**
 * Reads a page of the entries of a record, the newest first, as `ctx.paginate` reads it. If the model has a policy, its `history`
 * method decides who may.
 *
 * @example
 * const { records: entries, pagination } = await historyOf(ctx, contract)
 * @throws Forbidden (403) when the policy does not allow `history`, or has no such method
 * @throws RecordNotFound (404) when the record is in the trash
 * @throws DeclarationError when its model has no history
 */
export async function historyOf(ctx: Context, record: Model): Promise<Page<HistoryEntry>> {
  const { constructor: model, id, created_at } = record
  const metadata = ctx.tx.dataSource.getMetadata(model)
  requireHistory(metadata, 'historyOf()')
  if (isTrashed(metadata, record)) throw new RecordNotFound(metadata.targetName)
  await ctx.authorize(record, 'history').catch((error: unknown) => {
    if (!(error instanceof errors.NoPolicy)) throw error
  })
  const table_name = metadata.tablePath
  // A policy of HistoryEntry is for lists of all entries.
  const page = await ctx.unscoped.paginate(HistoryEntry, {
    where: [
      { table_name, record_id: id },
      { table_name, record_id: IsNull(), created_at: MoreThanOrEqual(created_at) },
    ],
  })
  await inTransaction(ctx, async (work) => {
    await hide(work, [metadata], page.records)
    await showUsers(work, page.records)
  })
  for (const { changes } of page.records) showValues(metadata, changes)
  return page
}

/** Sets `before` and `after` for templates: a date, or a text. JSON lacks them. */
function showValues(metadata: EntityMetadata, changes: readonly AttributeChange[]): void {
  const columns = new Map(recordedOf(metadata).map(({ name, column }) => [name, column]))
  for (const change of changes) {
    const isDate = kindOf(columns.get(change.attribute)?.type) === 'datetime'
    const show = (value: unknown) => {
      if (typeof value !== 'string') return value === null ? null : JSON.stringify(value)
      return isDate ? new Date(value) : value
    }
    Object.defineProperties(change, {
      before: { value: show(change.from) },
      after: { value: show(change.to) },
    })
  }
}

/**
 * Sets `user` for templates: the reader, and those whom the policy of the users lets the reader see. Without a policy, an address
 * is nobody else's business.
 */
async function showUsers(work: RecordWork, entries: readonly HistoryEntry[]): Promise<void> {
  const { dataSource } = work.tx
  const reader: unknown = Reflect.get(Object(work.request), 'user')
  if (!(reader instanceof Model) || !dataSource.hasMetadata(reader.constructor)) return
  const metadata = dataSource.getMetadata(reader.constructor)
  const ids = entries.flatMap(({ user_id }) => user_id ?? [])
  const where = scopeOf(work, metadata) ?? { id: reader.id }
  const users = await findByIds(work, metadata, ids, where)
  for (const entry of entries)
    Object.defineProperty(entry, 'user', { value: users.find(({ id }) => String(id) === entry.user_id) })
}

/** Reads the records of some ids that meet conditions. */
function findByIds(
  { tx }: RecordWork,
  { target }: EntityMetadata,
  ids: readonly string[],
  where: Conditions,
): Promise<readonly ObjectLiteral[]> {
  // The users of today can have ids of another kind than those of former entries.
  return inParts([...new Set(ids.filter(isId))], (part) =>
    tx
      .createQueryBuilder<ObjectLiteral>(target, 'related')
      .setFindOptions({ where, loadEagerRelations: false })
      .andWhere('related.id IN (:...part)', { part })
      .getMany(),
  )
}

/** Masks the values of attributes that are hidden now, and leaves out the ids of links that the reader may not see. */
async function hide(
  work: RecordWork,
  models: readonly EntityMetadata[],
  entries: readonly Model[],
): Promise<void> {
  for (const metadata of models.filter(hasHistory)) {
    const own = entries.filter((entry) => Reflect.get(entry, 'table_name') === metadata.tablePath)
    const changes = own.flatMap((entry) => (entry as HistoryEntry).changes)
    for (const { name, isMasked, links } of changes.length > 0 ? recordedOf(metadata) : []) {
      const changed = changes.filter(({ attribute }) => attribute === name)
      if (isMasked)
        for (const change of changed) Object.assign(change, { from: null, to: null, masked: true })
      else if (links && changed.length > 0) await hideIds(work, links.relation.inverseEntityMetadata, changed)
    }
  }
}

async function hideIds(
  work: RecordWork,
  related: EntityMetadata,
  changes: readonly AttributeChange[],
): Promise<void> {
  const where = scopeOf(work, related)
  if (!where) return
  const ids = changes.flatMap(({ from, to }) => [from ?? [], to ?? []].flat() as string[])
  const seen = await findByIds(work, related, ids, where)
  const visible = new Set(seen.map(({ id }) => String(id)))
  const shown = (list: unknown) => (Array.isArray(list) ? list.filter((id) => visible.has(String(id))) : list)
  for (const change of changes) Object.assign(change, { from: shown(change.from), to: shown(change.to) })
}

/** @throws DeclarationError when a model has no history */
function requireHistory(metadata: EntityMetadata, what: string): void {
  if (hasHistory(metadata)) return
  throw new DeclarationError(
    `${what} needs a history, but ${metadata.targetName} has none. Decorate the class with @History().`,
  )
}

/** The maximum number of old entries that a call deletes, so that a transaction stays short. */
const batchSize = 1000

/** Which entries `forgetHistory` deletes: old ones, of all models or of one, or those of a record. */
export type ForgottenEntries =
  | { olderThan: Duration; model?: abstract new () => Model; record?: undefined }
  | { record: Model; olderThan?: undefined; model?: undefined }

/**
 * Deletes entries: the oldest ones, at most 1,000 in a call, or all of a record, of which one entry without values is left, `forgotten`.
 * Policies are not asked, because it is for jobs and administrators.
 *
 * @example
 * const forgotten = await forgetHistory(job, { olderThan: '730 days' })
 * @param ctx the context of a request or a job
 * @param what `olderThan` is milliseconds, or a text like '730 days'
 * @returns the number of deleted entries
 * @throws DeclarationError when `olderThan` is malformed, or when the model has no history
 */
export function forgetHistory(ctx: Context | JobContext, what: ForgottenEntries): Promise<number> {
  return inWork(ctx, async (work) => {
    const { dataSource } = work.tx
    const model = what.record?.constructor ?? what.model
    const metadata = model && dataSource.getMetadata(model)
    if (metadata) requireHistory(metadata, 'forgetHistory()')
    const table = metadata && { table_name: metadata.tablePath }
    if (!what.record) {
      const age = milliseconds(what.olderThan, 'The `olderThan` of forgetHistory()')
      return remove(work, { ...table, created_at: LessThan(new Date(Date.now() - age)) })
    }
    let count = 0
    for (let removed = batchSize; removed === batchSize; count += removed)
      removed = await remove(work, { ...table, record_id: what.record.id })
    await insertEntry(work, metadata?.tablePath ?? '', 'forgotten', { record_id: what.record.id })
    return count
  })
}

/** Deletes the oldest entries that meet conditions. Returns their number. */
async function remove({ tx }: RecordWork, where: object): Promise<number> {
  const options = { where, select: { id: true }, order: { id: 'ASC' }, take: batchSize } as const
  const found = await tx.find(HistoryEntry, options)
  await inParts(found, async (part) => {
    await rowsOf(entriesOf(tx.dataSource)).removeAll(tx, part)
    return []
  })
  return found.length
}
