import { join } from 'node:path'
import { expect } from 'chai'
import { generate } from '../../../src/generator/files/files.js'
import { migrationActions } from '../../../src/generator/migration-generator.js'
import type { ResourceArguments } from '../../../src/generator/arguments/command-line.js'
import { resourceActions } from '../../../src/generator/resource-generator.js'
import { newDatabase } from '../../support/databases.js'
import { describeOnce, engine, itOnce } from '../../support/engine.js'
import { Application, INDEPENDENT_OF_ENGINE } from '../../support/applications/generated.js'
import { root } from '../../support/kit.js'

const types = 'string text int bigint float decimal bool date time datetime uuid json'.split(' ')

/** An attribute of every type, and a nullable one of each. */
const everything = [
  ...types.map((type) => `a_${type}:${type}`),
  ...types.map((type) => `maybe_${type}:nulls.${type}`),
  'state:enum:draft,public',
  'mood:nulls.enum:good,bad',
  'author:references',
  'editor:nulls.references',
  'code:string:unique',
  'rank:int:index',
  'rate:decimal:12,4',
  'ratio:nulls.decimal:9,9',
  'pieces:decimal:12,0',
  'password_digest',
  'api_token:string:unique',
  'bank_secret:references:author',
  'reset_token:text:shown',
]

/** The attributes that lists can filter and sort. */
const QUERIED = [
  ...types.filter((type) => type !== 'json').flatMap((type) => [`a_${type}`, `maybe_${type}`]),
  'state',
  'mood',
  'author_id',
  'editor_id',
  'code',
  'rank',
  'rate',
]

/** Attributes of each form. Their inputs and columns do not depend on what a resource belongs to. */
const some = [
  'code:string:unique',
  'maybe_int:nulls.int',
  'body:text',
  'state:enum:draft,public',
  'is_new:bool',
  'author:references',
  'editor:nulls.references',
  'password_digest',
  'reset_token:text:shown',
]

/** Unique attributes of each kind, also of kinds with few values. */
const UNIQUE = [
  ...types.filter((type) => type !== 'text' && type !== 'json').map((type) => `a_${type}:${type}:unique`),
  'tax:decimal:3,1:unique',
  'digit:decimal:1,0:unique',
  'share:decimal:1,1:unique',
  'state:enum:draft,public:unique',
  'mood:nulls.enum:good:unique',
  'author:references:unique',
]

/** Routes of every form. */
const ROUTES = [
  'publish:post',
  'mark_as_waiting_for_the_approval_of_the_editor:put',
  'archive:delete',
  'preview:get',
  'drafts:get:collection',
  'import:post:collection',
  'sweep:delete:collection',
]

/**
 * Names that have another meaning in the framework, in JavaScript, or in mocha. The servers need one: its columns are words of SQL. The
 * format depends on the length of a name: it is checked for the shortest and the longest, which are first.
 */
const ODD = [
  'app',
  'transaction',
  'database',
  'session',
  'request',
  'record',
  'client',
  'test',
  'map',
  'type',
  'equipment',
  'route',
  'use',
  // Helpers and variables of templates.
  'label',
  'time',
  'form',
]

/** Resources with the same columns and queries as others. Their migrations run on each engine, and their specs on SQLite only. */
const REPEATED =
  'BlogWidget|ApiV1|Profile|Writer|Page|OrganizationMembership|SubscriptionCancellation|Invitation'

