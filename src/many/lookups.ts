import { In, type EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { Context } from '../context.js'
import { unreadable } from '../models/attributes/coerce.js'
import type { Model } from '../models/model.js'
import { valueReader } from '../records/conditions.js'
import { findRecords } from '../records/find.js'
import { conditionsInPath } from '../records/lists/inside.js'
import { inTransaction } from '../records/members.js'
import { combineAlternatives } from '../records/scope.js'
import type { Column } from './columns.js'

/** Records by the text of one of their values. */
export type RecordsByValue = ReadonlyMap<string, Model>

/**
 * Finds the records to which cells refer by the value of a unique column: those that the request's user can choose.
 *
 * @param texts the cells
 */
export async function findReferred(
  ctx: Context,
  { metadata: column }: Column,
  texts: readonly string[],
): Promise<RecordsByValue> {
  const related = column.entityMetadata
  return findBy(ctx, related, column, texts, (work) => conditionsInPath(work, related, ctx))
}

/** Finds the records with a key that are in the scope of the policy, and in the parents that the path names. */
export async function findExisting(
  ctx: Context,
  metadata: EntityMetadata,
  key: string,
  texts: readonly string[],
): Promise<RecordsByValue> {
  const column = metadata.findColumnWithPropertyName(key)
  if (!column) return new Map()
  return findBy(ctx, metadata, column, texts, () => Promise.resolve(conditionsOfParents(ctx, metadata)))
}

/** The conditions that the path sets: its parents, by their ids or by what else the path has of them. */
function conditionsOfParents({ params, route }: Context, metadata: EntityMetadata): object | undefined {
  const conditions = route.parents.flatMap(({ key, param, property }) => {
    const value = param === undefined ? undefined : params[param]
    const relation = metadata.relations.find(({ joinColumns: [own] }) => own?.propertyName === key)
    if (value === undefined || (!relation && !metadata.findColumnWithPropertyName(key))) return []
    return [property === 'id' || !relation ? [key, value] : [relation.propertyName, { [property]: value }]]
  })
  return conditions.length > 0 ? Object.fromEntries(conditions) : undefined
}

type Work = Parameters<Parameters<typeof inTransaction>[1]>[0]

function findBy(
  ctx: Context,
  metadata: EntityMetadata,
  column: ColumnMetadata,
  texts: readonly string[],
  conditions: (work: Work) => Promise<object | undefined>,
): Promise<RecordsByValue> {
  const read = valueReader(column)
  // Texts that the column cannot have find nothing. Several texts, such as 1.0 and 1.00, can have one value.
  const values = new Map(texts.map((text) => [text, read(text)]))
  const readable = [...new Set(values.values())].filter((value) => value !== unreadable)
  if (readable.length === 0) return Promise.resolve(new Map())
  return inTransaction(ctx, async (work) => {
    const own = { [column.propertyPath]: In(readable) }
    const inside = await conditions(work)
    const where = inside ? combineAlternatives(own, inside) : own
    const found = await findRecords<Model>(work, metadata.target, { where })
    // Letter by letter: MariaDB also finds texts in another case.
    const byValue = new Map(found.map((record) => [String(column.getEntityValue(record)), record]))
    return new Map(
      [...values].flatMap(([text, value]) => {
        const record = value === unreadable ? undefined : byValue.get(String(value))
        return record ? [[text, record] as const] : []
      }),
    )
  })
}
