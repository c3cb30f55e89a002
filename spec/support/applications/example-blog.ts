import { Site } from '../site.js'
import { loadExample, type Example } from './example.js'

let blog: Promise<Example> | undefined

/** examples/blog on its own database, migrated and empty. */
export async function openExampleBlog(): Promise<Example & { site: Site }> {
  blog ??= loadExample('blog')
  const { app, database } = await blog
  const site = await Site.open(app, async (site) => {
    await database.migrate()
    await database.query('DELETE FROM posts')
    // The page of a form, which contains the token for the site.
    await site.get('/posts/new')
  })
  return { app, site, database }
}