for (const [kind, make] of Object.entries({ web: Application.web, api: Application.api })) {
  // The web application has resources of an API, too.
  const describeKind = kind === 'web' ? describe : describeOnce
  describeKind(`A generated application (${kind})`, function () {
    // These pages are the most likely to fail.
    const odd = kind === 'web' ? ODD.slice(0, engine === 'sqlite' ? Infinity : 1) : []
    let app: Application
    let undone: string
    let formatted: string[]

    before(async () => {
      app = make()
      // On SQLite, an application finds its databases itself.
      undone = 'sqlite:db/development.sqlite'
      if (engine !== 'sqlite') {
        undone = await newDatabase()
        const [DATABASE_URL, TEST_DATABASE_URL] = [await newDatabase(), await newDatabase()]
        Object.assign(app.environment, { DATABASE_URL, TEST_DATABASE_URL })
      }
      const resource = (name: string, attributes: string[], options: ResourceArguments = {}) =>
        generate(app.folder, resourceActions(app.folder, name, { attributes, spec: 'full', ...options }))
      const migration = (name: string, ...attributes: string[]) =>
        generate(app.folder, migrationActions(app.folder, name, attributes))
      /** Completes a migration that was generated without attributes. */
      const implement = (ending: string) => {
        const path = Object.keys(app.tree()).find((name) => name.endsWith(ending)) ?? ''
        app.write(
          path,
          app.read(path).replace("throw new Error('Not Implemented!')", 'return Promise.resolve()'),
        )
      }
      resource('author', ['name', 'verified:nulls.bool'])
      resource('editor', ['nickname:nulls.string'])
      const filter = QUERIED.join(',')
      const sort = ['-created_at', ...QUERIED].join(',')
      resource('thing', everything, { route: ROUTES, filter, sort, search: 'a_string,maybe_text' })
      resource('admin/blog_widget', some)
      resource('part', some, {
        parent: 'admin/blog_widget',
        filter: 'code,maybe_int,state,author_id,editor_id',
        sort: 'code,maybe_int',
      })
      resource('news', ['title'], { route: ROUTES })
      resource('admin/comment', ['body:text', 'author:references'], { parent: 'news' })
      resource('reply', ['text', 'author:references'], { parent: 'admin/comment', route: ROUTES })
      resource('vote', ['stars:int', 'author:references'], { parent: 'reply' })
      resource('reader', [], { parent: 'author' })
      resource('category', ['name', 'category:nulls.references'], { filter: 'category', search: 'name' })
      resource('person', ['active:bool'])
      resource('admin/author', ['name'], { useModel: 'author' })
      // As if the `verified` column had been added after its handlers were generated.
      resource('writer', ['name'], { useModel: 'author' })
      resource('profile', some, { singular: true, route: ['publish:post', 'preview:get'] })
      resource('settings', ['theme:enum:dark,light', 'beta:bool'], { singular: true })
      resource('page', ['title'])
      resource('api/v1/page', ['title'], { useModel: 'page', api: true })
      resource('api/v1/note', some, { api: true, route: ROUTES })
      resource('api/v1/setup', ['name'], { api: true, singular: true })
      resource('api/v1/line', ['text'], { api: true, parent: 'api/v1/note' })
      resource('answer', ['item', 'author:references'], { parent: 'page' })
      resource('item', ['name', 'answer:references', 'page:references'])
      resource('menu', UNIQUE, { sort: '-tax', unique: ['a_bool,state'] })
      resource('badge', ['level:enum:gold:unique', 'rank:int'], { sort: '-rank' })
      resource('table', ['map:int', 'record:json', 'path', 'ctx', 'errors:nulls.text'])
      resource('admin/organization_membership', ['name'])
      resource('admin/subscription_cancellation', LONG, { sort: '-cancellation_confirmation_address' })
      resource('invitation_reminder', LONG, { parent: 'admin/subscription_cancellation' })
      migration('create_tags', 'name:string:unique', 'author:references')
      migration(
        'add_state_to_tags',
        'state:nulls.enum:draft,public',
        'editor:nulls.references',
        'rank:int:index',
      )
      migration('remove_rank_from_tags', 'rank:int:index')
      const withOddName = (name: string) => resource(name, ['title', 'order:int', 'select:nulls.text'])
      odd.slice(0, 2).forEach(withOddName)
      migration('tidy_up')
      implement('_tidy_up.ts')
      if (kind === 'web') app.write('spec/pages.spec.ts', PAGES.trimStart())
      app.write('spec/writable.spec.ts', WRITABLE.trimStart())
      formatted = Object.keys(app.tree())
      odd.slice(2).forEach(withOddName)
    })
    after(() => app.remove())

    itOnce('is formatted', async () => {
      expect(await app.unformatted(formatted)).to.deep.equal([])
    })

    it('compiles under strict', () => {
      expect(app.compile()).to.deep.equal({ status: 0, output: '' })
    })

    describe('with an empty database', () => {
      let result: ReturnType<Application['run']>
      let lines: string[]

      before(() => {
        app.write('empty-database.mjs', WITH_EMPTY_DATABASE)
        result = app.run('node', 'empty-database.mjs', join(root, 'dist/src/cli/support/has-run.js'), undone)
        lines = result.output.split('\n')
      })

      it('migrates, and rolls every migration back', () => {
        expect(lines[0]).to.equal(`${30 + odd.length} run, ${30 + odd.length} undone`)
      })

      it('creates one record of a singular resource when several requests arrive at once', () => {
        expect(lines[1]).to.equal('1 created, 0 with another status than 409 and 503, 1 in the database')
      })

      it('reports to kit destroy which migrations have been run', () => {
        expect(lines.slice(2)).to.deep.equal(['has run: false,true,false; file made: false', ''])
        expect(result.status).to.equal(0)
      })
    })

    it('has complete specs that pass, and do not use the database of DATABASE_URL', function () {
      // It waits for a program, which ends.
      this.timeout(0)
      const DATABASE_URL = 'postgres://nobody@127.0.0.1:1/production'
      if (engine === 'sqlite') Object.assign(app.environment, { DATABASE_URL })
      const options =
        engine === 'sqlite' ? [] : ['--grep', `${REPEATED}|${INDEPENDENT_OF_ENGINE}`, '--invert']
      const { status, output } = app.runSpecs(...options)
      expect(status, output).to.equal(0)
      expect(output).to.match(/\d{2,} passing/)
    })
  })
}

