import type { EntityMetadata, ObjectLiteral } from 'typeorm'
import { filesOf, inParts, recordName, type RecordWork } from '../extension.js'
import type { Model } from '../index.js'
import type { Declaration } from './declaration.js'
import { fileColumns } from './file-table.js'
import type { Files } from './files.js'
import type { PathRequest } from './routes.js'
import { createFile, readRow, type FileRow, type StoredFile } from './stored-file.js'

/** The files that records were read or saved with, by attribute. */
const loaded = new WeakMap<object, Map<string, readonly StoredFile[]>>()

/** The files that an attribute was read or saved with; undefined if it was not read. */
export function loadedFiles(record: object, name: string): readonly StoredFile[] | undefined {
  return loaded.get(record)?.get(name)
}

const declarations = new WeakMap<object, Declaration>()

/** The attribute that a file belongs to; undefined before it was saved. */
export function declarationOf(file: StoredFile): Declaration | undefined {
  return declarations.get(file)
}

/** The attributes with files of a model. */
export function declarationsOf({ target }: EntityMetadata): readonly Declaration[] {
  // Only our decorators declare such attributes.
  return (typeof target === 'function' ? filesOf(target) : []) as readonly Declaration[]
}

/** The table of a list of files, and its column for the record: `items_documents` and `item_id`. */
export function linkTable(metadata: EntityMetadata, { name }: Declaration): { table: string; owner: string } {
  return { table: `${metadata.tableName}_${name}`, owner: `${recordName(metadata.targetName)}_id` }
}

/** Sets the attributes with files: one query for the single files of all records, and one for each list. */
export async function loadFiles(
  files: Files,
  work: RecordWork,
  metadata: EntityMetadata,
  records: readonly Model[],
): Promise<void> {
  if (records.length === 0) return
  const all = declarationsOf(metadata)
  await loadSingle(files, work, all, records)
  for (const declaration of all)
    if (declaration.isList) await loadList(files, work, metadata, declaration, records)
}

async function loadSingle(
  files: Files,
  work: RecordWork,
  all: readonly Declaration[],
  records: readonly Model[],
): Promise<void> {
  const ids = all.flatMap(({ column }) =>
    column === undefined ? [] : records.flatMap((record) => idIn(record, column) ?? []),
  )
  const rows = ids.length > 0 ? await files.table.find(ids, work.tx) : []
  const byId = new Map(rows.map((row) => [row.id, row]))
  for (const declaration of all) {
    if (declaration.column === undefined) continue
    for (const record of records) {
      if (Reflect.get(record, declaration.column) === undefined) continue
      const row = byId.get(idIn(record, declaration.column) ?? '')
      setFiles(files, work, record, declaration, row ? [row] : [])
    }
  }
}

/** The id of the file in a column. */
export function idIn(record: object, column: string): string | undefined {
  const id: unknown = Reflect.get(record, column)
  return typeof id === 'string' ? id.toLowerCase() : undefined
}

async function loadList(
  files: Files,
  work: RecordWork,
  metadata: EntityMetadata,
  declaration: Declaration,
  records: readonly Model[],
): Promise<void> {
  const { table, owner } = linkTable(metadata, declaration)
  const raw = await inParts(
    records.map(({ id }) => id),
    (part) =>
      work.tx
        .createQueryBuilder()
        .select(`link.${owner}`, 'owner_id')
        .addSelect(fileColumns(work.tx))
        .from(table, 'link')
        .innerJoin(files.table.name, 'file', 'file.id = link.stored_file_id')
        .where(`link.${owner} IN (:...part)`, { part })
        .orderBy('link.position')
        .getRawMany<ObjectLiteral>(),
  )
  const byOwner = new Map(records.map(({ id }) => [id, [] as FileRow[]]))
  for (const row of raw) byOwner.get(String(row['owner_id']))?.push(readRow(row))
  for (const record of records) setFiles(files, work, record, declaration, byOwner.get(record.id) ?? [])
}

/** Sets an attribute to files that the database contains. */
export function setFiles(
  files: Files,
  work: RecordWork,
  record: Model,
  declaration: Declaration,
  rows: readonly FileRow[],
): void {
  const { name, isList, variants } = declaration
  const request: PathRequest | undefined = work.request as PathRequest | undefined
  const found = rows.map((row) => {
    const url = files.routes.pathOf(record, row.id, request)
    const names = row.width === null ? [] : Object.keys(variants)
    if (Object.keys(variants).length === 0) return createFile(row, { url })
    const paths = names.map((variant) => [variant, url && `${url}?variant=${variant}`])
    return createFile(row, { url, variants: Object.fromEntries(paths) })
  })
  for (const file of found) declarations.set(file, declaration)
  Reflect.set(record, name, isList ? found : (found[0] ?? null))
  noteLoaded(record, name, found)
}

/** Remembers the files of an attribute. */
export function noteLoaded(record: object, name: string, found: readonly StoredFile[]): void {
  const ofRecord = loaded.get(record) ?? new Map<string, readonly StoredFile[]>()
  loaded.set(record, ofRecord.set(name, found))
}
