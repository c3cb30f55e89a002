import { fileURLToPath } from 'node:url'
import type { App, Database } from '../../../src/index.js'
import { sharedDatabase } from '../engine.js'
import { Site } from '../site.js'

const folder = new URL('../../../../examples/blog/', import.meta.url)

interface Blog {
  app: App
  database: Database
}

/** examples/blog on its own database, migrated and empty. */
export async function openExampleBlog(): Promise<Blog & { site: Site }> {
  const { app, database } = await load()
  const site = await Site.open(app, async (site) => {
    await database.migrate()
    await database.query('DELETE FROM posts')
    // The page of a form, which contains the token for the site.
    await site.get('/posts/new')
  })
  return { app, site, database }
}

let blog: Promise<Blog> | undefined

/** The blog's modules exist once in a process, and read their folders from the working directory. */
function load(): Promise<Blog> {
  return (blog ??= (async () => {
    const before = process.env['DATABASE_URL']
    process.env['DATABASE_URL'] = await sharedDatabase()
    process.chdir(fileURLToPath(folder))
    const { app }: { app: App } = await import(new URL('dist/src/app.js', folder).href)
    const { database }: { database: Database } = await import(new URL('dist/src/database.js', folder).href)
    app.callback()
    if (before === undefined) delete process.env['DATABASE_URL']
    else process.env['DATABASE_URL'] = before
    return { app, database }
  })())
}