/** A column that the handlers do not name. */
const WRITABLE = `
import { expect } from 'chai'
import { database } from '../src/database.js'
import { Author } from '../src/models/author.js'
import { Thing } from '../src/models/thing.js'
import { client, factory, isolate } from './support/app.js'

describe('A secret attribute', () => {
  isolate()

  it('is in no response, and is not set by requests', async () => {
    const password_digest = 'q8z7'
    const { id } = await factory.make(Thing, { password_digest, api_token: 'q8z7', reset_token: 'shown' })
    for (const path of ['/things', \`/things/\${id}\`]) {
      for (const accept of ['html', 'json', 'xml'] as const) {
        const { status, text } = await client.get(path, { accept })
        if (status === 406) continue
        expect(status).to.equal(200)
        expect(text).to.not.match(/q8z7|password.digest|bank.secret|api.token/i)
      }
    }
    const json = { password_digest: 'changed', reset_token: 'changed' }
    const changed = await client.put(\`/things/\${id}\`, { json, accept: 'json' })
    expect(changed.json).to.include({ reset_token: 'changed' })
    expect(await database.manager.findOneByOrFail(Thing, { id })).to.include({ password_digest })
  })
})

describe('A column that was added after the handlers were generated', () => {
  isolate()

  it('is not set by requests', async () => {
    const author = await factory.make(Author, { verified: false })
    const json = { name: 'Grace', verified: true }
    const changed = await client.put(\`/writers/\${author.id}\`, { json, accept: 'json' })
    expect(changed.json).to.include({ name: 'Grace', verified: false })
    const created = await client.post('/writers', { json, accept: 'json' })
    expect(created.json).to.include({ name: 'Grace', verified: null })
  })
})
`

