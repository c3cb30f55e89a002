import type { EntityMetadata } from 'typeorm'
import {
  attributeName,
  engineOf,
  messageOf,
  type FileProblem,
  type Participant,
  type RecordWork,
  type RecordWrite,
} from '../extension.js'
import { ValidationErrors, type Model } from '../index.js'
import type { Declaration } from './declaration.js'
import type { Files } from './files.js'
import { declarationsOf, linkTable, loadedFiles, loadFiles, setFiles } from './loading.js'
import { problemOfCount, problemOfFile, unknownFile } from './rules.js'
import { rowOf, type FileRow } from './stored-file.js'

/** The change of an attribute by a write. */
interface Change {
  declaration: Declaration
  /** The files that the record will have, in their order. */
  rows: readonly FileRow[]
  /** The ids of those that it has in the database. */
  before: readonly string[]
}

/** Takes part in the writes of records with files: their files are kept and released in the same savepoint. */
export class FileWrites implements Participant {
  private readonly changes = new WeakMap<object, readonly Change[]>()

  constructor(private readonly files: Files) {}

  concerns(metadata: EntityMetadata): boolean {
    return declarationsOf(metadata).length > 0
  }

  loaded(work: RecordWork, metadata: EntityMetadata, records: readonly Model[]): Promise<void> {
    return loadFiles(this.files, work, metadata, records)
  }

  /** Checks the files that are new to the record. Those of a request have been checked when they were stored. */
  async check({ work, metadata, record, action }: RecordWrite): Promise<ValidationErrors | undefined> {
    if (action === 'destroy') return undefined
    const declarations = declarationsOf(metadata)
    const isUnread = ({ name }: Declaration) =>
      Reflect.get(record, name) === undefined && loadedFiles(record, name) === undefined
    // The rules need the files of a record that was found without them.
    if (action === 'update' && declarations.some(isUnread)) await this.loadUnread(work, metadata, record)
    const errors = new ValidationErrors()
    for (const declaration of declarations) {
      const problem = problemOf(record, declaration)
      if (problem) addProblem(errors, record, declaration.name, problem, work.translate)
    }
    return errors.isEmpty ? undefined : errors
  }

  /** Reads the attributes that were neither read nor assigned. */
  private async loadUnread(work: RecordWork, metadata: EntityMetadata, record: Model): Promise<void> {
    const assigned = declarationsOf(metadata).flatMap(({ name }) => {
      const value: unknown = Reflect.get(record, name)
      return value === undefined ? [] : [[name, value] as const]
    })
    await loadFiles(this.files, work, metadata, [record])
    for (const [name, value] of assigned) Reflect.set(record, name, value)
  }

  /** Gives the new files to the record. A file that another request has attached, or that has expired, is an error. */
  async before({ work, metadata, record, action }: RecordWrite): Promise<void> {
    const isNew = action === 'create'
    const changed = declarationsOf(metadata).filter(
      (declaration) => action === 'destroy' || isChanged(record, declaration),
    )
    this.changes.delete(record)
    if (changed.length === 0) return
    if (!isNew) await lockRow(work, metadata, record)
    const changes: Change[] = []
    for (const declaration of changed) {
      const rows = action === 'destroy' ? [] : rowsIn(record, declaration)
      const before = isNew ? [] : await this.findBefore(work, metadata, record, declaration)
      changes.push({ declaration, rows, before })
    }
    for (const change of action === 'destroy' ? [] : changes) await this.keep(work, record, change)
    const hasLists = changes.some(({ declaration }) => declaration.isList)
    // A list has no column, and its change raises the version, too.
    if (hasLists && action === 'update' && metadata.versionColumn)
      record.updated_at = new Date(Math.max(Date.now(), Number(record.updated_at) + 1))
    this.changes.set(record, changes)
  }

  private async keep(work: RecordWork, record: Model, { declaration, rows, before }: Change): Promise<void> {
    const { name, column } = declaration
    const added = rows.map(({ id }) => id).filter((id) => !before.includes(id))
    const kept = added.length === 0 ? 0 : await this.files.table.keep(work.tx, added)
    if (kept !== added.length) throw new ValidationErrors().add(name, 'file_unknown')
    if (column !== undefined) Reflect.set(record, column, rows[0]?.id ?? null)
  }

