import { In, type EntityMetadata } from 'typeorm'
import { ValidationErrors } from '../../errors.js'
import { explainDatabaseError } from '../../database/database-errors.js'
import { newId } from '../../models/ids.js'
import { Model } from '../../models/model.js'
import { translateAdded } from '../../models/validation/added-errors.js'
import { validate } from '../../models/validation/validation.js'
import { markLoaded, placeOf } from '../../models/record-state.js'
import { idListsOf, loadIdLists } from '../joins.js'
import { assignKeys } from '../../models/record-state.js'
import { lockOption } from '../locking.js'
import {
  callParticipants,
  checkParticipants,
  isObserved,
  joinErrors,
  needsRow,
  noteLoaded,
  writesBeside,
  type RecordWrite,
} from '../participants.js'
import { inParts } from '../parts.js'
import { checkTogether, References } from '../references.js'
import { rowsOf } from '../row.js'
import type { RecordWork } from '../work.js'
import { translate, violationsOf } from '../violations.js'
import { linesOf, type Lines } from './declaration.js'

/** The lines of a record as they are stored, by their ids. */
type StoredLines = Map<string, { line: Model; values: readonly unknown[] }>

/** The lists with which records were read. */
const storedLines = new WeakMap<object, Map<string, StoredLines>>()

/** The state of a write until its end. */
interface Progress {
  /** The lines whose rules and references have been checked. */
  checked: Set<Model>
  references: Map<Model, References>
  /** The properties that the framework sets, as they were before. */
  before: Map<Model, Pick<Model, 'id' | 'created_at' | 'updated_at'>>
}

const progresses = new WeakMap<object, Progress>()

/** Reads the lines of records, with one query for each list. */
export async function loadLines(
  work: RecordWork,
  metadata: EntityMetadata,
  records: readonly Model[],
): Promise<void> {
  for (const list of linesOf(metadata)) {
    const linesFor = await readLines(work, list, records)
    for (const record of records) setLines(record, list, linesFor(record))
  }
}

/** Sets the list of a record to the lines that the database contains. */
function setLines(record: Model, list: Lines, lines: Model[]): void {
  Reflect.set(record, list.name, lines)
  markLoaded(record, list.name)
  const stored = toStored(list, lines)
  storedLines.set(record, new Map(storedLines.get(record)).set(list.name, stored))
}

function toStored({ metadata }: Lines, lines: readonly Model[]): StoredLines {
  const rows = rowsOf(metadata)
  return new Map(lines.map((line) => [line.id, { line, values: rows.valuesOf(line) }]))
}

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
  const byRecord = new Map<unknown, Model[]>()
  for (const line of lines) {
    const id: unknown = Reflect.get(line, key.propertyName)
    const own = byRecord.get(id)
    if (own) own.push(line)
    else byRecord.set(id, [line])
  }
  return ({ id }) => byRecord.get(id) ?? []
}

/** The lines that a record has now; undefined if it keeps those that are stored. */
function currentLines(record: Model, { name }: Lines): Model[] | undefined {
  const value: unknown = Reflect.get(record, name)
  return Array.isArray(value) ? value.filter((line) => line instanceof Model) : undefined
}

/** Returns the errors of the lines' references and unique values. Their rules are checked together with those of the record. */
export async function checkLines(write: RecordWrite): Promise<ValidationErrors | undefined> {
  const { record, metadata, action } = write
  if (action === 'destroy') return undefined
  const progress: Progress = { checked: new Set(), references: new Map(), before: new Map() }
  progresses.set(record, progress)
  let errors: ValidationErrors | undefined
  for (const list of linesOf(metadata)) {
    const lines = currentLines(record, list) ?? []
    errors = joinErrors(errors, await checkReferences(write, list, false))
    errors = joinErrors(errors, await checkParts(write, list))
    errors = joinErrors(errors, findRepeated(write, list, lines))
    for (const line of lines) progress.checked.add(line)
  }
  return errors
}

/** Checks the references of the lines together. */
async function checkReferences(
  { work, record }: RecordWrite,
  list: Lines,
  isLast: boolean,
): Promise<ValidationErrors | undefined> {
  const lines = currentLines(record, list) ?? []
  const all = progresses.get(record)?.references
  const stored = storedLines.get(record)?.get(list.name)
  const references = lines.map((line) => {
    assignKeys(list.metadata, line)
    const known = all?.get(line)
    if (known) return known
    const values = stored?.get(line.id)?.values
    const row = values && rowsOf(list.metadata).rowOf(values)
    const options = { bound: work.bound?.(line), parent: record, row }
    const created = new References(work, list.metadata, line, line.created_at === undefined, options)
    all?.set(line, created)
    return created
  })
  const found = await checkTogether(work, references, isLast)
  return found.reduce<ValidationErrors | undefined>((errors, own, index) => {
    const line = lines[index]
    if (!line || own.isEmpty) return errors
    return joinErrors(errors, at(list, line, index, translate(own, line, work.translate)))
  }, undefined)
}

