import type { EntityManager } from 'typeorm'

/**
 * Creates the application's initial records. `kit db seed` runs this function in one transaction. Check for existing
 * records, so that you can run it again:
 *
 * @example
 * if ((await tx.count(Post)) === 0) await tx.save(tx.create(Post, { title: 'Hello' }))
 */
export async function seed(_tx: EntityManager): Promise<void> {}