  /** The ids of the files that a record has now, which another request may have changed since it was read. */
  private async findBefore(
    { tx }: RecordWork,
    metadata: EntityMetadata,
    { id }: Model,
    declaration: Declaration,
  ): Promise<string[]> {
    const { table, owner } = linkTable(metadata, declaration)
    const { column } = declaration
    const query = tx.createQueryBuilder().select(`link.${column ?? 'stored_file_id'}`, 'file_id')
    const rows = await query
      .from(column === undefined ? table : metadata.tablePath, 'link')
      .where(`link.${column === undefined ? owner : 'id'} = :id`, { id })
      .getRawMany<{ file_id: unknown }>()
    return rows.flatMap(({ file_id }) => (file_id === null ? [] : [String(file_id)]))
  }

  /** Releases the files that the record no longer has, and writes the order of lists. */
  async after({ work, metadata, record, action }: RecordWrite): Promise<void> {
    const changes = this.changes.get(record) ?? []
    for (const { declaration, rows, before } of changes) {
      const ids = rows.map((row) => row.id)
      if (declaration.isList && action !== 'destroy')
        await this.writeLinks(work, metadata, record, declaration, ids, before.length > 0)
      await this.files.table.release(
        work.tx,
        before.filter((id) => !ids.includes(id)),
      )
      if (action !== 'destroy')
        setFiles(
          this.files,
          work,
          record,
          declaration,
          rows.map((row) => ({ ...row, expires_at: null })),
        )
    }
    if (action === 'create')
      for (const declaration of declarationsOf(metadata))
        if (!changes.some((change) => change.declaration === declaration))
          setFiles(this.files, work, record, declaration, [])
  }

  private async writeLinks(
    { tx }: RecordWork,
    metadata: EntityMetadata,
    { id }: Model,
    declaration: Declaration,
    ids: readonly string[],
    hasLinks: boolean,
  ): Promise<void> {
    const { table, owner } = linkTable(metadata, declaration)
    const column = tx.dataSource.driver.escape(owner)
    // On MariaDB, a DELETE without rows would lock a gap in which others insert.
    if (hasLinks)
      await tx.createQueryBuilder().delete().from(table).where(`${column} = :id`, { id }).execute()
    if (ids.length === 0) return
    const values = ids.map((stored_file_id, position) => ({ [owner]: id, stored_file_id, position }))
    await tx
      .createQueryBuilder()
      .insert()
      .into(table, [owner, 'stored_file_id', 'position'])
      .values(values)
      .updateEntity(false)
      .execute()
  }
}

/** Lets another write of the files of the same record wait. On SQLite, the transaction itself is the lock. */
async function lockRow({ tx }: RecordWork, { target }: EntityMetadata, { id }: Model): Promise<void> {
  if (!engineOf(tx.dataSource).rowLocks) return
  const query = tx.createQueryBuilder(target, 'locked').select('locked.id').where({ id }).withDeleted()
  await query.setLock('pessimistic_write').setOption('disable-global-order').getRawOne()
}

/** Whether an attribute contains other files than it was read with. */
function isChanged(record: object, declaration: Declaration): boolean {
  const value: unknown = Reflect.get(record, declaration.name)
  if (value === undefined) return false
  const before = loadedFiles(record, declaration.name)?.map(({ id }) => id)
  const now = rowsIn(record, declaration).map(({ id }) => id)
  return before === undefined ? now.length > 0 : String(before) !== String(now)
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
  const files: unknown[] = [value].flat()
  const rows = files.map(rowOf)
  if (isList !== Array.isArray(value) || rows.includes(undefined)) return unknownFile
  const before = new Set(loadedFiles(record, name)?.map(({ id }) => id))
  const added = rows.filter((row): row is FileRow => row !== undefined && !before.has(row.id))
  if (added.some((row) => row.expires_at === null || row.original_id !== null)) return unknownFile
  return (
    problemOfCount(declaration, rows.length) ??
    added.map((row) => problemOfFile(declaration, row)).find(Boolean)
  )
}

function addProblem(
  errors: ValidationErrors,
  { constructor }: Model,
  name: string,
  { rule, reason, text, values: given }: FileProblem,
  t: RecordWork['translate'],
): void {
  const attribute = attributeName(constructor, name, t)
  const values = { attribute, ...given }
  const texts = { given: text && t?.(text, values), own: `${attribute} ${reason}.` }
  errors.add(name, rule, messageOf(constructor, name, rule, values, texts, t), values)
}
