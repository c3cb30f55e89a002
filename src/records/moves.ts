import type { EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { engineOf } from '../database/engines/engines.js'
import type { Model } from '../models/model.js'
import { run } from './fast-path/fast-path.js'
import { columnWriter, idListsOf, targetOf } from './joins.js'
import { commonOf, enclosuresOf, waysOf } from './within.js'
import type { RecordWork } from './work.js'

/** A column that refers to records of a model, and its table. */
interface Referrer {
  table: string
  key: ColumnMetadata
}

/** Whether another record is in a record, or refers to it and must have a record in common with it. */
export async function isOccupied(
  { tx }: RecordWork,
  metadata: EntityMetadata,
  record: Model,
): Promise<boolean> {
  const column = columnWriter(tx)
  for (const { table, key } of referrersOf(metadata)) {
    const id: unknown = targetOf(key).getEntityValue(record)
    const query = tx
      .createQueryBuilder()
      .select('1', 'one')
      .from(table, 'referrer')
      .where(`${column('referrer', key)} = :id`, { id })
      .withDeleted()
      .limit(1)
    const [sql, parameters] = query.getQueryAndParameters()
    // Without the lock, MariaDB returns the rows that existed when the transaction began to read.
    const lock = engineOf(tx.dataSource).rowLocks?.likeKey(tx.dataSource.driver.escape('referrer')) ?? ''
    if ((await run(tx, sql + lock, parameters)).length > 0) return true
  }
  return false
}

function referrersOf(metadata: EntityMetadata): Referrer[] {
  const isOwn = ({ tablePath }: EntityMetadata) => tablePath === metadata.tablePath
  const listed = idListsOf(metadata).flatMap(({ relation }) => [relation, relation.inverseRelation])
  const isLimited = (from: EntityMetadata, to: EntityMetadata) => commonOf(waysOf(from), to).length > 0
  return metadata.dataSource.entityMetadatas.flatMap((other) =>
    other.relations.flatMap((relation): Referrer[] => {
      const { inverseEntityMetadata: target, joinColumns, inverseJoinColumns } = relation
      const table = relation.junctionEntityMetadata?.tablePath
      if (table !== undefined) {
        const keys = [
          ...(isOwn(target) && isLimited(other, target) ? inverseJoinColumns : []),
          // The ids in properties with `@RelationIds` are checked as references of the record.
          ...(isOwn(other) && !listed.includes(relation) && isLimited(other, target) ? joinColumns : []),
        ]
        return relation.isOwning ? keys.map((key) => ({ table, key })) : []
      }
      const [key] = relation.isOwning && isOwn(target) ? joinColumns : []
      const ways = waysOf(other).filter(({ path }) => path[0]?.relation !== relation)
      const isInside = enclosuresOf(other).some((enclosure) => enclosure.relation === relation)
      const isReferrer = isInside || commonOf(ways, target).length > 0
      return key && isReferrer ? [{ table: other.tablePath, key }] : []
    }),
  )
}
