import { Model } from '../../models/model.js'
import { changesBeside, type RecordWrite } from '../participants.js'
import { rowsOf } from '../row.js'
import { isSaved, writeOf } from '../save.js'
import { linesOf, type Lines } from './declaration.js'
import { storedOf, type StoredLines } from './read.js'

/** The lines that a record has now; undefined if it keeps those that are stored. */
export function linesIn(record: Model, { name }: Lines): Model[] | undefined {
  const value: unknown = Reflect.get(record, name)
  return Array.isArray(value) ? value.filter((line) => line instanceof Model) : undefined
}

/** Whether the lines of a record differ from those with which it was read. */
export async function changesLines(write: RecordWrite): Promise<boolean> {
  for (const list of linesOf(write.metadata)) if (await isChanged(write, list)) return true
  return false
}

/** Whether the lines of a list differ from those with which their record was read. */
export async function isChanged(write: RecordWrite, list: Lines): Promise<boolean> {
  const { record, action } = write
  const lines = linesIn(record, list)
  if (!lines) return false
  const stored = action === 'create' ? new Map() : storedOf(record, list)
  if (!stored) return true
  const { removed, added, changed } = await differencesOf(write, list, lines, stored)
  return removed.length + added.length + changed.length > 0
}

/** The lines that a list no longer has, those that it has more, and those that differ from their rows. */
export async function differencesOf(
  write: RecordWrite,
  list: Lines,
  lines: readonly Model[],
  stored: StoredLines,
) {
  const rows = rowsOf(list.metadata)
  const valuesOf = ({ id }: Model) => stored.get(id)?.values ?? []
  const { propertyName, databaseName } = list.position
  const ids = new Set(lines.map(({ id }) => id))
  const changed: Model[] = []
  for (const line of lines.filter(({ id }) => stored.has(id)))
    if (rows.differs(line, valuesOf(line)) || (await changesBeside(writeOfLine(write, line))))
      changed.push(line)
  return {
    removed: [...stored.values()].flatMap(({ line }) => (ids.has(line.id) ? [] : line)),
    added: lines.filter(({ id }) => !stored.has(id)),
    changed,
    /** Those of the changed lines that have another position. */
    moved: changed.filter(
      (line) => rows.rowOf(valuesOf(line))[databaseName] !== Reflect.get(line, propertyName),
    ),
    valuesOf,
  }
}

/** The write of a line with its record. */
export function writeOfLine({ work, reason }: RecordWrite, line: Model): RecordWrite {
  return writeOf(work, line, isSaved(line) ? 'update' : 'create', reason)
}
