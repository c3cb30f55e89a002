import { expect } from 'chai'
import { rmSync } from 'node:fs'
import { authActions } from '../../../src/generator/auth-generator.js'
import { destroy, generate } from '../../../src/generator/files/files.js'
import { resourceActions, resourceDestruction } from '../../../src/generator/resource-generator.js'
import type { ResourceArguments } from '../../../src/generator/arguments/command-line.js'
import { newDatabase } from '../../support/databases.js'
import { describeOnce, engine, itOnce } from '../../support/engine.js'
import { generateCommand } from '../../../src/cli/commands/generate.js'
import { runCommand } from '../../support/run-command.js'
import { Application, INDEPENDENT_OF_ENGINE } from '../../support/applications/generated.js'
import { WALK_OF_ROUTES } from '../../support/applications/walk-of-routes.js'

const own = { owner: 'user' }

/** Resources that users own, and resources that are nested in them, in the order in which they are generated. */
const RESOURCES: [name: string, attributes: string[], options?: ResourceArguments][] = [
  ['label', ['name'], { ...own, search: 'name' }],
  [
    'post',
    [
      'title',
      'body:nulls.text',
      'main_label:nulls.references:label',
      'labels:many',
      'editor:nulls.references:user',
    ],
    {
      ...own,
      route: ['publish:post', 'import:post:collection', 'preview:get', 'archive:delete'],
      filter: 'title,main_label',
      sort: '-created_at,title',
      search: 'title',
      unique: ['user_id,title'],
    },
  ],
  [
    'comment',
    ['text'],
    { ...own, parent: 'post', route: ['hide:post', 'sweep:post:collection'], filter: 'text' },
  ],
  ['reaction', ['kind', 'label:references'], { ...own, parent: 'comment' }],
  ['vote', ['stars:int'], { parent: 'comment' }],
  [
    'note',
    ['text', 'label:references'],
    { parent: 'post', route: ['pin:put', 'sort:post:collection'], sort: 'text' },
  ],
  ['reply', ['text'], { parent: 'note', route: ['hide:post'] }],
  ['topic', ['name', 'labels:many']],
  ['answer', ['text'], { ...own, parent: 'topic', sort: 'text' }],
  ['profile', ['nickname', 'labels:many'], { ...own, singular: true, route: ['verify:post'] }],
  ['preferences', ['theme:enum:dark,light'], { ...own, singular: true }],
  [
    'api/v1/task',
    ['title', 'label:references'],
    { ...own, api: true, route: ['finish:post', 'clear:post:collection'] },
  ],
  // The policy of a model applies wherever its handlers are.
  ['checklist', ['name', 'tasks:many']],
  ['api/v1/step', ['text'], { api: true, parent: 'api/v1/task', route: ['skip:post'] }],
  ['api/v1/remark', ['text'], { ...own, api: true, parent: 'api/v1/task' }],
  ['api/v1/setup', ['name'], { ...own, api: true, singular: true }],
]

/** The resources with indexes, links and scopes of parents, which depend on the engine. */
const onServers = ['label', 'post', 'comment', 'note', 'preferences']
const inApi = ['label', 'post', 'comment', 'note', 'profile']
/** The specs of accounts: those of generate-auth.spec.ts, members.spec.ts and members-attacks.spec.ts notice the same errors. */
const OF_ACCOUNTS = '^(Account|PasswordReset|Registration|Session)Resource '
const resources = RESOURCES.filter(([name]) => engine === 'sqlite' || onServers.includes(name))

