import type { EntityMetadata } from 'typeorm'
import type { ForeignKeyMetadata } from 'typeorm/metadata/ForeignKeyMetadata.js'
import {
  lockClause,
  memoizeByObject,
  rowsOf,
  takePart,
  type RecordWrite,
  type StoredRow,
} from '../extension.js'
import { HttpError, type Model } from '../index.js'
import { changesBetween, rowOfRecord } from './changes.js'
import { hasHistory } from './declaration.js'
import type { AttributeChange } from './entry.js'
import { readLinks } from './links.js'
import { insertEntry } from './recording.js'

/** A key whose rows the database deletes or changes when a row is deleted to which they refer. */
interface Cascade {
  model: EntityMetadata
  key: ForeignKeyMetadata
  deletes: boolean
}

/** The keys that refer to a model. */
function keysTo(metadata: EntityMetadata): Cascade[] {
  return metadata.dataSource.entityMetadatas.flatMap((model) =>
    model.foreignKeys
      .filter(({ referencedEntityMetadata: { tablePath } }) => tablePath === metadata.tablePath)
      .map((key) => ({ model, key, deletes: key.onDelete === 'CASCADE' })),
  )
}

/**
 * The models with a history whose rows the database deletes or changes when it deletes rows of a model.
 *
 * @param isAnyKey whether each key counts, as for TRUNCATE ... CASCADE
 */
export function cascadesInto(
  metadata: EntityMetadata,
  isAnyKey = false,
  seen = new Set<EntityMetadata>(),
): EntityMetadata[] {
  if (seen.has(metadata)) return []
  seen.add(metadata)
  return keysTo(metadata).flatMap((cascade) => reachedBy(cascade, isAnyKey, seen))
}

function reachedBy(
  { model, key, deletes }: Cascade,
  isAnyKey = false,
  seen?: Set<EntityMetadata>,
): EntityMetadata[] {
  const isFollowed = deletes || isAnyKey
  if (!isFollowed && key.onDelete !== 'SET NULL') return []
  return [...(hasHistory(model) ? [model] : []), ...(isFollowed ? cascadesInto(model, isAnyKey, seen) : [])]
}

/** The cascades of a model that reach rows with a history. */
const cascadesOf = memoizeByObject((metadata: EntityMetadata): readonly Cascade[] =>
  keysTo(metadata).filter((cascade) => reachedBy(cascade).length > 0),
)

takePart({
  concerns: (metadata) => cascadesOf(metadata).length > 0,
  canWait: true,
  async before(write) {
    if (write.action === 'destroy') await new Removal(write).run()
  },
})

/** The most rows that are deleted or changed with a record. */
const maxRows = 1000

/** The rows that the database would delete and change with a record. */
class Removal {
  private readonly seen = new Set<string>()
  private readonly deleted: [EntityMetadata, Model][] = []
  private isCyclic = false

  constructor(private readonly write: RecordWrite) {
    this.note(write.metadata.tablePath, write.record.id)
  }

  /** Deletes and unlinks them, those first that refer to others. */
  async run(): Promise<void> {
    const { metadata, record, row } = this.write
    // Nothing can refer to a locked row any more.
    const locked = row ?? (await this.lock(metadata, record.id))
    if (!locked) return
    await this.follow(metadata, locked)
    // In a circle of keys, the first one that is deleted would take the record with it, whose version is compared.
    if (this.isCyclic) return
    for (const [model, child] of this.deleted.toReversed()) await rowsOf(model).removeAll(this.tx, [child])
  }

  private get tx() {
    return this.write.work.tx
  }

  private lock(model: EntityMetadata, id: unknown): Promise<StoredRow | undefined> {
    return rowsOf(model).readStored(this.tx, id, true)
  }

  /** Notes a row. Returns false if it was noted before. */
  private note(table: string, id: string): boolean {
    const name = `${table} ${id}`
    if (this.seen.has(name)) return false
    this.seen.add(name)
    if (this.seen.size <= maxRows + 1) return true
    throw new HttpError(409, `More than ${maxRows} records would be deleted with it. Delete them first.`)
  }

  private async follow(metadata: EntityMetadata, owner: StoredRow): Promise<void> {
    for (const { model, key, deletes } of cascadesOf(metadata))
      for (const id of await this.idsOf(model, key, rowsOf(metadata).rowOf(owner.values))) {
        const isNew = this.note(model.tablePath, deletes ? id : `${id} ${key.name}`)
        if (deletes && !isNew) this.isCyclic = true
        const row = isNew ? await this.lock(model, id) : undefined
        if (row) await (deletes ? this.remove(model, row) : this.unlink(model, key, row))
      }
  }

  /** The ids of the rows that refer to a row. */
  private async idsOf(
    model: EntityMetadata,
    { columns: [column], referencedColumns: [referenced] }: ForeignKeyMetadata,
    owner: Record<string, unknown>,
  ): Promise<string[]> {
    if (!column || !referenced) return []
    const { driver } = model.dataSource
    const name = (one: string) => `${driver.escape('child')}.${driver.escape(one)}`
    const [sql, values] = this.tx
      .createQueryBuilder()
      .select(name('id'), 'id')
      .from(model.tablePath, 'child')
      .where(`${name(column.databaseName)} = :owner`, { owner: owner[referenced.databaseName] })
      .orderBy(name('id'))
      .limit(maxRows + 1)
      .getQueryAndParameters()
    const rows: { id: unknown }[] = await this.tx.query(sql + lockClause(this.tx), values)
    return rows.map(({ id }) => String(id))
  }

  private async remove(model: EntityMetadata, row: StoredRow): Promise<void> {
    const child = rowsOf(model).toEntity(row.values) as Model
    this.deleted.push([model, child])
    if (hasHistory(model)) {
      const before = { row, links: await readLinks(this.tx, model, child, () => true) }
      await this.record(model, child, 'destroy', changesBetween(model, before))
    }
    await this.follow(model, row)
  }

  private async unlink(model: EntityMetadata, key: ForeignKeyMetadata, row: StoredRow): Promise<void> {
    const child = rowsOf(model).toEntity(row.values) as Model
    for (const column of key.columns) column.setEntityValue(child, null)
    await rowsOf(model).update({ tx: this.tx, isAlone: false }, child, {
      lock: false,
      changesMore: false,
      current: row,
    })
    const after = rowOfRecord(model, child, row)
    const links = new Map<string, string[]>()
    const changes = changesBetween(model, { row, links }, { row: after, links })
    await this.record(model, child, 'update', changes)
  }

  private record(
    { tablePath }: EntityMetadata,
    { id }: Model,
    action: 'update' | 'destroy',
    changes: AttributeChange[],
  ): Promise<void> {
    const { work, reason } = this.write
    return insertEntry(work, tablePath, action, { record_id: id, changes, reason })
  }
}
