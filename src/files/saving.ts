import type { EntityMetadata } from 'typeorm'
import {
  attributeName,
  engineOf,
  takePart,
  type FileProblem,
  type RecordWork,
  type RecordWrite,
} from '../extension.js'
import { ValidationErrors } from '../index.js'
import type { Declaration } from './declaration.js'
import { filesIn, filesOfDatabase } from './files.js'
import { declarationsOf, loadedIds, loadFiles, referenceOf, setFiles, type Reference } from './loading.js'
import { problemOfCount, problemOfFile, unknownFile } from './rules.js'
import { rowOf, type FileRow } from './stored-file.js'

/** The change of an attribute by a write. */
interface Change {
  declaration: Declaration
  reference: Reference
  /** The files that the record will have, in their order. */
  rows: readonly FileRow[]
  /** The ids of those that it has in the database. */
  before: readonly string[]
}

const changesOf = new WeakMap<object, readonly Change[]>()

// The files of a record are kept and released in the savepoint of its write.
takePart({
  concerns: (metadata) => filesOfDatabase.has(metadata.dataSource) && declarationsOf(metadata).length > 0,
  check,
  before,
  changesMore: async ({ metadata, record }) => declarationsOf(metadata).some((it) => isChanged(record, it)),
  after,
  loaded: loadFiles,
})

/** Checks the files that are new to the record. Those of a request have been checked when they were stored. */
async function check(write: RecordWrite): Promise<ValidationErrors | undefined> {
  const { work, metadata, record, action } = write
  if (action === 'destroy') return undefined
  if (action === 'update') await loadUnread(write)
  const errors = new ValidationErrors()
  for (const declaration of declarationsOf(metadata)) {
    const problem = problemOf(record, declaration)
    if (problem) addProblem(errors, record, declaration.name, problem, work.translate)
  }
  return errors.isEmpty ? undefined : errors
}

/** Reads the attributes that were neither read nor assigned, because the rules need the files of a record that was found without them. */
async function loadUnread({ work, metadata, record }: RecordWrite): Promise<void> {
  const names = declarationsOf(metadata).map(({ name }) => name)
  const assigned = names.filter((name) => Reflect.get(record, name) !== undefined)
  if (names.every((name) => assigned.includes(name) || loadedIds(record, name))) return
  const values = assigned.map((name) => [name, Reflect.get(record, name)] as const)
  await loadFiles(work, metadata, [record])
  for (const [name, value] of values) Reflect.set(record, name, value)
}

/** Gives the new files to the record. A file that another request has attached, or that has expired, is an error. */
async function before({ work, metadata, record, action }: RecordWrite): Promise<void> {
  const [isNew, isGone] = [action === 'create', action === 'destroy']
  const changed = declarationsOf(metadata).filter((it) => isNew || isGone || isChanged(record, it))
  changesOf.delete(record)
  if (changed.length === 0) return
  if (!isNew) await lockRow(work, metadata, record.id)
  const changes: Change[] = []
  for (const declaration of changed) {
    const reference = referenceOf(metadata, declaration)
    const ids = isNew ? [] : await readIds(work, reference, record.id)
    changes.push({ declaration, reference, rows: isGone ? [] : rowsIn(record, declaration), before: ids })
  }
  for (const change of isGone ? [] : changes) await keep(work, record, change)
  changesOf.set(record, changes)
}

async function keep(work: RecordWork, record: object, change: Change): Promise<void> {
  const { declaration, rows, before: kept } = change
  const added = rows.map(({ id }) => id).filter((id) => !kept.includes(id))
  if ((await filesIn(work).table.keep(work.tx, added)) !== added.length)
    throw new ValidationErrors().add(declaration.name, 'file_unknown')
  if (declaration.column !== undefined) Reflect.set(record, declaration.column, rows[0]?.id ?? null)
}

