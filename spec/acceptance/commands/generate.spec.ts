import { execFileSync } from 'node:child_process'
import { rmSync, symlinkSync } from 'node:fs'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import { destroyCommand } from '../../../src/cli/commands/destroy.js'
import { generateCommand } from '../../../src/cli/commands/generate.js'
import { Application, blogFiles, generated } from '../../support/applications/generated.js'
import { authActions } from '../../../src/generator/auth-generator.js'
import { generate } from '../../../src/generator/files/files.js'
import { failure } from '../../support/failure.js'
import { kit } from '../../support/kit.js'
import { runCommand } from '../../support/run-command.js'

describe('kit generate and kit destroy', () => {
  let app: Application

  beforeEach(() => (app = Application.web()))
  afterEach(() => app.remove())

  /** Runs `kit generate ...` in the application, and returns its output. */
  async function kitGenerate(...args: string[]): Promise<string> {
    return runCommand((out) => generateCommand(out, () => app.folder), args)
  }

  /** Runs `kit destroy ...` there, with these answers. */
  async function kitDestroy(args: string[], responses = '', ran: string[] = []): Promise<string> {
    const hasRun = (name: string) => Promise.resolve(ran.includes(name))
    const settings = { folder: () => app.folder, input: Readable.from([responses]), hasRun }
    return runCommand((out) => destroyCommand(out, settings), args)
  }

  it('writes examples/blog exactly', async () => {
    const queries = ['--filter=title,created_at', '--sort=title,created_at', '--search=title,description']
    await kitGenerate('resource', 'post', 'title', 'description:nulls.text', ...queries, '--spec=full')
    await kitGenerate('resource', 'comment', 'body:text', '--parent', 'post', '--spec=full')
    expect(timeless(app.tree(), generated)).to.deep.equal(timeless(blogFiles(), generated))
    expect(app.read('src/app.ts')).to.equal(blogFiles()['src/app.ts'])
  })

  it('lists the files that it writes', async () => {
    expect(timelessText(await kitGenerate('r', 'post', 'title')).split('\n')).to.deep.equal([
      '   create  locales/posts.en-us.yaml',
      '   create  migrations/0000000000000_create_posts.ts',
      '   create  spec/actions/posts.spec.ts',
      '   create  spec/models/post.spec.ts',
      '   create  src/actions/posts.ts',
      '   create  src/models/post.ts',
      '   create  templates/posts/_form.pug',
      '   create  templates/posts/edit.pug',
      '   create  templates/posts/index.pug',
      '   create  templates/posts/new.pug',
      '   create  templates/posts/show.pug',
      '   update  src/app.ts',
      '',
    ])
  })

  const kinds = { web: Application.web, api: Application.api }
  const words = ['post', 'blog_post', 'BlogPost', 'person', 'category', 'news', 'status', 'admin/widget']
  for (const [kind, make] of Object.entries(kinds)) {
    for (const word of words) {
      it(`destroys the generated files of ${word} (${kind})`, async () => {
        app.remove()
        app = make()
        const before = app.tree()
        await kitGenerate('resource', word, 'title', 'body:nulls.text', 'state:enum:draft,public')
        expect(app.tree()).to.not.deep.equal(before)
        const said = await kitDestroy(['resource', word, '-y'])
        expect(said).to.not.contain('edited')
        expect(app.tree()).to.deep.equal(before)
      })

      it(`destroys the generated files of ${word} with a parent (${kind})`, async () => {
        app.remove()
        app = make()
        await kitGenerate('resource', 'author', 'name')
        const before = app.tree()
        const args = [
          'title:string:unique',
          'writer_at:datetime:index',
          'editor:nulls.references',
          'rate:decimal:12,4:index',
        ]
        await kitGenerate('resource', 'editor', 'name')
        await kitGenerate('resource', word, ...args, '--parent', 'author', '--spec', 'full')
        const said = await kitDestroy(['r', word, '--yes'])
        await kitDestroy(['r', 'editor', '--yes'])
        expect(said).to.not.contain('edited')
        expect(app.tree()).to.deep.equal(before)
      })
    }
  }

  it('rejects to generate a resource twice, and changes nothing', async () => {
    await kitGenerate('resource', 'post', 'title')
    const before = app.tree()
    const error = await messageOf(kitGenerate('resource', 'post', 'title', 'body:text'))
    expect(error).to.match(
      /^Nothing was written, because these files already exist: locales\/posts.en-us.yaml, migrations\/\d+_create_posts.ts, /,
    )
    expect(app.tree()).to.deep.equal(before)
  })

  it('overwrites a resource with --force, and registers it once', async () => {
    await kitGenerate('resource', 'post', 'title')
    const before = app.tree()
    const said = await kitGenerate('resource', 'post', 'title', 'body:text', '--force')
    expect(timelessText(said).trimEnd().split('\n').at(-1)).to.equal(
      'An earlier version of migrations/0000000000000_create_posts.ts may have been run. To run the new version, use ' +
        '`kit db reset`, which deletes all records, and `GO_ENV=test kit db reset` for the specs.',
    )
    expect(Object.keys(app.tree())).to.deep.equal(Object.keys(before))
    expect(app.read('src/app.ts')).to.equal(before['src/app.ts'])
    expect(app.read('src/models/post.ts')).to.contain('body!: string')
    expect(await kitGenerate('resource', 'post', 'title', 'body:text', '--force')).to.not.contain('reset')
    // The migration has another command only.
    const full = ['resource', 'post', 'title', 'body:text', '--spec', 'full', '--force']
    expect(await kitGenerate(...full)).to.not.contain('reset')
  })

  it('leaves nothing behind when a file cannot be written', async () => {
    app.write('templates/admin', 'a file where a folder should be')
    const before = app.tree()
    const error = await messageOf(kitGenerate('resource', 'admin/widget', 'title'))
    expect(error).to.match(/^templates\/admin\/widgets\/_form.pug cannot be written: /)
    expect(app.tree()).to.deep.equal(before)
  })

  it('restores the existing files if --force fails half-way', async () => {
    await kitGenerate('resource', 'post', 'title')
    app.remove()
    app = Application.web()
    app.write('src/models/post.ts', '// mine\n')
    app.write('templates/posts/show.pug/file', '')
    const before = app.tree()
    await messageOf(kitGenerate('resource', 'post', 'title', '--force'))
    expect(app.tree()).to.deep.equal(before)
  })

  it('writes nothing with --dry-run, and lists the files that it would write', async () => {
    const before = app.tree()
    expect(await kitGenerate('resource', 'post', 'title', '--dry-run')).to.match(
      /create {2}src\/actions\/posts.ts\n[^]*Nothing was written: --dry-run.\n$/,
    )
    expect(app.tree()).to.deep.equal(before)
  })

  it('asks for confirmation of each file, and keeps those that are declined', async () => {
    await kitGenerate('resource', 'post', 'title')
    const said = await kitDestroy(['resource', 'post'], `y\nwhat\nn\nyes\n${'n\n'.repeat(9)}`)
    const lines = timelessText(said).trimEnd().split('\n')
    expect(lines.slice(0, 4)).to.deep.equal([
      'Delete locales/posts.en-us.yaml? (y/n) y',
      'Delete migrations/0000000000000_create_posts.ts? (y/n) what',
      'Delete migrations/0000000000000_create_posts.ts? (y/n) n',
      'Delete spec/actions/posts.spec.ts? (y/n) yes',
    ])
    expect(lines.slice(12, 18)).to.deep.equal([
      'Remove PostsResource from src/app.ts? (y/n) n',
      '   delete  locales/posts.en-us.yaml',
      '     keep  migrations/0000000000000_create_posts.ts',
      '   delete  spec/actions/posts.spec.ts',
      '     keep  spec/models/post.spec.ts',
      '     keep  src/actions/posts.ts',
    ])
    const tree = app.tree()
    expect(tree).to.not.have.any.keys('locales/posts.en-us.yaml', 'spec/actions/posts.spec.ts')
    expect(tree).to.include.keys('src/models/post.ts', 'src/actions/posts.ts')
    expect(tree['src/app.ts']).to.contain('PostsResource')
  })

  for (const [what, input] of Object.entries({ 'is empty': '', 'ends early': 'y\ny\ny\n' })) {
    it(`removes nothing and ends with status 1 when the input ${what}`, async () => {
      await kitGenerate('resource', 'post', 'title')
      const before = app.tree()
      const { status, output, errors } = await kit(app.folder, ['destroy', 'resource', 'post'], { input })
      expect(status).to.equal(1)
      expect(output).to.not.contain('delete  ')
      expect(errors).to.equal(
        'The input ended before it contained an answer to every question, so nothing was deleted. Answer y or n, or pass -y.',
      )
      expect(app.tree()).to.deep.equal(before)
    })
  }

  it('reports files that have been edited, and a migration that has been run', async () => {
    await kitGenerate('resource', 'post', 'title')
    app.write('src/models/post.ts', `${app.read('src/models/post.ts')}// mine\n`)
    const migration = /class (\w+)/.exec(
      Object.entries(app.tree()).find(([path]) => path.includes('create_posts'))?.[1] ?? '',
    )?.[1]
    const said = await kitDestroy(['resource', 'post', '-y'], '', [migration ?? ''])
    expect(said.match(/.*(edited|run).*/g)?.map(timelessText)).to.deep.equal([
      'migrations/0000000000000_create_posts.ts has been run, so its table stays. Run `kit db rollback` first, ' +
        'or `kit db reset` afterwards, which deletes all records.',
      'src/models/post.ts has been edited since it was generated.',
    ])
  })

  it('reports nothing as edited with Windows line endings, and edits a file behind a link', async () => {
    app.write('src/main_app.ts', app.read('src/app.ts').replaceAll('\n', '\r\n'))
    app.delete('src/app.ts')
    symlinkSync('main_app.ts', app.path('src/app.ts'))
    const before = app.tree()
    await kitGenerate('resource', 'post', 'title')
    for (const [path, content] of Object.entries(app.tree()))
      if (!(path in before) && content) app.write(path, content.replaceAll('\n', '\r\n'))
    expect(await kitDestroy(['resource', 'post', '-y'])).to.not.contain('edited')
    expect(app.tree()).to.deep.equal(before)
  })

  it('writes and destroys two references to one model, each with its own name', async () => {
    await kitGenerate('resource', 'user', 'name')
    const before = app.tree()
    const references = ['assignee:nulls.references:user', 'author:references:user']
    await kitGenerate('resource', 'issue', 'title', ...references, '--spec', 'full')
    expect(app.read('src/models/issue.ts'))
      .to.contain("@JoinColumn({ name: 'assignee_id' })\n  assignee?: Relation<User> | null")
      .and.to.contain("@JoinColumn({ name: 'author_id' })\n  author?: Relation<User>")
    expect(app.read('src/actions/issues.ts'))
      .to.contain("await ctx.load(issues, 'assignee', 'author')")
      .and.to.match(/users: await/)
    const said = await kitDestroy(['resource', 'issue', '-y'])
    expect(said).to.not.contain('edited')
    expect(app.tree()).to.deep.equal(before)
  })

  it('writes and destroys secret attributes, which only the model and its migration have', async () => {
    const before = app.tree()
    const secrets = [
      'password_digest',
      'api_token:string:unique',
      'reset_secret:text',
      'bank_token:nulls.references:thing',
    ]
    await kitGenerate('resource', 'thing', 'name')
    const words = ['email', 'recovery_token:string:shown', 'hint_token:nulls.text:shown', ...secrets]
    const said = await kitGenerate('resource', 'user', ...words, '--spec', 'full')
    expect(said).to.contain(
      '\npassword_digest is a secret: no page, form or response contains it. `:shown` after its type changes that.\n',
    )
    // The command that generated the files names all attributes.
    const files = Object.entries(app.tree())
      .map(([path, text]) => [path, text.replace(/^\/\/ kit generate .*/m, '')] as const)
      .filter(([path, text]) => text !== before[path] && /digest|api_token|secret|bank/.test(text))
    expect(files.map(([path]) => timelessText(path)).filter((path) => path !== 'src/app.ts')).to.deep.equal([
      'migrations/0000000000000_create_users.ts',
      'src/models/user.ts',
    ])
    expect(app.read('src/models/user.ts'))
      .to.contain("import { Exclude } from 'class-transformer'\n")
      .and.to.contain(
        [
          '  /** A secret: no response contains it, and requests cannot set it. */',
          "  @Column('varchar', { nullable: true })",
          '  @Exclude()',
          '  password_digest!: string | null',
        ].join('\n'),
      )
    expect(app.read('src/actions/users.ts')).to.contain("fields: ['email', 'recovery_token', 'hint_token']")
    expect(await kitDestroy(['resource', 'user', '-y'])).to.not.contain('edited')
    await kitDestroy(['resource', 'thing', '-y'])
    expect(app.tree()).to.deep.equal(before)
  })

  for (const [kind, make] of Object.entries(kinds)) {
    it(`destroys many-to-many relations and unique columns (${kind})`, async () => {
      app.remove()
      app = make()
      await kitGenerate('resource', 'project', 'name')
      await kitGenerate('model', 'user', 'email:string:unique', 'api_token:string:shown')
      await kitGenerate('model', 'label', 'name', '--spec', 'full')
      const before = app.tree()
      const attributes = ['labels:many', 'title', 'watchers:many:user', 'author:references:user']
      const uniques = ['project_id,title', 'title,author_id', 'project_id,title,author_id']
      const options = ['--parent', 'project', ...uniques.flatMap((columns) => ['--unique', columns])]
      await kitGenerate('resource', 'issue', ...attributes, ...options)
      const said = await kitDestroy(['resource', 'issue', '-y'])
      expect(said).to.not.contain('edited')
      expect(app.tree()).to.deep.equal(before)
    })
  }

  it('writes one index for a unique attribute below a parent and the same columns of --unique', async () => {
    await kitGenerate('resource', 'menu', 'place')
    await kitGenerate('resource', 'dish', 'day:string:unique', '--parent', 'menu', '--unique', 'menu_id,day')
    const [path = ''] = Object.keys(app.tree()).filter((name) => name.endsWith('create_dishes.ts'))
    expect(app.read(path).match(/'dishes_menu_id_day'/g)).to.have.length(1)
  })

  it('writes a many-to-many relation with its own table', async () => {
    await kitGenerate('model', 'label', 'name')
    const before = app.read('src/models/label.ts')
    await kitGenerate('resource', 'issue', 'title', 'tags:many:label')
    expect(app.read('src/models/label.ts')).to.equal(before)
    expect(app.read('src/models/issue.ts')).to.contain(
      [
        "  @RelationIds('tags')",
        '  tag_ids!: string[]',
        '',
        '  @ManyToMany(() => Label)',
        '  @JoinTable({',
        "    name: 'issues_tags',",
        "    joinColumn: { name: 'issue_id' },",
        "    inverseJoinColumn: { name: 'tag_id' },",
        '  })',
        '  tags?: Relation<Label>[]',
      ].join('\n'),
    )
    const [path = ''] = Object.keys(app.tree()).filter((name) => name.endsWith('create_issues.ts'))
    expect(app.read(path))
      .to.contain("column(runner, 'tag_id', 'uuid', { isPrimary: true })")
      .and.to.contain("await runner.dropTable('issues_tags')\n    await runner.dropTable('issues')")
    expect(app.read('src/actions/issues.ts'))
      .to.contain("fields: ['title', 'tag_ids']")
      .and.to.contain("issue: await ctx.load(issue, 'tags')")
      .and.to.contain("ctx.render('issues/index', { issues, pagination })")
      .and.to.contain('labels: await ctx.choices(Label, issue.tag_ids)')
    expect(app.read('templates/issues/index.pug')).to.not.contain('tag')
  })

  it('writes a model without a resource, and destroys it', async () => {
    const before = app.tree()
    const attributes = ['name:string:unique', 'api_token:string:shown']
    const said = await kitGenerate('model', 'blog_label', ...attributes, '--spec', 'full')
    expect(timelessText(said).split('\n')).to.deep.equal([
      '   create  migrations/0000000000000_create_blog_labels.ts',
      '   create  spec/models/blog_label.spec.ts',
      '   create  src/models/blog_label.ts',
      '',
    ])
    expect(await kitDestroy(['model', 'blog_label', '-y'])).to.not.contain('edited')
    expect(app.tree()).to.deep.equal(before)
    expect(await messageOf(kitDestroy(['model', 'blog_label', '-y']))).to.equal(
      'No model has the name "blog_label": none of its files exist.',
    )
  })

  it('writes a version with --locking, which changes the model, its table and the specs only, and destroys it', async () => {
    const words = ['resource', 'post', 'title', 'body:nulls.text', '--spec', 'full']
    const empty = app.tree()
    await kitGenerate(...words)
    const plain = app.tree()
    await kitDestroy(['resource', 'post', '-y'])
    await kitGenerate(...words, '--locking')
    const locking = app.tree()
    const textIn = (tree: Record<string, string>, path: string) =>
      Object.entries(tree).find(([name]) => name.replace(/\d{13}/, '') === path)?.[1] ?? ''
    const differing = Object.keys(locking)
      .map((path) => path.replace(/\d{13}/, ''))
      .filter((path) => textIn(locking, path) !== textIn(plain, path))
    expect(differing.toSorted()).to.deep.equal([
      'migrations/_create_posts.ts',
      'spec/actions/posts.spec.ts',
      'src/models/post.ts',
    ])
    expect(locking['src/models/post.ts']).to.contain('  @VersionColumn()\n  lock_version!: number\n')
    expect(textIn(locking, 'migrations/_create_posts.ts')).to.contain(
      "column(runner, 'lock_version', 'int', { default: '1' }),\n",
    )
    expect(locking['src/actions/posts.ts']).to.equal(plain['src/actions/posts.ts'])
    expect(textIn(locking, 'migrations/_create_posts.ts')).to.contain(
      '// kit generate resource post title body:nulls.text --spec full --locking\n',
    )
    expect(await app.unformatted()).to.deep.equal([])
    expect(await kitDestroy(['resource', 'post', '-y'])).to.not.contain('edited')
    expect(app.tree()).to.deep.equal(empty)
    await kitGenerate(...words, '--locking', '--skip-migration')
    expect(await kitDestroy(['resource', 'post', '-y'])).to.not.contain('edited')
    expect(app.tree()).to.deep.equal(empty)
    await kitGenerate('model', 'label', 'name', '--locking')
    expect(app.read('src/models/label.ts')).to.contain('@VersionColumn()')
    expect(await kitDestroy(['model', 'label', '-y'])).to.not.contain('edited')
    expect(app.tree()).to.deep.equal(empty)
  })

  it('writes migrations that add and remove a many-to-many relation', async () => {
    await kitGenerate('model', 'label', 'name')
    for (const name of ['add_labels_to_issues', 'remove_labels_from_issues'])
      await kitGenerate('migration', name, 'labels:many')
    const [added = '', removed = ''] = ['add', 'remove'].map((verb) =>
      app.read(Object.keys(app.tree()).find((name) => name.includes(`_${verb}_labels_`)) ?? ''),
    )
    for (const text of [added, removed])
      expect(text)
        .to.contain("import { Table, type MigrationInterface, type QueryRunner } from 'typeorm'")
        .and.to.contain("name: 'issues_labels',")
    expect(added).to.match(
      /async down\(runner: QueryRunner\) \{\n {4}await runner.dropTable\('issues_labels'\)\n/,
    )
    expect(removed).to.match(
      /async up\(runner: QueryRunner\) \{\n {4}await runner.dropTable\('issues_labels'\)\n/,
    )
  })

  it('rejects a model that lacks an attribute of the resource', async () => {
    await kitGenerate('resource', 'author', 'name')
    await kitGenerate('resource', 'post', 'title', 'author:references')
    const uses = (...args: string[]) => messageOf(kitGenerate('resource', ...args))
    expect(await uses('writer', 'name', 'email', '--use-model', 'author')).to.equal(
      'The model Author has no email. Add it to src/models/author.ts with a migration, or leave it out.',
    )
    expect(await uses('writer', 'name', '--use-model', 'author', '--parent', 'post')).to.contain(
      'has no post_id.',
    )
    await kitGenerate('resource', 'essay', 'title', 'author:references', '--use-model', 'post')
  })

  for (const [kind, make] of Object.entries(kinds)) {
    it(`destroys the routes that it has generated in a ${kind} application`, async () => {
      app.remove()
      app = make()
      const before = app.tree()
      await kitGenerate('resource', 'post', 'title', ...ROUTES)
      await kitGenerate('resource', 'comment', 'body:text', '--parent', 'post', '--spec', 'full', ...ROUTES)
      expect(app.read('src/actions/comments.ts')).to.contain("@Route('POST', '/{comment_id}/mark_read', {")
      const said =
        (await kitDestroy(['resource', 'comment', '-y'])) + (await kitDestroy(['resource', 'post', '-y']))
      expect(said).to.not.contain('edited')
      expect(app.tree()).to.deep.equal(before)
    })
  }

  for (const [kind, make] of Object.entries(kinds)) {
    for (const word of ['profile', 'settings', 'admin/site_option']) {
      it(`destroys the singular resource ${word} in a ${kind} application`, async () => {
        app.remove()
        app = make()
        const before = app.tree()
        const args = ['name', 'bio:nulls.text', '--singular', '--route', 'publish:post', '--spec', 'full']
        await kitGenerate('resource', word, ...args)
        expect(app.read('src/app.ts')).to.match(/import \{ (\w+)Resource \} from '.\/actions\/[a-z/_]+.js'/)
        const said = await kitDestroy(['resource', word, '-y'])
        expect(said).to.not.contain('edited')
        expect(app.tree()).to.deep.equal(before)
      })
    }
  }

  for (const args of [[], ['--singular'], ['--parent', 'author']]) {
    it(`writes and destroys ${['api/v1/post', '--api', ...args].join(' ')} in a web application, without pages`, async () => {
      await kitGenerate('resource', 'author', 'name')
      const before = app.tree()
      const words = ['api/v1/post', 'title', 'body:nulls.text', '--api', '--spec', 'full', ...args]
      const said = timelessText(await kitGenerate('resource', ...words))
      const file = args.includes('--singular') ? 'post' : 'posts'
      expect(
        said
          .trimEnd()
          .split('\n')
          .map((line) => line.slice(11)),
      ).to.deep.equal([
        'migrations/0000000000000_create_posts.ts',
        `spec/actions/api/v1/${file}.spec.ts`,
        'spec/models/post.spec.ts',
        `src/actions/api/v1/${file}.ts`,
        'src/models/post.ts',
        'src/app.ts',
      ])
      const handlers = app.read(`src/actions/api/v1/${file}.ts`)
      const { length } = args.includes('--singular')
        ? ['show', 'create', 'update', 'destroy']
        : ['list', 'show', 'create', 'update', 'destroy']
      expect(handlers.match(/^ {2}async \w+\(ctx: Context\)/gm)).to.have.length(length)
      expect(handlers).to.not.match(/html|render/i)
      expect(await kitDestroy(['resource', 'api/v1/post', '-y'])).to.not.contain('edited')
      expect(app.tree()).to.deep.equal(before)
    })
  }

  it('changes nothing for a namespace without --api', async () => {
    await kitGenerate('resource', 'api/v1/post', 'title')
    expect(Object.keys(app.tree())).to.include('templates/api/v1/posts/index.pug')
  })

  it('writes a singular resource without a list', async () => {
    const said = timelessText(await kitGenerate('resource', 'profile', 'name', '--singular'))
    expect(said.split('\n')).to.deep.equal([
      '   create  locales/profile.en-us.yaml',
      '   create  migrations/0000000000000_create_profiles.ts',
      '   create  spec/actions/profile.spec.ts',
      '   create  spec/models/profile.spec.ts',
      '   create  src/actions/profile.ts',
      '   create  src/models/profile.ts',
      '   create  templates/profile/_form.pug',
      '   create  templates/profile/edit.pug',
      '   create  templates/profile/new.pug',
      '   create  templates/profile/show.pug',
      '   update  src/app.ts',
      '',
    ])
    const handlers = app.read('src/actions/profile.ts')
    expect(handlers).to.contain("@Resource('/profile', { singular: true, model: Profile, fields: ['name'] })")
    expect(handlers).to.contain('export class ProfileResource extends BaseResource')
    expect(handlers).to.not.match(/list|profile_id/)
  })

  it('destroys a singular resource, and keeps the plural one that uses its model', async () => {
    await kitGenerate('resource', 'profile', 'name')
    const before = app.tree()
    await kitGenerate('resource', 'profile', 'name', '--singular', '--use-model', 'profile')
    await kitDestroy(['resource', 'profile', '-y'])
    expect(app.tree()).to.deep.equal(before)
  })

  it('reports handlers with a route that was written by hand as edited', async () => {
    await kitGenerate('resource', 'post', 'title', '--route', 'publish:post')
    const handlers = app.read('src/actions/posts.ts')
    const added = "  @Route('GET', '/find_similar')\n  async findSimilar() {}\n\n  /** Finds"
    app.write('src/actions/posts.ts', handlers.replace('  /** Finds', added))
    const said = await kitDestroy(['resource', 'post', '-y'])
    expect(said.match(/.*edited.*/g)).to.deep.equal([
      'src/actions/posts.ts has been edited since it was generated (findSimilar).',
    ])
  })

  it('names the handlers that have been edited', async () => {
    await kitGenerate('resource', 'post', 'title')
    const handlers = app.read('src/actions/posts.ts')
    const edited = handlers
      .replace('new Post()\n', 'Object.assign(new Post(), ctx.query)\n')
      .replace('await ctx.destroy(post)', 'await ctx.tx.softRemove(post)')
    app.write('src/actions/posts.ts', edited)
    expect(await kitDestroy(['resource', 'post', '-y'])).to.contain(
      'src/actions/posts.ts has been edited since it was generated (new, destroy).\n',
    )
  })

  it('writes a handler, a text, a placeholder and a button for a route', async () => {
    await kitGenerate(
      'resource',
      'post',
      'title',
      '--route',
      'publish:post',
      '--route',
      'drafts:get:collection',
    )
    expect(app.read('src/actions/posts.ts')).to.contain(PUBLISH.trim()).and.to.contain(DRAFTS.trim())
    expect(app.read('locales/posts.en-us.yaml')).to.match(
      /- id: post.publish.button\n {2}translation: Publish\n- id: post.publish.success\n {2}translation: Publish succeeded.\n/,
    )
    expect(app.read('spec/actions/posts.spec.ts'))
      .to.contain("it('publish changes a post', ")
      .and.to.contain("it('drafts shows some posts', ")
    expect(app.read('templates/posts/show.pug')).to.contain(
      "\n      != actionButton(postPublishPath(post), t('post.publish.button'))\n",
    )
    expect(app.read('templates/posts/index.pug')).to.contain(
      "\n    .actions\n      a.button(href=postsDraftsPath())= t('post.drafts.button')\n      a.button.primary(",
    )
  })

  it('nests a resource to any depth', async () => {
    await kitGenerate('resource', 'post', 'title')
    await kitGenerate('resource', 'comment', 'body:text', '--parent', 'post')
    await kitGenerate('resource', 'reply', 'body:text', '--parent', 'comment')
    const before = app.tree()
    await kitGenerate('resource', 'vote', '--parent', 'reply', '--spec', 'full')
    const handlers = app.read('src/actions/votes.ts')
    expect(handlers).to.contain(
      'GET /posts/{post_id}/comments/{comment_id}/replies/{reply_id}/votes/{vote_id}',
    )
    expect(handlers).to.contain('const reply = await this.findReply(ctx, comment)')
    const said = await kitDestroy(['resource', 'vote', '-y'])
    expect(said).to.not.contain('edited')
    expect(app.tree()).to.deep.equal(before)
  })

  it('keeps a model that another resource also uses', async () => {
    await kitGenerate('resource', 'widget', 'title')
    const before = app.tree()
    await kitGenerate('resource', 'admin/widget', 'title', '--use-model', 'Widget')
    await kitDestroy(['resource', 'admin/widget', '-y'])
    expect(app.tree()).to.deep.equal(before)
  })

  it('keeps a model that a resource of another name also uses', async () => {
    await kitGenerate('resource', 'gadget', 'title')
    await kitGenerate('resource', 'widget', 'title', '--use-model', 'Gadget')
    await kitDestroy(['resource', 'gadget', '-y'])
    expect(app.tree()).to.include.keys('src/models/gadget.ts', 'src/actions/widgets.ts')
  })

  it('destroys a model that has the name of a handler, but is not used by it', async () => {
    const before = app.tree()
    await kitGenerate('resource', 'home', 'title')
    await kitDestroy(['resource', 'home', '-y'])
    expect(app.tree()).to.deep.equal(before)
  })

  it('writes nothing if a file cannot be changed, which cannot be restored either', async () => {
    const before = app.tree()
    execFileSync('chmod', ['-R', 'a+rwX', app.folder])
    execFileSync('chmod', ['444', app.path('src/app.ts')])
    // Root may write every file.
    const asRoot = process.getuid?.() === 0
    if (asRoot) process.seteuid?.(65_534)
    try {
      const error = await messageOf(kitGenerate('resource', 'post', 'title'))
      expect(error).to.match(/^src\/app\.ts cannot be written: EACCES.*\. No files were written\.$/)
    } finally {
      if (asRoot) process.seteuid?.(0)
      execFileSync('chmod', ['644', app.path('src/app.ts')])
    }
    expect(app.tree()).to.deep.equal(before)
  })

  it('writes a list that Pug can read if its name begins with "of"', async () => {
    await kitGenerate('resource', 'office', 'name')
    expect(app.read('templates/offices/index.pug')).to.include('each office in (offices)\n')
  })

  it('gives long indexes that begin alike different names', async () => {
    const name = 'customer_notification_preference_override_rule'
    await kitGenerate(
      'resource',
      name,
      'preferred_channel_start:date:index',
      'preferred_channel_start_reason:string:index',
    )
    const [migration = ''] = Object.keys(app.tree()).filter((path) => /^migrations\/.*\.ts$/.test(path))
    const names = [...app.read(migration).matchAll(/name: '(\w{50,63})'/g)].map(([, one]) => one)
    expect(names).to.have.length(new Set(names).size)
    expect(names.length).to.be.at.least(2)
  })

  it('deletes nothing if a file cannot be deleted', async () => {
    await kitGenerate('resource', 'post', 'title')
    const before = app.tree()
    execFileSync('chmod', ['-R', 'a+rwX', app.folder])
    execFileSync('chmod', ['555', app.path('templates/posts')])
    // Root may write in every folder.
    const asRoot = process.getuid?.() === 0
    if (asRoot) process.seteuid?.(65_534)
    try {
      const error = await messageOf(kitDestroy(['resource', 'post', '-y']))
      expect(error).to.match(
        /^templates\/posts\/_form.pug cannot be deleted or changed: EACCES.*\. Nothing was deleted\.$/,
      )
    } finally {
      if (asRoot) process.seteuid?.(0)
      execFileSync('chmod', ['755', app.path('templates/posts')])
    }
    expect(app.tree()).to.deep.equal(before)
  })

  const rejections: Record<string, [args: string[], sentence: string]> = {
    'a bad name': [
      ['resource', '1post'],
      `"1post" isn't a valid name. Use words of letters and digits, at most 50 characters: post, blog_post, BlogPost or admin/widget.`,
    ],
    'a reserved name': [
      ['resource', 'class'],
      'A resource cannot be named "class", because it is a reserved word of JavaScript. Choose another name.',
    ],
    'a model with a reserved name': [
      ['resource', 'sticker', '--use-model', 'Date'],
      'A model cannot be named "Date", because JavaScript has a class or a property of this name. Choose another name.',
    ],
    'a reference to a model with a reserved name': [
      ['resource', 'post', 'date:references'],
      'A model cannot be named "date", because JavaScript has a class or a property of this name. Choose another name.',
    ],
    'a singular resource with a parent': [
      ['resource', 'profile', '--singular', '--parent', 'post'],
      'A singular resource has no --parent. Generate it without one, and nest it by hand.',
    ],
    'a route of the collection of a singular resource': [
      ['resource', 'profile', '--singular', '--route', 'drafts:get:collection'],
      `"drafts:get:collection" isn't a valid route: a singular resource has no collection.`,
    ],
    'a route without a method': [
      ['resource', 'post', '--route', 'publish'],
      `"publish" isn't a valid route: its method must be one of get, post, put, patch, delete, as in publish:post.`,
    ],
    'a route with an unknown ending': [
      ['resource', 'post', '--route', 'publish:post:item'],
      `"publish:post:item" isn't a valid route: it must end with its method or with "collection", as in publish:post:collection.`,
    ],
    'a route that is one of the seven handlers': [
      ['resource', 'post', '--route', 'edit:get'],
      `"edit:get" isn't a valid route: the name "edit" is reserved.`,
    ],
    'a route with a bad name': [
      ['resource', 'post', '--route', '../publish:post'],
      `"../publish:post" isn't a valid route: its name must be a word like publish.`,
    ],
    'a route that is listed twice': [
      ['resource', 'post', '--route', 'mark_read:post', '--route', 'mark-read:delete'],
      `"mark-read:delete" isn't a valid route: the name "markRead" is used twice.`,
    ],
    'a route of a model that is named like the decorator': [
      ['resource', 'route', '--route', 'publish:post'],
      'A generated file would import two classes named Route: the model, and Route of resource-kit. ' +
        'Generate the resource without --route, and change it by hand.',
    ],
    'a singular resource of a model that is named like a decorator': [
      ['resource', 'use', '--singular'],
      'A generated file would import two classes named Use: the model, and Use of resource-kit. ' +
        'Generate the resource without --singular, and change it by hand.',
    ],
    'a route that changes records, and whose message has the id of another one': [
      ['resource', 'post', '--route', 'updated:post'],
      `"updated:post" isn't a valid route: the name "updated" is reserved.`,
    ],
    'a model that is named like a decorator which it may need': [
      ['model', 'exclude', 'api_token'],
      'A resource cannot be named "exclude", because the generated files import a class or a function of this name. Choose another name.',
    ],
    'a singular resource with the path of the health check': [
      ['resource', 'up', '--singular'],
      'A singular resource cannot be named "up", because `GET /up` is the health check. Choose another name.',
    ],
    'an unknown type': [
      ['resource', 'post', 'title:strng'],
      'Unknown attribute type "strng" in "title:strng". Known types: string, text, int, bigint, float, decimal, bool, date, ' +
        'time, datetime, uuid, json, enum, references, many, file, files, image, images. Use nulls.X for a nullable attribute.',
    ],
    'a resource that XML cannot contain': [
      ['resource', 'xml_feed', 'title'],
      'A resource cannot be named "xml_feed", because an element of XML cannot have this name. Choose another name.',
    ],
    'an attribute that XML cannot contain': [
      ['resource', 'sitemap', 'xml_url'],
      '"xml_url" isn\'t a valid attribute: it cannot be named "xml_url", because an element of XML cannot have this name. Choose another name.',
    ],
    'a reserved attribute': [
      ['resource', 'post', 'created_at'],
      `"created_at" isn't a valid attribute: it cannot be named "created_at", because every record has it already. Choose another name.`,
    ],
    'a repeated attribute': [
      ['resource', 'post', 'title', 'title:text'],
      '"title:text" repeats the attribute "title". List each attribute once.',
    ],
    'a missing parent': [
      ['resource', 'comment', '--parent', 'post'],
      'The parent PostsResource is not registered in src/app.ts. Generate it first: kit generate resource post.',
    ],
    'a missing parent with a namespace': [
      ['resource', 'bolt', 'name', '--parent', 'admin/widget'],
      'The parent AdminWidgetsResource is not registered in src/app.ts. Generate it first: kit generate resource admin/widget.',
    ],
    'a missing model': [
      ['resource', 'comment', '--use-model', 'Remark'],
      'There is no model Remark in src/models/remark.ts. Generate it first: kit generate resource remark.',
    ],
    'a many-to-many relation to a missing model': [
      ['resource', 'issue', 'labels:many'],
      'There is no model Label in src/models/label.ts. Generate it first: kit generate resource label. If the model has another name, write it after the type: labels:many:user.',
    ],
    'a many-to-many relation whose keys have the same name': [
      ['resource', 'issue', 'issues:many'],
      '"issues:many" isn\'t a valid attribute: its table would have two columns issue_id. Use another name, like ' +
        'related_issues:many:issue.',
    ],
    'unique columns that the table does not have': [
      ['resource', 'issue', 'title', '--unique', 'title,project_id'],
      '--unique title,project_id must name two or more different columns, separated by commas. The columns are: title. ' +
        'For a single column, use name:type:unique.',
    ],
    'unique columns of which one may be too long': [
      ['model', 'issue', 'title', 'body:text', '--unique', 'title,body'],
      '--unique title,body has "body", but a text may be too long for an index. Use the type string.',
    ],
    'one unique column': [
      ['model', 'issue', 'title', '--unique', 'title'],
      '--unique title must name two or more different columns, separated by commas. The columns are: title. ' +
        'For a single column, use name:type:unique.',
    ],
    'a reference to a missing model': [
      ['resource', 'post', 'author:references'],
      'There is no model Author in src/models/author.ts. Generate it first: kit generate resource author. If the model has another name, write it after the type: author:references:user.',
    ],
    'a reference to a missing model that is named': [
      ['resource', 'task', 'label:references:labels'],
      'There is no model Label in src/models/label.ts. Generate it first: kit generate resource label.',
    ],
    'a migration that adds a reference to a missing model': [
      ['migration', 'add_owner_to_makers', 'owner:nulls.references'],
      'There is no model Owner in src/models/owner.ts. Generate it first: kit generate resource owner. If the model has another name, write it after the type: owner:nulls.references:user.',
    ],
    'a migration of a new table that refers to a missing model': [
      ['migration', 'create_makers', 'owner:references'],
      'There is no model Owner in src/models/owner.ts. Generate it first: kit generate resource owner. If the model has another name, write it after the type: owner:references:user.',
    ],
    'a required reference to itself': [
      ['resource', 'post', 'post:references'],
      `"post:references" isn't a valid attribute: the first post could not be created, because it would need another one. Use post:nulls.references.`,
    ],
    'a migration whose name adds "from" a table': [
      ['migration', 'add_state_from_posts', 'state'],
      'The name "add_state_from_posts" does not tell how to use the attributes. Use a name like create_posts, add_state_to_posts or remove_state_from_posts.',
    ],
    'a migration of attributes with an unclear name': [
      ['migration', 'tidy_up', 'state'],
      'The name "tidy_up" does not tell how to use the attributes. Use a name like create_posts, add_state_to_posts or remove_state_from_posts.',
    ],
    'a migration that adds nothing': [
      ['migration', 'add_state_to_posts'],
      '"add_state_to_posts" needs an attribute: kit generate migration add_state_to_posts state:string.',
    ],
    'a migration with a bad name': [
      ['migration', '../posts'],
      `"../posts" isn't a valid name for a migration. Use words of letters and digits, at most 50 characters, like create_posts or add_state_to_posts.`,
    ],
  }
  for (const [what, [args, sentence]] of Object.entries(rejections)) {
    it(`rejects ${what}, and writes nothing`, async () => {
      const before = app.tree()
      expect(await messageOf(kitGenerate(...args))).to.equal(sentence)
      expect(app.tree()).to.deep.equal(before)
    })
  }

  it('rejects a singular parent', async () => {
    await kitGenerate('resource', 'profile', 'name', '--singular')
    expect(await messageOf(kitGenerate('resource', 'device', 'name', '--parent', 'profile'))).to.equal(
      'ProfileResource is a singular resource. Generate the resource without --parent, and nest it by hand.',
    )
  })

  it('suggests a model with a similar name', async () => {
    await kitGenerate('model', 'label', 'name')
    expect(await messageOf(kitGenerate('resource', 'task', 'label:references:lable'))).to.equal(
      'There is no model Lable in src/models/lable.ts. Did you mean "label"? Otherwise, generate it first: ' +
        'kit generate resource lable.',
    )
  })

  it('rejects a parent that has no model', async () => {
    await kitGenerate('resource', 'headline', 'title', '--skip-model')
    expect(await messageOf(kitGenerate('resource', 'comment', '--parent', 'headline'))).to.equal(
      'There is no model Headline in src/models/headline.ts. Generate it first: kit generate resource headline.',
    )
  })

  it('writes a migration of a table that refers to itself, and one that removes a reference to a deleted model', async () => {
    await kitGenerate('migration', 'create_people', 'person:nulls.references')
    await kitGenerate('migration', 'remove_owner_from_makers', 'owner:nulls.references')
    expect(Object.keys(app.tree()).filter((path) => /migrations\/\d/.test(path))).to.have.length(2)
  })

  it('rejects to run without src/app.ts, or if it creates no application', async () => {
    rmSync(app.path('src/app.ts'))
    const missing = `There is no src/app.ts in ${app.folder}, where resources are registered. Create it with: export const app = new App()`
    expect(await messageOf(kitGenerate('resource', 'post'))).to.equal(missing)
    expect(await messageOf(kitGenerate('migration', 'create_posts'))).to.equal(missing)
    expect(await messageOf(kitDestroy(['resource', 'post']))).to.equal(missing)
    app.write('src/app.ts', '// const app = new App()\n')
    expect(await messageOf(kitGenerate('resource', 'post'))).to.equal(
      'src/app.ts does not create an application. Add to it: export const app = new App()',
    )
  })

  it('run in any folder of the application', async () => {
    const generated = await kit(app.path('src'), ['g', 'r', 'post', 'title'])
    expect(generated.errors).to.equal('')
    expect(app.read('src/models/post.ts')).to.contain('class Post')
    const destroyed = await kit(app.path('spec/actions'), ['d', 'r', 'post', '-y'])
    expect(destroyed.output).to.contain('delete  src/models/post.ts')
    expect(app.tree()).to.not.include.keys('src/models/post.ts')
  })

  it('reports a folder outside an application, and a broken package.json', async () => {
    app.write('package.json', '{')
    expect((await kit(app.folder, ['g', 'r', 'post'])).errors).to.equal(
      `${app.path('package.json')} cannot be read, because it isn't a JSON object. Correct it.`,
    )
    rmSync(app.path('package.json'))
    expect((await kit(app.folder, ['d', 'r', 'post'])).errors).to.match(/^\S+ is not in an application: /)
  })

  it('keeps a registration that you have edited, and reports it', async () => {
    await kitGenerate('resource', 'post', 'title')
    const text = app.read('src/app.ts').replace('app.resource(Posts', 'const posts = app.resource(Posts')
    app.write('src/app.ts', text)
    const said = await kitDestroy(['resource', 'post', '-y'])
    expect(said).to.contain(
      'src/app.ts still contains PostsResource in code that was changed by hand. Remove it yourself.',
    )
    expect(app.read('src/app.ts')).to.equal(text)
  })

  it('lists the other files that need a deleted file', async () => {
    await kitGenerate('resource', 'post', 'title')
    await kitGenerate('resource', 'comment', 'body:text', '--parent', 'post')
    const said = await kitDestroy(['resource', 'post', '-y'])
    expect(said).to.contain('src/actions/comments.ts needs src/actions/posts.ts.\n')
    expect(said).to.contain('src/actions/comments.ts, src/models/comment.ts need src/models/post.ts.\n')
    expect(said, 'src/app.ts stays').not.to.match(/needs? src\/app\.ts/)
  })

  it('reports that it cannot find out whether a migration has been run', async () => {
    await kitGenerate('resource', 'post', 'title')
    const hasRun = () => Promise.reject(new Error('The application does not compile:\nsrc/app.ts'))
    const settings = { folder: () => app.folder, hasRun }
    const said = await runCommand((out) => destroyCommand(out, settings), ['resource', 'post', '-y'])
    expect(timelessText(said)).to.contain(
      'It is not known whether migrations/0000000000000_create_posts.ts has been run: The application does not compile:\n',
    )
  })

  it('writes a migration that fails until you complete it', async () => {
    await kitGenerate('migration', 'tidy_up')
    const [, content = ''] = Object.entries(app.tree()).find(([path]) => path.endsWith('_tidy_up.ts')) ?? []
    expect(timelessText(content).split('\n')).to.deep.equal([
      "import type { MigrationInterface, QueryRunner } from 'typeorm'",
      '',
      'export class TidyUp0000000000000 implements MigrationInterface {',
      '  async up(_runner: QueryRunner) {',
      "    throw new Error('Not Implemented!')",
      '  }',
      '',
      '  async down(_runner: QueryRunner) {}',
      '}',
      '',
    ])
  })

  it('imports nothing that the migration of a table without attributes does not use', async () => {
    await kitGenerate('resource', 'post')
    await kitGenerate('migration', 'create_gaps')
    const migrations = Object.entries(app.tree()).filter(([path]) => /migrations\/\d/.test(path))
    const [first] = migrations.map(([, content]) => content.split('\n')[0])
    expect(migrations.length).to.equal(2)
    expect(first).to.equal("import { primaryKey, timestamps } from 'resource-kit'")
    expect(migrations[1]?.[1].split('\n')[0]).to.equal(first)
  })

  it('writes a migration that adds columns', async () => {
    await kitGenerate('migration', 'AddStateToPosts', 'state:enum:draft,public', 'rank:nulls.int:index')
    const [path = '', content = ''] =
      Object.entries(app.tree()).find(([path]) => /migrations\/\d/.test(path)) ?? []
    expect(timelessText(path)).to.equal('migrations/0000000000000_add_state_to_posts.ts')
    expect(timelessText(content).split('\n')).to.deep.equal([
      "import { column } from 'resource-kit'",
      "import { TableColumn, TableIndex, type MigrationInterface, type QueryRunner } from 'typeorm'",
      '',
      'export class AddStateToPosts0000000000000 implements MigrationInterface {',
      '  async up(runner: QueryRunner) {',
      "    const stateColumn = column(runner, 'state', 'enum', { enum: ['draft', 'public'] })",
      "    await runner.addColumn('posts', new TableColumn(stateColumn))",
      "    const rankColumn = column(runner, 'rank', 'int', { isNullable: true })",
      "    await runner.addColumn('posts', new TableColumn(rankColumn))",
      "    const rankColumnIndex = new TableIndex({ name: 'posts_rank', columnNames: ['rank'] })",
      "    await runner.createIndex('posts', rankColumnIndex)",
      '  }',
      '',
      '  async down(runner: QueryRunner) {',
      "    await runner.dropIndex('posts', 'posts_rank')",
      "    await runner.dropColumn('posts', 'rank')",
      "    await runner.dropColumn('posts', 'state')",
      '  }',
      '}',
      '',
    ])
  })

  it('says what a required column needs in a table with rows', async () => {
    await kitGenerate('resource', 'post', 'title')
    await kitGenerate('model', 'user', 'name')
    const attributes = [
      'state:enum:draft,public',
      'lock_version:int',
      'rank:nulls.int',
      'slug:string:unique',
      'user:references',
    ]
    const said = await kitGenerate('migration', 'add_more_to_posts', ...attributes)
    expect(said.split('\n').slice(1)).to.deep.equal([
      `The rows that posts already has need a value for state. Add a default to the migration, like { default: "'draft'" }, or make the column nullable (nulls.X).`,
      "The rows that posts already has need a value for lock_version. Add a default to the migration, like { default: '1' }, or make the column nullable (nulls.X).",
      'The rows that posts already has need a value for slug. Make the column nullable (nulls.X), and fill it.',
      'The rows that posts already has need a value for user_id. Make the column nullable (nulls.X), and fill it.',
      '',
    ])
  })

  it('reports a table that no model and no migration has, and suggests a similar one', async () => {
    await kitGenerate('resource', 'post', 'title')
    const unknown = 'No model and no migration has the table'
    expect(await kitGenerate('migration', 'add_x_to_nopes', 'x')).to.contain(`${unknown} nopes.`)
    expect(await kitGenerate('migration', 'remove_x_from_posst', 'x:nulls.int')).to.contain(
      `${unknown} possts. Did you mean posts?`,
    )
    expect(await kitGenerate('migration', 'add_x_to_posts', 'x')).to.not.contain(unknown)
  })

  it('finds the table in the name of a migration whose columns or tables contain "to" or "from"', async () => {
    for (const name of ['message', 'how_to_guide']) await kitGenerate('model', name, 'title')
    for (const [name, attribute, table] of [
      ['add_reply_to_to_messages', 'reply_to:nulls.string', 'messages'],
      ['add_sent_to_to_nopes', 'sent_to:nulls.string', 'nopes'],
      ['add_state_to_how_to_guides', 'state', 'how_to_guides'],
      ['remove_sent_from_from_message', 'sent_from:nulls.string', 'messages'],
    ] as const) {
      await kitGenerate('migration', name, attribute)
      const path = Object.keys(app.tree()).find((one) => one.endsWith(`_${name}.ts`)) ?? ''
      expect(app.read(path), name).to.match(new RegExp(`runner\\.(add|drop)Column\\('${table}'`))
    }
  })

  it('leaves out the parts that options exclude', async () => {
    await kitGenerate('resource', 'post', 'title', '--skip-model', '--skip-templates')
    const paths = Object.keys(app.tree()).filter((path) => generated.test(path))
    expect(paths).to.deep.equal([
      'locales/posts.en-us.yaml',
      'spec/actions/posts.spec.ts',
      'src/actions/posts.ts',
    ])
  })

  it("prefers the application's own scaffolds of routes", async () => {
    const handler = '  /** Mine. */\n  <%= route.handler %>() {}\n'
    app.write('scaffolds/route/handler.ts.ejs', handler)
    await kitGenerate('resource', 'post', 'title', '--route', 'publish:post', '--route', 'preview:get')
    const handlers = app.read('src/actions/posts.ts')
    expect(handlers).to.contain('  /** Mine. */\n  publish() {}\n\n  /** Mine. */\n  preview() {}\n')
  })

  it("prefers the application's own scaffolds", async () => {
    const own = 'scaffolds/resource/model.ts.ejs'
    app.write(own, '// The model <%= model %> of our house.\n')
    await kitGenerate('resource', 'blog_post', 'title')
    expect(app.read('src/models/blog_post.ts')).to.equal('// The model BlogPost of our house.\n')
    expect(app.read('src/actions/blog_posts.ts')).to.contain('class BlogPostsResource extends BaseResource')
  })

  it('writes its command into the handlers and the migration', async () => {
    const attributes = ['title', 'state:enum:draft,in progress', 'password_digest']
    const queries = ['--sort=-title,state', '--filter', 'state, title', '--search', '']
    await kitGenerate('resource', 'post', ...attributes, ...queries, '--force', '--unique', 'title,state')
    const line =
      '// kit destroy and kit generate read the next line.\n' +
      "// kit generate resource post title 'state:enum:draft,in progress' password_digest --filter state,title " +
      '--sort -title,state --unique title,state\n\n'
    const migration = Object.keys(app.tree()).find((path) => path.endsWith('_create_posts.ts')) ?? ''
    expect(app.read('src/actions/posts.ts')).to.contain(`\n\n${line}/** Serves /posts`)
    expect(app.read(migration)).to.contain(`\n\n${line}export class CreatePosts`)
    expect(await kitDestroy(['resource', 'post', '-y'])).to.not.contain('edited')
  })

  it('reads the comment of an earlier version, which was the command alone', async () => {
    const before = app.tree()
    await kitGenerate('resource', 'post', 'title')
    for (const [path, text] of Object.entries(app.tree()))
      if (/posts/.test(path) && !path.endsWith('/'))
        app.write(path, text.replace(/^\/\/ kit destroy and .*\n(\/\/ kit generate .*\n)\n/m, '$1'))
    expect(app.read('src/actions/posts.ts')).to.contain('\n\n// kit generate resource post title\n/** Serves')
    expect(await kitDestroy(['resource', 'post', '-y'])).to.not.contain('edited')
    expect(app.tree()).to.deep.equal(before)
  })

  it('reads from the command what handlers, models and policies of another form do not show', async () => {
    const edit = (path: string, from: string, to: string) => {
      expect(app.read(path)).to.contain(from)
      app.write(path, app.read(path).replace(from, to))
    }
    generate(app.folder, authActions(app.folder, 'user'))
    await kitGenerate('resource', 'post', 'title', '--owner', 'user')
    await kitGenerate('resource', 'comment', 'name', '--parent', 'post')
    await kitGenerate('resource', 'profile', 'name', '--singular')
    edit('src/models/post.ts', '  @Present()\n', '  @Present() @MaxLength(80)\n')
    edit('src/models/comment.ts', '  @Present()\n', '  @Present() @MaxLength(80)\n')
    edit('src/policies/post.ts', 'post.user_id === user?.id', 'isOwn(post, user)')
    edit('src/actions/posts.ts', "@Resource('/posts', {", "@Resource(pathOf('/posts'), {")
    edit('src/actions/comments.ts', '@Parent(PostsResource)', '@Parent(\n  PostsResource,\n)')
    edit('src/actions/profile.ts', "@Resource('/profile', {", "@Resource(pathOf('/profile'), {")
    await kitGenerate('resource', 'reply', 'text', '--parent', 'comment', '--spec', 'full')
    expect(app.read('src/actions/replies.ts'))
      .to.contain('/** Serves /posts/{post_id}/comments/{comment_id}/replies as HTML')
      .and.to.contain('await ctx.authorize(post)')
    expect(app.read('templates/replies/index.pug')).to.contain('= comment.name\n')
    expect(app.read('spec/actions/replies.spec.ts'))
      .to.contain('post = await factory.make(Post, { user_id: owner.id })')
      .and.to.contain('asOther: async () => signIn(client, await makeUser()),')
    expect(await messageOf(kitGenerate('resource', 'hobby', 'name', '--parent', 'profile'))).to.contain(
      'ProfileResource is a singular resource.',
    )
  })

  it('rejects to destroy files that do not contain the command that generated them', async () => {
    await kitGenerate('resource', 'post', 'title', '--skip-templates')
    await kitGenerate('model', 'label', 'name')
    for (const [path, text] of Object.entries(app.tree()))
      if (/posts|labels/.test(path))
        app.write(path, text.replace(/^\/\/ kit destroy and .*\n\/\/ kit generate.*\n\n/m, ''))
    const before = app.tree()
    expect(timelessText(await messageOf(kitDestroy(['resource', 'post', '-y'])))).to.equal(
      'The command that generated the resource "post" is not known, because its files are from an older version or were ' +
        'written by hand. Write it above the class of the handlers: // kit generate resource post name:type ... ' +
        'Or delete the files yourself: locales/posts.en-us.yaml, migrations/0000000000000_create_posts.ts, ' +
        'spec/actions/posts.spec.ts, spec/models/post.spec.ts, src/actions/posts.ts, src/models/post.ts.',
    )
    expect(await messageOf(kitDestroy(['model', 'label', '-y']))).to.contain(
      'Write it above the class of the migration: // kit generate model label name:type ... ',
    )
    expect(app.tree()).to.deep.equal(before)
    const handlers = app.read('src/actions/posts.ts')
    const line = '// kit generate resource post title --skip-templates\n'
    app.write('src/actions/posts.ts', handlers.replace('/** Serves', `${line}/** Serves`))
    expect(await kitDestroy(['resource', 'post', '-y'])).to.not.contain('actions/posts.ts has been edited')
    expect(app.tree()).to.not.include.keys('src/models/post.ts', 'src/actions/posts.ts')
  })

  it('rejects to destroy missing files', async () => {
    expect(await messageOf(kitDestroy(['resource', 'post']))).to.equal(
      'No resource has the name "post": none of its files exist.',
    )
  })

  it('prints a different secret each time', async () => {
    const [one, two] = [await kitGenerate('secret'), await kitGenerate('secret')]
    expect(one).to.match(/^[0-9a-f]{128}\n$/)
    expect(one).to.not.equal(two)
  })
})

/** The message with which a command fails. */
async function messageOf(promise: Promise<unknown>): Promise<string> {
  return ((await failure(promise)) as Error).message
}

/** The files whose path matches, with zeros for the time of a migration. */
function timeless(tree: Record<string, string>, pattern: RegExp): Record<string, string> {
  return Object.fromEntries(
    Object.entries(tree)
      .filter(([path]) => pattern.test(path) && !path.endsWith('/'))
      .map(([path, content]) => [timelessText(path), timelessText(content)]),
  )
}

function timelessText(text: string): string {
  return text.replaceAll(/\d{13}/g, '0'.repeat(13))
}

const ROUTES = [
  'mark_read:post',
  'archive:delete',
  'preview:get',
  'drafts:get:collection',
  'import:put:collection',
].flatMap((route) => ['--route', route])

const PUBLISH = `
  /** POST /posts/{post_id}/publish */
  @Route('POST', '/{post_id}/publish', { responses: { 200: Post, 409: 'problem', 422: 'problem' } })
  async publish(ctx: Context) {
    const post = await this.findPost(ctx)
    // Change the post here.
    const errors = await ctx.save(post)
    if (errors) return ctx.respond(errors, { html: () => ctx.render('posts/edit', { post, errors }) })

    return ctx.respond({
      html: () => ctx.seeOther(ctx.pathFor('postPath', post), { success: ctx.t('post.publish.success') }),
      data: post,
    })
  }
`

const DRAFTS = `
  /** GET /posts/drafts */
  @Route('GET', '/drafts', { responses: { 200: [Post] } })
  async drafts(ctx: Context) {
    // Choose the posts here.
    const where = {}
    const { records: posts, pagination } = await ctx.paginate(Post, { where })
    return ctx.respond({ html: () => ctx.render('posts/index', { posts, pagination }), data: posts })
  }
`
