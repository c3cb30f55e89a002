import { fieldValue } from '../common/input-values.js'
import { lineAttributes, type Attribute } from '../models/attributes/attributes.js'
import type { NestedList } from '../models/attributes/nested-lists.js'
import { createObject, isBlank, isFields, valuesOf, type Submission } from './submission.js'

/** A row of a body, and its place in it. */
export interface Row {
  fields: Record<string, unknown>
  place: number
  isRemoved: boolean
}

/** The rows of a list in a body, and the number of those that were left out as blank; undefined if it is no list of objects. */
export function readRows(
  list: NestedList,
  value: unknown,
  submission: Submission,
): { rows: Row[]; blank: number } | undefined {
  const entries = isBlank(value) ? [] : valuesOf(value, submission)?.filter((entry) => !isBlank(entry))
  if (!entries?.every(isFields)) return undefined
  const rows = submission.isForm
    ? rowsOfForm(list, entries, submission)
    : entries.map((fields, place) => ({ fields, place, isRemoved: false }))
  return { rows, blank: entries.length - rows.length }
}

/** The rows of a form. Leaves out new ones that are blank, as they were offered, or removed. */
function rowsOfForm(
  list: NestedList,
  entries: readonly Record<string, unknown>[],
  submission: Submission,
): Row[] {
  const attributes = lineAttributes(list)
  const offered = createObject(list.line)
  const isOffered = (fields: Record<string, unknown>, { name, kind }: Attribute) => {
    const value = (valuesOf(fields[name], submission) ?? []).at(-1)
    const before: unknown = Reflect.get(offered, name)
    if (value === undefined || isBlank(value)) return true
    if (kind === 'bool' && value === 'false') return before !== true
    return value === fieldValue(before, kind, submission.timeZone ?? 'UTC')
  }
  return entries.flatMap((fields, place) => {
    const isRemoved = [fields['_remove']].flat().at(-1) === 'true'
    const isNew = fields['id'] === undefined || isBlank(fields['id'])
    if (isNew && (isRemoved || attributes.every((one) => isOffered(fields, one)))) return []
    return { fields, place, isRemoved }
  })
}

/** A row of a form that was sent. */
export interface SentRow {
  line: object
  /** Whether the row's box "Remove" is ticked. */
  isRemoved: boolean
}

/** The rows of a list that was sent, and the number of those that were blank. */
export interface SentRows {
  rows: readonly SentRow[]
  blank: number
}

const sentRows = new WeakMap<object, Map<string, SentRows>>()

/** Notes the rows of a list that a request has sent, for the form that is shown again. */
export function noteSentRows(record: object, name: string, sent: SentRows): void {
  sentRows.set(record, new Map(sentRows.get(record)).set(name, sent))
}

/** The rows of a list that a request has sent, also those that it removes; undefined if it has sent none. */
export function sentRowsOf(record: object, name: string): SentRows | undefined {
  return sentRows.get(record)?.get(name)
}