/** Releases the files that the record no longer has, and writes the order of lists. */
async function after({ work, record, action }: RecordWrite): Promise<void> {
  for (const change of changesOf.get(record) ?? []) {
    const { declaration, rows, before: released } = change
    const ids = rows.map(({ id }) => id)
    if (declaration.isList && action !== 'destroy') await writeLinks(work, record.id, change)
    const { table } = filesIn(work)
    await table.release(
      work.tx,
      released.filter((id) => !ids.includes(id)),
    )
    const kept = rows.map((row) => ({ ...row, expires_at: null }))
    if (action !== 'destroy') setFiles(work, record, declaration, kept)
  }
}

async function writeLinks({ tx }: RecordWork, id: string, change: Change): Promise<void> {
  const { reference, rows, before: linked } = change
  const { table, owner, column } = reference
  const where = `${tx.dataSource.driver.escape(owner)} = :id`
  // On MariaDB, a DELETE without rows would lock a gap in which others insert.
  if (linked.length > 0) await tx.createQueryBuilder().delete().from(table).where(where, { id }).execute()
  if (rows.length === 0) return
  const values = rows.map((row, position) => ({ [owner]: id, [column]: row.id, position }))
  const query = tx.createQueryBuilder().insert().into(table, [owner, column, 'position'])
  await query.values(values).execute()
}

/** Lets another write of the files of the same record wait. On SQLite, the transaction itself is the lock. */
async function lockRow({ tx }: RecordWork, { target }: EntityMetadata, id: string): Promise<void> {
  if (!engineOf(tx.dataSource).rowLocks) return
  const query = tx.createQueryBuilder(target, 'locked').select('locked.id').where({ id }).withDeleted()
  await query.setLock('pessimistic_write').setOption('disable-global-order').getRawOne()
}

/** The ids of the files that a record has now, which another request may have changed since it was read. */
async function readIds({ tx }: RecordWork, reference: Reference, id: string): Promise<string[]> {
  const { table, owner, column } = reference
  const query = tx.createQueryBuilder().select(`link.${column}`, 'file_id').from(table, 'link')
  const rows = await query.where(`link.${owner} = :id`, { id }).getRawMany<{ file_id: unknown }>()
  return rows.flatMap(({ file_id }) => (file_id === null ? [] : [String(file_id)]))
}

/** Whether an attribute contains other files than it was read with. */
function isChanged(record: object, declaration: Declaration): boolean {
  if (Reflect.get(record, declaration.name) === undefined) return false
  const now = rowsIn(record, declaration).map(({ id }) => id)
  return String(loadedIds(record, declaration.name) ?? []) !== String(now)
}

/** The rows of the files in an attribute. `check` has rejected other values. */
function rowsIn(record: object, { name }: Declaration): FileRow[] {
  return [Reflect.get(record, name) as unknown].flat().flatMap((file) => rowOf(file) ?? [])
}

/** Checks the value of an attribute: the number of files, and each file that was not checked when it was stored. */
function problemOf(record: object, declaration: Declaration): FileProblem | undefined {
  const { name, isList } = declaration
  const value: unknown = Reflect.get(record, name)
  if (value === undefined || (value === null && !isList)) return undefined
  const rows = rowsIn(record, declaration)
  if (isList !== Array.isArray(value) || rows.length !== [value].flat().length) return unknownFile
  const added = rows.filter(({ id }) => !loadedIds(record, name)?.includes(id))
  if (added.some((row) => row.expires_at === null || row.original_id !== null)) return unknownFile
  return (
    problemOfCount(declaration, rows.length) ??
    added.map((row) => problemOfFile(declaration, row)).find(Boolean)
  )
}

function addProblem(
  errors: ValidationErrors,
  { constructor }: object,
  name: string,
  { rule, reason, text = `validation.${rule}`, values: given }: FileProblem,
  t: RecordWork['translate'],
): void {
  const attribute = attributeName(constructor, name, t)
  const values = { attribute, ...given }
  errors.add(name, rule, t?.(text, values) ?? `${attribute} ${reason}.`, values)
}
