import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { requireUser } from '../../src/auth/index.js'
import { App, BaseResource, Resource, type Context } from '../../src/index.js'
import { Site } from '../support/site.js'
import { temporaryFolder } from '../support/temporary-folder.js'

abstract class PageResource extends BaseResource {
  override list(ctx: Context) {
    return ctx.render('list')
  }
}

@Resource('/posts')
class PostsResource extends PageResource {}

@Resource('/notes')
class NotesResource extends PageResource {}

describe('The navigation', () => {
  let folder: string
  let site: Site

  before(async () => {
    folder = temporaryFolder()
    await writeFile(join(folder, 'list.pug'), '!= collectionLinks()\n')
    const app = new App({ templates: folder })
    app.use(async (ctx, next) => {
      if (ctx.get('X-User')) Object.assign(ctx, { user: { id: ctx.get('X-User') } })
      await next()
    })
    app.resource(PostsResource)
    app.use(requireUser())
    app.resource(NotesResource)
    site = await Site.open(app)
  })

  after(async () => {
    await site.close()
    await rm(folder, { recursive: true })
  })

  it('leaves out resources that need a user if there is none', async () => {
    const { text } = await site.get('/posts')
    expect(text).to.include('href="/posts"').and.not.include('href="/notes"')
  })

  it('has all resources for a user', async () => {
    const { text } = await site.get('/posts', { headers: { 'X-User': '1' } })
    expect(text).to.include('href="/posts"').and.include('href="/notes"')
  })
})
