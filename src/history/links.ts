import type { EntityManager, EntityMetadata } from 'typeorm'
import { columnWriter, idListsOf, lockClause, targetOf, type IdList } from '../extension.js'
import type { LinkedIds } from './changes.js'

/**
 * Reads the ids of the links of a record, also those that a request cannot see.
 *
 * @param isNew whether the record is new, so that nobody else links it. On MariaDB, a lock of its links would lock a gap in which
 *   others insert.
 */
export async function readLinks(
  tx: EntityManager,
  metadata: EntityMetadata,
  record: object,
  isRead: (links: IdList) => boolean,
  isNew = false,
): Promise<LinkedIds> {
  const ids = new Map<string, string[]>()
  for (const links of idListsOf(metadata).filter(isRead)) {
    const { table, toOwner, toRelated, property } = links
    const column = columnWriter(tx)
    const [sql, values] = tx
      .createQueryBuilder()
      .select(column('link', toRelated), 'id')
      .from(table, 'link')
      .where(`${column('link', toOwner)} = :owner`, { owner: targetOf(toOwner).getEntityValue(record) })
      .getQueryAndParameters()
    const rows: { id: unknown }[] = await tx.query(sql + (isNew ? '' : lockClause(tx)), values)
    ids.set(property, rows.map(({ id }) => String(id)).toSorted())
  }
  return ids
}
