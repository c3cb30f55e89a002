import { ValidationErrors } from '../../errors.js'
import { explainDatabaseError } from '../../database/database-errors.js'
import { newId } from '../../models/ids.js'
import type { Model } from '../../models/model.js'
import { callParticipants, needsRow, writesBeside, type RecordWrite } from '../participants.js'
import { splitInParts } from '../parts.js'
import { rowsOf } from '../row.js'
import { translate, violationsOf } from '../violations.js'
import { placeErrors } from './check.js'
import { differencesOf, isChanged, linesIn } from './compare.js'
import { linesOf, type Lines } from './declaration.js'
import { readStored, setStored, storedOf, type StoredLines } from './read.js'

/** The most lines of a statement. */
const mostRows = 500

/** Deletes, changes and inserts the lines of a record whose row is written. */
export async function writeLines(write: RecordWrite): Promise<void> {
  const { work, metadata, record, action } = write
  if (action !== 'create' && action !== 'update') return
  for (const list of linesOf(metadata)) {
    const lines = linesIn(record, list)
    if (!lines || !(await isChanged(write, list))) continue
    const stored = knownLines(write, list) ?? (await readStored(work, list, record))
    await writeList({ write, list, lines }, stored)
    setStored(record, list, lines)
  }
}

/** Deletes the lines of a record that is deleted, if somebody hears of each. The database deletes all others. */
export async function removeLines(write: RecordWrite): Promise<void> {
  const { work, metadata, record } = write
  for (const list of linesOf(metadata))
    if (writesBeside(list.metadata) || rowsOf(list.metadata).isHeard)
      await writeList({ write, list, lines: [] }, await readStored(work, list, record))
}

/** The stored lines, if it is sure that nobody else has changed them: the version of their record says so. */
function knownLines({ metadata, record, action }: RecordWrite, list: Lines): StoredLines | undefined {
  if (action === 'create') return new Map()
  return metadata.versionColumn && !needsRow(list.metadata) ? storedOf(record, list) : undefined
}

/** The lines that a list will have, and the write of their record. */
interface ListWrite {
  write: RecordWrite
  list: Lines
  lines: readonly Model[]
}

/** Replaces the stored lines of a list. */
async function writeList(it: ListWrite, stored: StoredLines): Promise<void> {
  const { write, list, lines } = it
  const { tx } = write.work
  const rows = rowsOf(list.metadata)
  const { removed, added, changed, moved, valuesOf } = await differencesOf(write, list, lines, stored)
  for (const line of added) line.id ??= newId()
  const heard = [
    ...(await tellBefore(it, removed, 'destroy')),
    ...(await tellBefore(it, changed, 'update')),
    ...(await tellBefore(it, added, 'create')),
  ]
  await rows.removeAll(tx, removed)
  if (list.hasUniquePosition) await rows.negate(tx, list.position.propertyName, moved)
  await writeParts(it, changed, (part) => rows.updateAll(tx, part, valuesOf))
  await writeParts(it, added, (part) => rows.insertAll(tx, part))
  for (const each of heard) await callParticipants('after', each)
}

/** Tells what takes part in the writes of lines, such as their history. Returns the writes, whose end it hears, too. */
async function tellBefore(
  { write: { work, reason }, list: { metadata } }: ListWrite,
  lines: readonly Model[],
  action: RecordWrite['action'],
): Promise<RecordWrite[]> {
  const writes: RecordWrite[] = []
  for (const record of writesBeside(metadata) ? lines : []) {
    const isRead = action !== 'create' && needsRow(metadata)
    const row = isRead ? await rowsOf(metadata).readStored(work.tx, record.id, true) : undefined
    const write = { work, metadata, record, action, reason, row }
    await callParticipants('before', write)
    writes.push(write)
  }
  return writes
}

/**
 * Writes lines in parts. If the database rejects a part, its lines are written one by one, to find the one with the error.
 *
 * @throws ValidationErrors of the line
 */
async function writeParts(
  it: ListWrite,
  written: readonly Model[],
  run: (part: readonly Model[]) => Promise<void>,
): Promise<void> {
  for (const part of splitInParts(written, mostRows))
    await run(part).catch(async (error: unknown) => {
      if (!(explainDatabaseError(error, it.list.metadata) instanceof ValidationErrors)) throw error
      for (const line of part) await run([line]).catch((cause: unknown) => rejectLine(it, line, cause))
    })
}

/** @throws ValidationErrors that say why the database has rejected a line */
async function rejectLine(
  { write: { work }, list, lines }: ListWrite,
  line: Model,
  error: unknown,
): Promise<never> {
  const errors = await violationsOf(work.tx, line, error, new Set([list.key.propertyName]))
  throw placeErrors(list, line, lines.indexOf(line), translate(errors, line, work.translate))
}