describe('Generated resources that users own', () => {
  let app: Application
  let accounts: Record<string, string>

  before(async () => {
    app = Application.web()
    if (engine !== 'sqlite') {
      const [DATABASE_URL, TEST_DATABASE_URL] = [await newDatabase(), await newDatabase()]
      Object.assign(app.environment, { DATABASE_URL, TEST_DATABASE_URL })
    }
    // The specs of tokens run on each engine; generate-auth-api.spec.ts runs them on SQLite.
    generate(app.folder, authActions(app.folder, 'user', { api: engine !== 'sqlite' }))
    accounts = app.tree()
    for (const [name, attributes, options] of resources)
      generate(app.folder, resourceActions(app.folder, name, { attributes, spec: 'full', ...options }))
  })

  after(() => app.remove())

  itOnce('are formatted', async () => {
    expect(await app.unformatted()).to.deep.equal([])
  })

  itOnce('include only the ids of accounts, and their names if they have one', () => {
    expect(app.read('src/actions/posts.ts')).to.contain("\n    include: { editor: ['id'] },\n  })")
    expect(app.read('src/actions/comments.ts')).to.not.contain('include:')
    const user = app.read('src/models/user.ts')
    app.write('src/models/user.ts', user.replace('  email!: string', '$&\n\n  name!: string'))
    const attributes = ['title', 'watchers:many:user', 'label:references']
    const actions = resourceActions(app.folder, 'chore', { attributes, search: 'title' })
    app.write('src/models/user.ts', user)
    const handlers = actions.find(({ path }) => path === 'src/actions/chores.ts')
    expect(handlers).to.have.property('content').that.contains("include: { watchers: ['id', 'name'] },")
  })

  it('compile under strict', () => {
    expect(app.compile()).to.deep.equal({ status: 0, output: '' })
  })

  // One process runs all. The walk depends on policies and handlers; the complete specs run their queries on each engine.
  it('have complete specs that pass, serve each route to the owner only, and roll back what is not authorized', function () {
    // It waits for a program, which ends.
    this.timeout(0)
    if (engine === 'sqlite') app.write('dist/spec/walk.spec.js', WALK_OF_ROUTES)
    const others = engine === 'sqlite' ? OF_ACCOUNTS : `${OF_ACCOUNTS}|${INDEPENDENT_OF_ENGINE}`
    const { passes, failures } = app.reportSpecs('--grep', others, '--invert')
    expect(failures).to.deep.equal([])
    expect(passes).to.be.above(engine === 'sqlite' ? 1000 : 50)
  })

  itOnce('are taken back by kit destroy', async () => {
    for (const [name] of resources.toReversed()) {
      const { actions } = resourceDestruction(app.folder, name, async () => false)
      await destroy(app.folder, actions, { confirm: () => Promise.resolve(true) })
    }
    rmSync(app.path('node_modules'), { force: true })
    expect(app.tree()).to.deep.equal(accounts)
  })

  itOnce(
    'leave a policy behind if --force generates them without an owner, which kit generate says',
    async () => {
      const application = Application.web()
      const post = (...args: string[]) =>
        runCommand(
          (out) => generateCommand(out, () => application.folder),
          ['resource', 'post', 'title', ...args],
        )
      generate(application.folder, authActions(application.folder, 'user'))
      await post('--owner', 'user')
      expect(await post('--owner', 'user', '--force')).to.not.contain('earlier command')
      expect(await post('--spec', 'full', '--force')).to.contain(
        'The earlier command has also written src/policies/post.ts. Delete what you no longer need.\n',
      )
      application.remove()
    },
  )

  itOnce('are rejected if they cannot belong to the user who has signed in', () => {
    const application = Application.web()
    const messageOf = (options: ResourceArguments, name = 'note') => {
      try {
        resourceActions(application.folder, name, options)
      } catch (error) {
        return String(error)
      }
      return ''
    }
    expect(messageOf(own)).to.include('Run `kit generate auth` first')
    generate(application.folder, authActions(application.folder, 'user'))
    generate(application.folder, resourceActions(application.folder, 'team', { attributes: ['name'] }))
    expect(messageOf({ owner: 'team' })).to.include('Use --owner user.')
    expect(messageOf({ ...own, useModel: 'team' })).to.include('without --use-model and --skip-model')
    generate(application.folder, resourceActions(application.folder, 'order', own))
    expect(messageOf({ useModel: 'order' }, 'admin/order')).to.include(
      'Each Order has an owner, whose policy the handlers must ask.',
    )
    expect(messageOf({ ...own, attributes: ['user:references'] })).to.include('user_id')
    expect(messageOf({ ...own, route: ['scope:post'] })).to.include('reserved in a policy')
    expect(messageOf(own, 'policy')).to.include('A generated file would import two classes named Policy')
    expect(messageOf({ ...own, singular: true, parent: 'team' })).to.include('no --parent')
    generate(application.folder, resourceActions(application.folder, 'user', { useModel: 'user' }))
    expect(messageOf({ ...own, parent: 'user' })).to.include('both add the column user_id')
    application.remove()
  })
})

describeOnce('Generated resources of an API that users own', () => {
  const app = Application.api()

  after(() => app.remove())

  it('have complete specs that pass, with bearer tokens', async () => {
    generate(app.folder, authActions(app.folder, 'user'))
    for (const [name, attributes, options] of RESOURCES) {
      if (!inApi.includes(name)) continue
      generate(app.folder, resourceActions(app.folder, name, { attributes, spec: 'full', ...options }))
    }
    // Each user has at most one like in each post.
    const like = { ...own, parent: 'post', unique: ['post_id,user_id'], sort: '-stars' }
    generate(app.folder, resourceActions(app.folder, 'like', { attributes: ['stars:int'], ...like }))
    expect(await app.unformatted()).to.deep.equal([])
    expect(app.compile()).to.deep.equal({ status: 0, output: '' })
    const { status, output } = app.runSpecs('--grep', 'Label|Post|Comment|Note|Profile|Like')
    expect(status, output).to.equal(0)
  })
})
