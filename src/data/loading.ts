import { In, type EntityManager, type FindOptionsWhere } from 'typeorm'
import { UnknownRelation } from '../errors.js'
import type { Model } from './model.js'

/**
 * Loads what records of one model refer to: one query for each relation, however many records there are. A record whose
 * key is null, or leads nowhere, gets null.
 *
 * @example await loadRelations(tx, posts, ['author'])
 * @throws UnknownRelation when the model has no such relation, or one without a key of its own
 */
export async function loadRelations(
  tx: EntityManager,
  records: readonly Model[],
  relations: readonly string[],
): Promise<void> {
  for (const relation of relations) await loadRelation(tx, records, relation)
}

async function loadRelation(tx: EntityManager, records: readonly Model[], name: string): Promise<void> {
  const [first] = records
  if (!first) return
  const metadata = tx.dataSource.getMetadata(first.constructor)
  const relation = metadata.findRelationWithPropertyPath(name)
  const key = relation?.joinColumns[0]?.propertyName
  if (!relation || !key || relation.joinColumns.length > 1)
    throw new UnknownRelation(metadata.targetName, name)

  const ids = new Set(records.map((record) => Reflect.get(record, key)).filter(Boolean))
  const where: FindOptionsWhere<Model> = { id: In([...ids]) }
  const found = ids.size > 0 ? await tx.findBy<Model>(relation.type, where) : []
  const byId = new Map(found.map((record) => [record.id, record]))
  for (const record of records) Reflect.set(record, name, byId.get(Reflect.get(record, key)) ?? null)
}
