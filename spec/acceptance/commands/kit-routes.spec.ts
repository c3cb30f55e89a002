import { expect } from 'chai'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { kit, newApplication, root, type Run } from '../../support/kit.js'

const blog = join(root, 'examples/blog')

describe('kit routes', () => {
  const run = (...args: string[]): Promise<Run> => kit(blog, ['routes', ...args])

  it('prints a row for each route, in the order of declaration', async () => {
    const { output } = await run()
    const rows = output.split('\n').map((line) => line.split('|').map((cell) => cell.trim()))
    const host = 'http://127.0.0.1:3000'
    expect(rows).to.deep.equal([
      ['METHOD', 'HOST', 'PATH', 'ALIASES', 'NAME', 'HANDLER', 'WITHIN'],
      ['GET', host, '/', '', 'rootPath', 'home', ''],
      ['GET', host, '/posts', '', 'postsPath', 'PostsResource.list', ''],
      ['POST', host, '/posts', '', 'postsPath', 'PostsResource.create', ''],
      ['GET', host, '/posts/new', '', 'newPostsPath', 'PostsResource.new', ''],
      ['GET', host, '/posts/{post_id}', '', 'postPath', 'PostsResource.show', ''],
      ['PUT', host, '/posts/{post_id}', '', 'postPath', 'PostsResource.update', ''],
      ['DELETE', host, '/posts/{post_id}', '', 'postPath', 'PostsResource.destroy', ''],
      ['GET', host, '/posts/{post_id}/edit', '', 'editPostPath', 'PostsResource.edit', ''],
      ['GET', host, '/posts/{post_id}/comments', '', 'postCommentsPath', 'CommentsResource.list', 'post'],
      ['POST', host, '/posts/{post_id}/comments', '', 'postCommentsPath', 'CommentsResource.create', 'post'],
      [
        'GET',
        host,
        '/posts/{post_id}/comments/new',
        '',
        'newPostCommentsPath',
        'CommentsResource.new',
        'post',
      ],
      [
        'GET',
        host,
        '/posts/{post_id}/comments/{comment_id}',
        '',
        'postCommentPath',
        'CommentsResource.show',
        'post',
      ],
      [
        'PUT',
        host,
        '/posts/{post_id}/comments/{comment_id}',
        '',
        'postCommentPath',
        'CommentsResource.update',
        'post',
      ],
      [
        'DELETE',
        host,
        '/posts/{post_id}/comments/{comment_id}',
        '',
        'postCommentPath',
        'CommentsResource.destroy',
        'post',
      ],
      [
        'GET',
        host,
        '/posts/{post_id}/comments/{comment_id}/edit',
        '',
        'editPostCommentPath',
        'CommentsResource.edit',
        'post',
      ],
    ])
  })

  it('prints the configured address', async () => {
    const { output } = await kit(blog, ['routes', '--grep', 'rootPath'], {
      env: { PORT: '4000', HOST: '::1' },
    })
    expect(output).to.include('| http://[::1]:4000 |')
  })

  it('prints JSON', async () => {
    const { output } = await run('--json', '--grep', 'EDITPOSTPATH')
    const [route, ...others] = JSON.parse(output)
    expect(route.file).to.match(/^src\/actions\/posts\.ts:\d+$/)
    expect([route, ...others]).to.deep.equal([
      {
        method: 'GET',
        host: 'http://127.0.0.1:3000',
        path: '/posts/{post_id}/edit',
        aliases: [],
        name: 'editPostPath',
        handler: 'PostsResource.edit',
        within: [],
        file: route.file,
      },
    ])
  })

  it('reports that no route contains a word', async () => {
    expect(await run('--grep', 'nope')).to.deep.equal({
      status: 0,
      output: 'No route contains "nope".',
      errors: '',
    })
  })

  it('prints the matching route, with its middleware and the file of its handler', async () => {
    const { output } = await run('--match', 'PUT /posts/1')
    expect(output).to.match(
      new RegExp(
        [
          'Request     PUT /posts/1',
          String.raw`Route       PUT /posts/\{post_id\} \(postPath\)`,
          'Parameters  post_id=1',
          'Middleware  forceSSL, parameterLogger, csrf, transaction, translations',
          'Handler     PostsResource.update',
          String.raw`File        src/actions/posts\.ts:\d+$`,
        ].join('\n'),
      ),
    )
  })

  it('uses GET for a path alone', async () => {
    expect((await run('--match', '/posts/new')).output).to.include('Handler     PostsResource.new')
    expect((await run('--match', '/posts/1/comments')).output).to.include('Within      post')
  })

  it('exits with status 1 when no route matches', async () => {
    expect(await run('--match', 'GET /nope')).to.deep.equal({
      status: 1,
      output: '',
      errors: 'No route matches GET /nope.',
    })
    expect((await run('--match', 'DELETE /posts')).errors).to.equal(
      'No route matches DELETE /posts. The path has routes for GET, POST.',
    )
  })

  for (const request of ['posts', 'GET', '', 'GET /a b', '/%zz']) {
    it(`rejects "${request}", which isn't a request`, async () => {
      expect(await run('--match', request)).to.deep.equal({
        status: 1,
        output: '',
        errors: `"${request}" isn't a valid request. Write a method and a path: --match "PUT /posts/1".`,
      })
    })
  }

  it('prints the public routes whose handlers are written', async () => {
    const application = await newApplication()
    const file = join(application.folder, 'src/app.ts')
    const declared = `
      @Resource('/open') class OpenResource extends BaseResource { override list() {} }
      @Resource('/own') class OwnResource extends BaseResource { override list() {} }
      app.resource(OpenResource)
      app.use(requireUser())
      app.resource(OwnResource)
    `
    writeFileSync(
      file,
      `import { BaseResource, Resource } from 'resource-kit'\nimport { requireUser } from 'resource-kit/auth'\n` +
        readFileSync(file, 'utf8') +
        declared,
    )
    const { output, errors } = await kit(application.folder, ['routes', '--public', '--json'])
    application.remove()
    expect(errors).to.equal('')
    expect(JSON.parse(output).map(({ handler }: { handler: string }) => handler)).to.deep.equal([
      'home',
      'OpenResource.list',
    ])
  })

  it('marks handlers of records of teams that use ctx.tx, which no policy limits', async () => {
    const application = await newApplication()
    const file = join(application.folder, 'src/app.ts')
    const imports = `
      import { BaseResource, Model, Resource, type Context } from 'resource-kit'
      import { teamMembers, type Membership as Member, type Invitation as Invited } from 'resource-kit/teams'
    `
    const declared = `
      class Branch extends Model {}
      class Membership extends Model implements Member { user_id = ''; role = '' }
      class Invitation extends Model implements Invited {
        email = ''; role = ''; token_hash = ''; expires_at = new Date(); inviter_id = null
      }
      const models = { team: Branch, membership: Membership, invitation: Invitation }
      const branches = teamMembers(database, { ...models, roles: ['owner', 'member'] })
      class BranchPolicy extends branches.RolePolicy<Branch> {}
      @Resource('/branches', { model: Branch, policy: BranchPolicy, fields: [] })
      class BranchesResource extends BaseResource {
        override async list(ctx: Context) { return ctx.respond({ data: await ctx.tx.query('SELECT 1') }) }
        override async show(ctx: Context) { return ctx.respond({ data: await ctx.find(Branch, ctx.params['branch_id']) }) }
      }
      app.resource(BranchesResource)
    `
    writeFileSync(file, imports + readFileSync(file, 'utf8') + declared)
    const { output, errors } = await kit(application.folder, ['routes', '--grep', 'branches'])
    const json = await kit(application.folder, ['routes', '--grep', 'branches', '--json'])
    application.remove()
    expect(errors).to.equal('')
    const [head, list, ...others] = output
      .split('\n')
      .map((line) => line.split('|').at(-1)?.trim())
      .filter((cell) => cell !== '')
    expect([head, list]).to.deep.equal(['USES', 'ctx.tx'])
    expect(others).to.not.include('ctx.tx')
    const uses = JSON.parse(json.output).map((route: { uses?: string[] }) => route.uses)
    expect(uses.filter(Boolean)).to.deep.equal([['ctx.tx']])
  })

  it('does not open the database', async () => {
    const { status } = await kit(blog, ['routes'], { env: { DATABASE_URL: 'sqlite:db/untouched.sqlite' } })
    expect(status).to.equal(0)
    expect(existsSync(join(blog, 'db/untouched.sqlite'))).to.equal(false)
  })
})
