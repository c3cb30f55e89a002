import type { EntityMetadata } from 'typeorm'
import { filesOf, inParts, recordName, type RecordWork } from '../extension.js'
import type { Model } from '../index.js'
import type { Declaration } from './declaration.js'
import { filesIn } from './files.js'
import type { PathRequest } from './routes.js'
import { createFile, readRow, type FileRow } from './stored-file.js'

/** The ids of the files that records were read or saved with, by attribute. */
const loaded = new WeakMap<object, Map<string, readonly string[]>>()

/** The ids of the files that an attribute was read or saved with; undefined if it was not read. */
export function loadedIds(record: object, name: string): readonly string[] | undefined {
  return loaded.get(record)?.get(name)
}

/** The attributes with files of a model. */
export function declarationsOf({ target }: Pick<EntityMetadata, 'target'>): readonly Declaration[] {
  // Only our decorators declare such attributes.
  return (typeof target === 'function' ? filesOf(target) : []) as readonly Declaration[]
}

/** Where the database refers to the files of an attribute. */
export interface Reference {
  table: string
  /** The column with the id of the record. */
  owner: string
  /** The column with the id of the file. */
  column: string
}

/** `items.photo_id` of a file, and `items_documents.stored_file_id` of a list. */
export function referenceOf(metadata: EntityMetadata, { name, column }: Declaration): Reference {
  if (column !== undefined) return { table: metadata.tablePath, owner: 'id', column }
  const owner = `${recordName(metadata.targetName)}_id`
  return { table: `${metadata.tableName}_${name}`, owner, column: 'stored_file_id' }
}

/** Sets the attributes with files: one query for the single files of all records, and one for each list. */
export async function loadFiles(
  work: RecordWork,
  metadata: EntityMetadata,
  records: readonly Model[],
): Promise<void> {
  const all = declarationsOf(metadata)
  await loadSingle(work, all, records)
  for (const declaration of all)
    if (declaration.isList) await loadList(work, referenceOf(metadata, declaration), declaration, records)
}

async function loadSingle(
  work: RecordWork,
  all: readonly Declaration[],
  records: readonly Model[],
): Promise<void> {
  const idOf = (record: Model, { column = '' }: Declaration): unknown => Reflect.get(record, column)
  const single = all.filter(({ isList }) => !isList)
  const ids = records.flatMap((record) => single.map((declaration) => idOf(record, declaration)))
  const named = ids.filter((id) => typeof id === 'string')
  const rows = named.length > 0 ? await filesIn(work).table.find(named, work.tx) : []
  const byId = new Map(rows.map((row) => [row.id, row]))
  for (const declaration of single)
    for (const record of records) {
      const id = idOf(record, declaration)
      const row = byId.get(String(id).toLowerCase())
      if (id !== undefined) setFiles(work, record, declaration, row ? [row] : [])
    }
}

async function loadList(
  work: RecordWork,
  { table, owner, column }: Reference,
  declaration: Declaration,
  records: readonly Model[],
): Promise<void> {
  const ids = records.map(({ id }) => id)
  const rows = await inParts(ids, (part) =>
    work.tx
      .createQueryBuilder()
      .select(`link.${owner}`, 'owner_id')
      .addSelect('file.*')
      .from(table, 'link')
      .innerJoin(filesIn(work).table.table, 'file', `file.id = link.${column}`)
      .where(`link.${owner} IN (:...part)`, { part })
      .orderBy('link.position')
      .getRawMany<{ owner_id: unknown }>(),
  )
  const byOwner = new Map(ids.map((id) => [id, [] as FileRow[]]))
  for (const row of rows) byOwner.get(String(row.owner_id))?.push(readRow(row))
  for (const record of records) setFiles(work, record, declaration, byOwner.get(record.id) ?? [])
}

/** Sets an attribute to files that the database contains. */
export function setFiles(
  work: RecordWork,
  record: Model,
  declaration: Declaration,
  rows: readonly FileRow[],
): void {
  const { name, isList, variants } = declaration
  const { routes } = filesIn(work)
  const files = rows.map((row) => {
    const url = routes.pathOf(record, row.id, work.request as PathRequest | undefined)
    const names = Object.keys(variants)
    if (names.length === 0) return createFile(row, { url }, declaration)
    const shown = row.width === null ? [] : names
    const paths = shown.map((variant) => [variant, url && `${url}?variant=${variant}`])
    return createFile(row, { url, variants: Object.fromEntries(paths) }, declaration)
  })
  Reflect.set(record, name, isList ? files : (files[0] ?? null))
  const ofRecord = loaded.get(record) ?? new Map<string, readonly string[]>()
  const ids = rows.map(({ id }) => id)
  loaded.set(record, ofRecord.set(name, ids))
}
