import { expect } from 'chai'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { generate } from '../../../src/generator/files/files.js'
import { resourceActions } from '../../../src/generator/resource-generator.js'
import { Application } from '../../support/applications/generated.js'
import { kit } from '../../support/kit.js'

/** Lines that compile, and lines that do not. */
const CALLS = `
import type { Context, PathName } from 'resource-kit'
import { app } from './app.js'
import type { Comment } from './models/comment.js'
import type { Post } from './models/post.js'
import type { Reply } from './models/reply.js'

export function paths(ctx: Context, post: Post, comment: Comment, reply: Reply, id: string, name: string): string[] {
  return [
    ctx.pathFor('postsPath'),
    ctx.pathFor('postsPath', { page: 2 }),
    ctx.pathFor('postPath', post),
    ctx.pathFor('postPath', id),
    ctx.pathFor('postPath', 1, { page: 2 }),
    ctx.pathFor('postPath', { post_id: 1, page: 2 }),
    ctx.pathFor('postPath', { post_id: post }),
    ctx.pathFor('postPath', ctx.params),
    ctx.urlFor('postPath', post),
    app.pathFor('postCommentPath', post, comment),
    app.pathFor('postCommentPath', comment),
    app.pathFor('postCommentPath', comment, { tab: 'a' }),
    app.pathFor('postCommentPath', { post_id: 1, comment_id: 2 }),
    ctx.pathFor('postCommentReplyPath', comment, reply),
    ctx.pathFor('postCommentReplyPath', post, comment, reply),
    ctx.pathFor('adminPlanePath', { plane_id: 1 }),
    ctx.pathFor(name as PathName),
    // @ts-expect-error -- misspelled
    ctx.pathFor('postPth', post),
    // @ts-expect-error -- no parameter
    ctx.pathFor('postPath'),
    // @ts-expect-error -- another key
    ctx.pathFor('postPath', { id: 1 }),
    // @ts-expect-error -- one of two parameters
    ctx.pathFor('postCommentPath', { post_id: 1 }),
    // @ts-expect-error -- one of two values
    ctx.pathFor('postCommentPath', id),
    // @ts-expect-error -- a post has no post_id
    ctx.pathFor('postCommentPath', post),
    // @ts-expect-error -- any text
    ctx.pathFor(name),
    // @ts-expect-error -- misspelled
    ctx.urlFor('postPth', post),
  ]
}
`

describe('The names of routes for ctx.pathFor', () => {
  let app: Application
  const types = () => readFileSync(app.path('.kit/routes.d.ts'), 'utf8')

  before(() => {
    app = Application.web()
    generate(app.folder, resourceActions(app.folder, 'post', { attributes: ['title'] }))
    generate(app.folder, resourceActions(app.folder, 'comment', { attributes: ['body'], parent: 'post' }))
    generate(app.folder, resourceActions(app.folder, 'reply', { attributes: ['body'], parent: 'comment' }))
    generate(app.folder, resourceActions(app.folder, 'admin/plane', { attributes: ['name'] }))
    app.run('tsc', '--version')
  })

  after(() => app.remove())

  it('compile without the file, as in a fresh clone', () => {
    expect(existsSync(app.path('.kit/routes.d.ts'))).to.equal(false)
    expect(app.compile()).to.deep.equal({ status: 0, output: '' })
  })

  it('are written by kit build, and generated code compiles with them', async () => {
    rmSync(app.path('dist'), { recursive: true, force: true })
    app.write('src/paths.ts', CALLS.replaceAll(/^ *\/\/ @ts-expect-error.*\n.*\n/gm, ''))
    const built = await kit(app.folder, ['build'])
    expect(built.errors).to.equal('')
    expect(types()).to.include("    postCommentReplyPath: ['post_id', 'comment_id', 'reply_id']\n")
    app.write('src/paths.ts', CALLS)
    expect(app.compile()).to.deep.equal({ status: 0, output: '' })
  })

  it('are suggested if one is misspelled', async () => {
    app.write('src/paths.ts', CALLS.replaceAll(/^ *\/\/ @ts-expect-error.*\n/gm, ''))
    const { status, errors } = await kit(app.folder, ['build'])
    expect(status).to.equal(1)
    expect(errors).to.match(/src\/paths.ts.*"postPth".* Did you mean "postPath"\?/)
    rmSync(app.path('src/paths.ts'))
  })

  it('come with advice if an extension is registered as middleware', async () => {
    const mistake =
      "import { mailer } from 'resource-kit/mail'\nimport { app } from './app.js'\n\napp.use(mailer())\n"
    app.write('src/mistake.ts', mistake)
    const { status, errors } = await kit(app.folder, ['build'])
    expect(status).to.equal(1)
    expect(errors).to.match(
      /src\/mistake.ts.*'Extension'.* Register extensions, such as jobs, with app\.extend\(\)\.$/m,
    )
    rmSync(app.path('src/mistake.ts'))
  })

  it('do not block a build if they are old', async () => {
    const old = types()
    generate(app.folder, resourceActions(app.folder, 'tag', { attributes: ['name'] }))
    expect(types()).to.equal(old)
    const built = await kit(app.folder, ['build'])
    expect(built.errors).to.equal('')
    expect(types()).to.include("tagPath: ['tag_id']")
  })

  it('show what uses a name that has gone', async () => {
    app.write(
      'src/app.ts',
      app.read('src/app.ts').replace('app.resource(TagsResource)', "app.resource('/labels', TagsResource)"),
    )
    const { status, errors } = await kit(app.folder, ['build'])
    expect(status).to.equal(1)
    expect(errors).to.include('src/actions/tags.ts').and.to.include('"tagPath"')
    expect(types()).to.include("labelPath: ['label_id']")
    app.write(
      'src/actions/tags.ts',
      app.read('src/actions/tags.ts').replaceAll('tagPath', 'labelPath').replaceAll('tagsPath', 'labelsPath'),
    )
    expect((await kit(app.folder, ['build'])).errors).to.equal('')
  })

  it('are kept if the application cannot be loaded', async () => {
    const known = types()
    const source = app.read('src/app.ts')
    app.write('src/app.ts', `${source}\nthrow new Error('no')\n`)
    const { errors } = await kit(app.folder, ['build'])
    expect(errors).to.include('The application could not be loaded').and.to.include('Error: no')
    expect(types()).to.equal(known)
    app.write('src/app.ts', source)
  })

  it('are written by kit routes --types', async () => {
    rmSync(join(app.folder, '.kit'), { recursive: true })
    expect((await kit(app.folder, ['routes', '--types'])).output).to.equal('wrote .kit/routes.d.ts')
    expect((await kit(app.folder, ['routes', '--types'])).output).to.equal('.kit/routes.d.ts is up to date')
  })
})
