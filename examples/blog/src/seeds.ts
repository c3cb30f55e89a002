import type { EntityManager } from 'typeorm'

/**
 * Writes the records that the application begins with. `kit db seed` runs it, in one transaction. Let it look for what
 * is there already, so that it can be run again:
 *
 * @example
 * if ((await tx.count(Post)) === 0) await tx.save(tx.create(Post, { title: 'Hello' }))
 */
export async function seed(_tx: EntityManager): Promise<void> {}
