import { In, type EntityMetadata } from 'typeorm'
import type { Model } from '../../models/model.js'
import { markLoaded } from '../../models/record-state.js'
import { idListsOf, loadIdLists } from '../joins.js'
import { lockOption } from '../locking.js'
import { isObserved, noteLoaded } from '../participants.js'
import { inParts } from '../parts.js'
import { rowsOf } from '../row.js'
import type { RecordWork } from '../work.js'
import { linesOf, type Lines } from './declaration.js'

/** The lines of a list that the database contains, by their ids, with the values of their rows. */
export type StoredLines = ReadonlyMap<string, { line: Model; values: readonly unknown[] }>

/** The lists with which records were read, or that were written. */
const storedLists = new WeakMap<object, ReadonlyMap<string, StoredLines>>()

/** Reads the lines of records, with one query for each list. */
export async function loadLines(
  work: RecordWork,
  metadata: EntityMetadata,
  records: readonly Model[],
): Promise<void> {
  for (const list of linesOf(metadata)) {
    const linesFor = await readLines(work, list, records)
    for (const record of records) setStored(record, list, linesFor(record))
  }
}

/** Sets the list of a record to the lines that the database contains. */
export function setStored(record: Model, list: Lines, lines: readonly Model[]): void {
  Reflect.set(record, list.name, lines)
  markLoaded(record, list.name)
  storedLists.set(record, new Map(storedLists.get(record)).set(list.name, toStored(list, lines)))
}

/** The lines that a record had when it was read or written; undefined if it was read without them. */
export function storedOf(record: Model, { name }: Lines): StoredLines | undefined {
  return storedLists.get(record)?.get(name)
}

/** Reads the lines that the database contains at the moment, and locks them. */
export async function readStored(work: RecordWork, list: Lines, record: Model): Promise<StoredLines> {
  const linesFor = await readLines(work, list, [record], lockOption(work.tx, list.metadata))
  return toStored(list, linesFor(record))
}

function toStored({ metadata }: Lines, lines: readonly Model[]): StoredLines {
  const rows = rowsOf(metadata)
  return new Map(lines.map((line) => [line.id, { line, values: rows.valuesOf(line) }]))
}

/** Reads the lines of records in their order. Returns a function that returns those of one record. */
async function readLines(
  work: RecordWork,
  { metadata, key }: Lines,
  records: readonly Model[],
  lock = {},
): Promise<(record: Model) => Model[]> {
  const ids = records.map(({ id }) => id)
  const lines = await inParts(ids, (part) =>
    work.tx.find<Model>(metadata.target, {
      where: { [key.propertyName]: In([...part]) },
      order: { position: 'ASC', id: 'ASC' },
      ...lock,
    } as object),
  )
  if (idListsOf(metadata).length > 0) await loadIdLists(work, metadata, lines)
  if (isObserved(metadata)) await noteLoaded(work, metadata, lines)
  const byRecord = new Map<unknown, Model[]>(ids.map((id) => [id, []]))
  for (const line of lines) byRecord.get(Reflect.get(line, key.propertyName))?.push(line)
  return ({ id }) => byRecord.get(id) ?? []
}
