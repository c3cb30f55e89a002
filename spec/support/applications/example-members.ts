import { idempotency, idempotencyKeysTable, Use } from '../../../src/index.js'
import { Site } from '../site.js'
import { loadExample, type Example } from './example.js'

/** examples/members, whose posts recognize keys, as docs/safe-writes.md describes it for a class. */
export function loadExampleMembers(): Promise<Example> {
  return loadExample('members', async (database, load) => {
    const { PostsResource } = await load('actions/posts.js')
    Use(idempotency(database))(PostsResource as never)
  })
}

/** examples/members on its own database, migrated. */
export async function openExampleMembers(): Promise<Example & { site: Site }> {
  const { app, database } = await loadExampleMembers()
  const site = await Site.open(app, async () => {
    await database.migrate()
    const runner = database.createQueryRunner()
    await runner.createTable(idempotencyKeysTable(runner), true)
    await runner.release()
  })
  return { app, site, database }
}
