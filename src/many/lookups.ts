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

/** Records by the text of one of their values. */
export type RecordsByText = ReadonlyMap<string, Model>

/**
 * Finds records by the texts of a unique column: those that the request's user can see, and that are in the path.
 *
 * @param texts the cells
 * @param isReferred whether the lines refer to the records; otherwise they are those of the import itself
 */
export async function findByTexts(
  ctx: Context,
  column: ColumnMetadata,
  texts: readonly string[],
  isReferred: boolean,
): Promise<RecordsByText> {
  const { entityMetadata: metadata } = column
  const read = valueReader(column)
  // Texts that the column cannot have find nothing. Several texts, such as 1.0 and 1.00, can have one value.
  const values = texts.map((text) => [text, read(text)] as const).filter(([, value]) => value !== unreadable)
  if (values.length === 0) return new Map()
  return inTransaction(ctx, async (work) => {
    const own = { [column.propertyPath]: In([...new Set(values.map(([, value]) => value))]) }
    const inside = isReferred
      ? await conditionsInPath(work, metadata, ctx)
      : conditionsOfParents(ctx, metadata)
    const where = inside ? combineAlternatives(own, inside) : own
    const found = await findRecords<Model>(work, metadata.target, { where })
    // Letter by letter: MariaDB also finds texts in another case.
    const byValue = new Map(found.map((record) => [String(column.getEntityValue(record)), record]))
    return new Map(
      values.flatMap(([text, value]) => {
        const record = byValue.get(String(value))
        return record ? [[text, record] as const] : []
      }),
    )
  })
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
