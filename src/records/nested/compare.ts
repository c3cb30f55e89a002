import { Model } from '../../models/model.js'
import type { RecordWrite } from '../participants.js'
import { rowsOf } from '../row.js'
import { linesOf, type Lines } from './declaration.js'
import { storedOf, type StoredLines } from './read.js'

/** The lines that a record has now; undefined if it keeps those that are stored. */
export function linesIn(record: Model, { name }: Lines): Model[] | undefined {
  const value: unknown = Reflect.get(record, name)
  return Array.isArray(value) ? value.filter((line) => line instanceof Model) : undefined
}

/** Whether the lines of a record differ from those with which it was read. */
export function changesLines(write: RecordWrite): boolean {
  return linesOf(write.metadata).some((list) => isChanged(write, list))
}

/** Whether the lines of a list differ from those with which their record was read. */
export function isChanged({ record, action }: RecordWrite, list: Lines): boolean {
  const lines = linesIn(record, list)
  if (!lines) return false
  const stored = action === 'create' ? new Map() : storedOf(record, list)
  if (!stored) return true
  const { removed, added, changed } = differencesOf(list, lines, stored)
  return removed.length + added.length + changed.length > 0
}

/** The lines that a list no longer has, those that it has more, and those that differ from their rows. */
export function differencesOf(list: Lines, lines: readonly Model[], stored: StoredLines) {
  const rows = rowsOf(list.metadata)
  const valuesOf = ({ id }: Model) => stored.get(id)?.values ?? []
  const { propertyName, databaseName } = list.position
  const ids = new Set(lines.map(({ id }) => id))
  const changed = lines.filter((line) => stored.has(line.id) && rows.differs(line, valuesOf(line)))
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