/** The errors of what takes part in the writes of lines: their files. */
async function checkParts(write: RecordWrite, list: Lines): Promise<ValidationErrors | undefined> {
  if (!isObserved(list.metadata)) return undefined
  let errors: ValidationErrors | undefined
  for (const [index, line] of (currentLines(write.record, list) ?? []).entries())
    errors = joinErrors(errors, at(list, line, index, await checkParticipants(writeOf(write, list, line))))
  return errors
}

/** Finds lines with a unique value that an earlier line has, too. */
function findRepeated({ work }: RecordWrite, list: Lines, lines: readonly Model[]) {
  let errors: ValidationErrors | undefined
  for (const names of list.unique) {
    const seen = new Set<string>()
    for (const [index, line] of lines.entries()) {
      const values = names.map((name): unknown => Reflect.get(line, name))
      if (values.some((value) => value === undefined || value === null)) continue
      const text = JSON.stringify(values)
      const field = names.find((name) => list.fields.includes(name)) ?? names[0] ?? ''
      if (seen.has(text)) {
        const own = translate(new ValidationErrors().add(field, 'unique'), line, work.translate)
        errors = joinErrors(errors, at(list, line, index, own))
      }
      seen.add(text)
    }
  }
  return errors
}

/** The errors of a line as errors of its record: `lines.1.quantity`. */
function at<Errors extends ValidationErrors | undefined>(
  { name }: Lines,
  line: Model,
  index: number,
  errors: Errors,
): Errors {
  if (!errors) return errors
  const result = new ValidationErrors(errors.status === 409 ? 409 : 422, { cause: errors.cause })
  for (const [field, violations] of errors.fields)
    result.fields.set(`${name}.${placeOf(line, index)}.${field}`, [...violations])
  return result as Errors
}

function writeOf({ work, reason }: RecordWrite, { metadata }: Lines, record: Model): RecordWrite {
  return { work, metadata, record, reason, action: record.created_at === undefined ? 'create' : 'update' }
}

/**
 * Calls the hooks of the lines, and checks what the hook of the record has changed.
 *
 * @throws ValidationErrors
 */
export async function prepareLines(write: RecordWrite): Promise<void> {
  const { work, metadata, record, action } = write
  const progress = progresses.get(record)
  if (action === 'destroy' || !progress) return action === 'destroy' ? removeHeard(write) : undefined
  let errors: ValidationErrors | undefined
  for (const list of linesOf(metadata)) {
    for (const [index, line] of (currentLines(record, list) ?? []).entries()) {
      progress.before.set(line, { id: line.id, created_at: line.created_at, updated_at: line.updated_at })
      Reflect.set(line, list.key.propertyName, record.id)
      Reflect.set(line, 'position', index)
      const isChecked = progress.checked.has(line)
      const own =
        (isChecked ? undefined : await validate(line, work.translate)) ?? (await runHook(write, line))
      errors = joinErrors(errors, at(list, line, index, own))
    }
    errors = joinErrors(errors, await checkReferences(write, list, true))
  }
  if (errors) throw errors
}

/** Calls the hook of a line, and returns the errors that it adds. */
async function runHook({ work }: RecordWrite, line: Model): Promise<ValidationErrors | undefined> {
  const name = line.created_at === undefined ? 'validateCreate' : 'validateUpdate'
  if (!line[name] || line[name] === Model.prototype[name]) return undefined
  const errors = new ValidationErrors()
  await line[name](errors, work.tx)
  translateAdded(errors, line.constructor, work.translate)
  return errors.isEmpty ? undefined : errors
}

/** Whether the lines of a record differ from those with which it was read. */
export function changesLines({ metadata, record }: RecordWrite): boolean {
  return linesOf(metadata).some((list) => isChanged(record, list))
}

function isChanged(record: Model, list: Lines): boolean {
  const lines = currentLines(record, list)
  if (!lines) return false
  if (record.created_at === undefined) return lines.length > 0
  const stored = storedLines.get(record)?.get(list.name)
  if (stored?.size !== lines.length) return true
  const rows = rowsOf(list.metadata)
  const ids = [...stored.keys()]
  return lines.some((line, index) => {
    const values = stored.get(line.id)?.values
    return ids[index] !== line.id || !values || rows.differs(line, values)
  })
}

/** Deletes, changes and inserts the lines of a record whose row is written. */
export async function writeLines(write: RecordWrite): Promise<void> {
  const { metadata, record, action } = write
  if (action === 'destroy') return
  for (const list of linesOf(metadata)) {
    const lines = currentLines(record, list)
    const isNew = action === 'create'
    if (!lines || (isNew ? lines.length === 0 : !isChanged(record, list))) continue
    const stored = isNew ? new Map() : await currentRows(write, list)
    await writeList(write, list, lines, stored)
    setLines(record, list, lines)
  }
}

/** The stored lines: those that were read if the version shows that they are current, else the current ones, which the row locks. */
async function currentRows({ work, metadata, record }: RecordWrite, list: Lines): Promise<StoredLines> {
  const known = storedLines.get(record)?.get(list.name)
  if (metadata.versionColumn && known && !needsRow(list.metadata)) return known
  const linesFor = await readLines(work, list, [record], lockOption(work.tx, list.metadata))
  return toStored(list, linesFor(record))
}

