import type { DataSource, EntityMetadata } from 'typeorm'
import { chainsOf, conditionOn } from '../extension.js'
import { ValidationErrors, type JobContext, type Model } from '../index.js'
import { isGuarded } from './guard.js'

/** The number of records that are deleted at once. */
const maxDeleted = 1000

/**
 * Deletes up to 1,000 records inside of a team, those first to which no other ones refer, also from the trash.
 *
 * @returns the number of records
 * @throws ValidationErrors (409) when records that are left refer to each other
 */
export async function emptyTeam(job: JobContext, team: Model): Promise<number> {
  const { tx } = job
  const models = childrenFirst(tx.dataSource).flatMap((metadata) => {
    const chain = chainsOf(metadata).find((way) => way.model.target === team.constructor && !way.members)
    return chain && !isGuarded(metadata) ? [{ metadata, chain }] : []
  })
  let count = 0
  let refusal: ValidationErrors | undefined
  let before: number
  do {
    before = count
    refusal = undefined
    for (const { metadata, chain } of models) {
      const where = conditionOn(chain, team.id)
      const order = { id: 'DESC' } as object
      const take = maxDeleted - count
      const records = await tx.find<Model>(metadata.target, { where, order, take, withDeleted: true })
      for (const record of records) {
        const refused = await job
          .destroy(record, { trash: false })
          .then(() => undefined, rejectUnlessReferred)
        if (refused) refusal = refused
        else count += 1
      }
      if (count === maxDeleted) return count
    }
    // A record that was refused may be free now.
  } while (count > before && refusal)
  if (count === 0 && refusal) throw refusal
  return count
}

/** The models of a database, each after those that refer to it. */
function childrenFirst({ entityMetadatas }: DataSource): EntityMetadata[] {
  const seen = new Set<EntityMetadata>()
  const visit = (metadata: EntityMetadata): EntityMetadata[] => {
    if (seen.has(metadata) || typeof metadata.target !== 'function') return []
    seen.add(metadata)
    const refers = ({ relations }: EntityMetadata) =>
      relations.some((it) => it.isOwning && it.inverseEntityMetadata === metadata)
    return [...entityMetadatas.filter(refers).flatMap(visit), metadata]
  }
  return entityMetadatas.flatMap(visit)
}

/** Returns the error of a record that cannot be deleted, because another one refers to it. */
function rejectUnlessReferred(error: unknown): ValidationErrors {
  if (error instanceof ValidationErrors && error.status === 409) return error
  throw error
}
