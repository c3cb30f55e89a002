import { Site } from '../site.js'
import { loadExample, type Example } from './example.js'

/** examples/blog on its own database, migrated and empty. */
export async function openExampleBlog(): Promise<Example & { site: Site }> {
  const { app, database } = await loadExample('blog')
  const site = await Site.open(app, async (site) => {
    await database.migrate()
    await database.query('DELETE FROM posts')
    // The page of a form, which contains the token for the site.
    await site.get('/posts/new')
  })
  return { app, site, database }
}