async function writeList(
  write: RecordWrite,
  list: Lines,
  lines: readonly Model[],
  stored: StoredLines,
): Promise<void> {
  const { tx } = write.work
  const rows = rowsOf(list.metadata)
  const ids = new Set(lines.map(({ id }) => id))
  const removed = [...stored].flatMap(([id, { line }]) => (ids.has(id) ? [] : line))
  const changed = lines.flatMap((line): [Model, readonly unknown[]][] => {
    const values = stored.get(line.id)?.values
    return values && rows.differs(line, values) ? [[line, values]] : []
  })
  const added = lines.filter(({ id }) => id === undefined || !stored.has(id))
  for (const line of added) line.id ??= newId()
  await tellLines('before', write, list, { removed, changed: changed.map(([line]) => line), added })
  await inParts(removed, async (part) => {
    await rows.removeAll(tx, part)
    return []
  })
  const moved = changed.filter(([line, values]) => isMoved(list, line, values)).map(([line]) => line)
  if (list.hasUniquePosition && moved.length > 0) await rows.negate(tx, 'position', moved)
  const each = { write, list, lines }
  await eachPart(
    each,
    changed,
    ([line]) => line,
    (part) => rows.updateAll(tx, part),
  )
  await eachPart(
    each,
    added,
    (line) => line,
    (part) => rows.insertAll(tx, part),
  )
  await tellLines('after', write, list, { removed: [], changed: changed.map(([line]) => line), added })
}

function isMoved({ metadata }: Lines, line: Model, values: readonly unknown[]): boolean {
  const position = metadata.findColumnWithPropertyName('position')?.databaseName ?? 'position'
  return rowsOf(metadata).rowOf(values)[position] !== Reflect.get(line, 'position')
}

/** The most lines of a statement. */
const mostRows = 500

/**
 * Writes lines in parts. If the database rejects a part, its lines are written one by one, to find the one with the error.
 *
 * @throws ValidationErrors of the line
 */
async function eachPart<Item>(
  { write, list, lines }: { write: RecordWrite; list: Lines; lines: readonly Model[] },
  items: readonly Item[],
  lineOf: (item: Item) => Model,
  run: (part: readonly Item[]) => Promise<void>,
): Promise<void> {
  const { work } = write
  for (let start = 0; start < items.length; start += mostRows) {
    const part = items.slice(start, start + mostRows)
    try {
      await run(part)
    } catch (error) {
      if (!(explainDatabaseError(error, list.metadata) instanceof ValidationErrors)) throw error
      for (const item of part) {
        const line = lineOf(item)
        await run([item]).catch(async (cause: unknown) => {
          const errors = await violationsOf(work.tx, line, cause, new Set([list.key.propertyName]))
          throw at(list, line, lines.indexOf(line), translate(errors, line, work.translate))
        })
      }
    }
  }
}

/** Calls what takes part in the writes of lines: their history. */
async function tellLines(
  when: 'before' | 'after',
  write: RecordWrite,
  list: Lines,
  { removed, changed, added }: Record<'removed' | 'changed' | 'added', readonly Model[]>,
): Promise<void> {
  if (!writesBeside(list.metadata)) return
  for (const record of removed) {
    await tellLine('before', write, list, record, 'destroy')
    await tellLine('after', write, list, record, 'destroy')
  }
  for (const record of changed) await tellLine(when, write, list, record, 'update')
  for (const record of added) await tellLine(when, write, list, record, 'create')
}

/** The writes of lines, from `before` to `after`. */
const lineWrites = new WeakMap<Model, RecordWrite>()

async function tellLine(
  when: 'before' | 'after',
  { work, reason }: RecordWrite,
  { metadata }: Lines,
  record: Model,
  action: RecordWrite['action'],
): Promise<void> {
  if (when === 'before') {
    const isRead = action !== 'create' && needsRow(metadata)
    const row = isRead ? await rowsOf(metadata).readStored(work.tx, record.id, true) : undefined
    lineWrites.set(record, { work, metadata, record, action, reason, row })
  }
  const write = lineWrites.get(record)
  if (write) await callParticipants(when, write)
}

/** Deletes the lines of a record that is deleted, if somebody hears of each. The database deletes all others. */
async function removeHeard(write: RecordWrite): Promise<void> {
  for (const list of linesOf(write.metadata)) {
    if (!writesBeside(list.metadata) && !rowsOf(list.metadata).isHeard) continue
    const linesFor = await readLines(write.work, list, [write.record])
    const removed = linesFor(write.record)
    await tellLines('before', write, list, { removed, changed: [], added: [] })
    if (removed.length > 0) await rowsOf(list.metadata).removeAll(write.work.tx, removed)
  }
}

/** Takes back what a rejected write has set in the lines. */
export function undoLines({ record }: RecordWrite): void {
  for (const [line, before] of progresses.get(record)?.before ?? []) Object.assign(line, before)
}