/** Other records on pages, and records nested below a parent of a parent. */
const PAGES = `
import { expect } from 'chai'
import { Author } from '../src/models/author.js'
import { Comment } from '../src/models/comment.js'
import { News } from '../src/models/news.js'
import { Reply } from '../src/models/reply.js'
import { client, factory, isolate } from './support/app.js'

describe('Replies to comments of news', () => {
  isolate()
  let path: string
  let comment: Comment

  beforeEach(async () => {
    const author = await factory.make(Author, { name: 'Ada' })
    comment = await factory.make(Comment)
    const { id } = await factory.make(Reply, { author_id: author.id, comment_id: comment.id })
    path = \`/news/\${comment.news_id}/admin/comments/\${comment.id}/replies/\${id}\`
  })

  it('show the name of their author on pages, and only the id in JSON', async () => {
    for (const page of [path, path.slice(0, path.lastIndexOf('/'))]) {
      expect((await client.get(page)).text).to.match(/<(td|dd)[^>]*>Ada</)
      expect((await client.get(page, { accept: 'json' })).text).to.not.include('Ada')
    }
  })

  it('are linked from their comment', async () => {
    const page = await client.get(path.slice(0, path.lastIndexOf('/replies')))
    expect(page.text).to.include(\`href="\${path.slice(0, path.lastIndexOf('/'))}"\`)
  })

  it('list their authors by name in the form, in the order of the language', async () => {
    for (const name of ['zoe', 'Part 10', 'Émile', 'Part 2', 'bob']) await factory.make(Author, { name })
    const page = await client.get(\`\${path}/edit\`)
    const names = ['Ada', 'bob', 'Émile', 'Part 2', 'Part 10', 'zoe']
    const offered = [...page.text.matchAll(/<option[^>]*>([^<]*)</g)].map(([, name = '']) => name)
    expect(offered.filter((name) => names.includes(name))).to.deep.equal(names)
  })

  it('are not found below another comment, or other news', async () => {
    const other = await factory.make(Comment)
    const news = await factory.make(News)
    const accept = { accept: 'json' } as const
    expect((await client.get(path.replace(comment.id, other.id), accept)).status).to.equal(404)
    expect((await client.get(path.replace(comment.news_id, news.id), accept)).status).to.equal(404)
    expect((await client.delete(path.replace(comment.news_id, news.id), accept)).status).to.equal(404)
    expect((await client.get(path, accept)).status).to.equal(200)
  })
})
`

/** Attributes that make lines too long. */
const LONG = [
  'title',
  'state:enum:waiting_for_payment,waiting_for_approval,cancelled_by_customer,cancelled_by_us',
  'cancellation_confirmation_address:nulls.string:index',
  'organization_membership:references',
]

/**
 * Migrates an empty database, undoes it all, and migrates it again for ten requests at once that create the settings. Reads
 * the status of a migration before and afterwards.
 */
const WITH_EMPTY_DATABASE = `
import 'reflect-metadata'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
const [, , hasRunFile, url] = process.argv
process.env.DATABASE_URL = url
const { hasRun } = await import(hasRunFile)
const [file] = readdirSync('migrations').filter((name) => name.endsWith('create_authors.ts'))
const name = 'CreateAuthors' + parseInt(file)
const before = await hasRun(name)
const isMade = existsSync('db/development.sqlite')
const { app } = await import('./dist/src/app.js')
const { database } = await import('./dist/src/database.js')
const { Client } = await import('resource-kit/testing')
mkdirSync('db', { recursive: true })
await database.open()
const run = await database.migrate()
const undone = await database.rollback(run.length)
console.log(run.length + ' run, ' + undone.length + ' undone')
await database.migrate()
const client = await new Client(app, { accept: 'json' }).open()
const json = { theme: 'dark' }
const responses = await Promise.all(Array.from({ length: 10 }, () => client.post('/settings', { json })))
const statuses = responses.map(({ status }) => status)
const created = statuses.filter((status) => status === 201).length
const others = statuses.filter((status) => ![201, 409, 503].includes(status)).length
const [{ count }] = await database.query('SELECT count(*) AS count FROM settings')
console.log(created + ' created, ' + others + ' with another status than 409 and 503, ' + count + ' in the database')
await client.close()
await database.close()
console.log('has run: ' + [before, await hasRun(name), await hasRun('CreateOthers1')] + '; file made: ' + isMade)
`
