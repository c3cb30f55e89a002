import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { expect } from 'chai'
import { generate } from '../../src/generator/files.js'
import { migrationActions } from '../../src/generator/migration-generator.js'
import { resourceActions, type ResourceOptions } from '../../src/generator/resource-generator.js'
import { Application } from '../support/generated.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))

const types = 'string text int bigint float decimal bool date time datetime uuid json'.split(' ')

/** An attribute of every type, and a nullable one of each. */
const everything = [
  ...types.map((type) => `a_${type}:${type}`),
  ...types.map((type) => `maybe_${type}:nulls.${type}`),
  'state:enum:draft,public',
  'mood:nulls.Enum:good,bad',
  'author:references',
  'editor:nulls.References',
  'code:string:unique',
  'rank:int:index',
]

for (const [kind, make] of Object.entries({ web: Application.web, api: Application.api })) {
  describe(`An application that is generated (${kind})`, function () {
    this.timeout(120_000)
    let app: Application

    before(() => {
      app = make()
      const resource = (name: string, attributes: string[], options: ResourceOptions = {}) =>
        generate(app.folder, resourceActions(app.folder, name, { attributes, fullSpec: true, ...options }))
      const migration = (name: string, ...attributes: string[]) =>
        generate(app.folder, migrationActions(app.folder, name, attributes))
      resource('author', ['name'])
      resource('editor', ['nickname:nulls.String'])
      resource('thing', everything)
      resource('admin/blog_widget', everything)
      resource('part', everything, { parent: 'admin/blog_widget' })
      resource('news', ['title'])
      resource('admin/comment', ['body:text', 'author:references'], { parent: 'news' })
      resource('reader', [], { parent: 'author' })
      resource('category', ['name', 'category:nulls.References'])
      resource('person', ['active:bool'])
      resource('admin/author', ['name'], { useModel: 'author' })
      resource('writer', ['name'], { useModel: 'author' })
      resource('page', ['title'])
      resource('answer', ['item', 'author:references'], { parent: 'page' })
      resource('item', ['name', 'answer:references', 'page:references'])
      resource('table', ['map:int', 'record:json', 'path', 'ctx', 'errors:nulls.Text'])
      resource('admin/organization_membership', ['name'])
      resource('admin/subscription_cancellation', LONG)
      resource('invitation_reminder', LONG, { parent: 'admin/subscription_cancellation' })
      migration('create_tags', 'name:string:unique', 'author:references')
      migration(
        'add_state_to_tags',
        'state:nulls.Enum:draft,public',
        'editor:nulls.references',
        'rank:int:index',
      )
      migration('remove_rank_from_tags', 'rank:int:index')
      migration('tidy_up')
    })
    after(() => app.remove())

    it('is formatted', () => {
      const result = app.run('prettier', '--check', '--config', join(root, '.prettierrc.json'), '.', '!dist')
      expect(result.output).to.contain('All matched files use Prettier code style')
    })

    it('compiles under strict', () => {
      expect(app.run('tsc', '--noUnusedLocals')).to.deep.equal({ status: 0, output: '' })
    })

    it('migrates, and takes every migration back', () => {
      app.write('undo.mjs', UNDO)
      expect(app.run('node', 'undo.mjs')).to.deep.equal({ status: 0, output: '21 run, 21 undone\n' })
    })

    it('tells kit destroy which migrations have been run', () => {
      app.write('has-run.mjs', HAS_RUN)
      const { output } = app.run('node', 'has-run.mjs', join(root, 'dist/src/cli/has-run.js'))
      expect(output.split('\n')).to.deep.equal([
        'not there: false',
        'file made: false',
        'run: true',
        'other: false',
        '',
      ])
    })

    it('has full specs that pass', () => {
      const { status, output } = app.run('mocha')
      expect(output).to.match(/\d{2,} passing/)
      expect(output).to.not.contain('failing')
      expect(status).to.equal(0)
    })
  })
}

/** Attributes that make lines too long. */
const LONG = [
  'title',
  'state:enum:waiting_for_payment,waiting_for_approval,cancelled_by_customer,cancelled_by_us',
  'cancellation_confirmation_address:nulls.Text:index',
  'organization_membership:references',
]

/** Migrates an empty database and undoes it all. */
const UNDO = `
import 'reflect-metadata'
process.env.DATABASE_URL = 'sqlite::memory:'
const { database } = await import('./dist/src/database.js')
await database.open()
const run = await database.migrate()
const undone = await database.rollback(run.length)
console.log(run.length + ' run, ' + undone.length + ' undone')
await database.close()
`

/** Asks for a migration before and after it has been run. */
const HAS_RUN = `
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
const { hasRun } = await import(process.argv[2])
const [file] = readdirSync('migrations').filter((name) => name.endsWith('create_authors.ts'))
const name = 'CreateAuthors' + parseInt(file)
console.log('not there:', await hasRun(process.cwd(), name))
console.log('file made:', existsSync('db/development.sqlite'))
const { database } = await import('./dist/src/database.js')
mkdirSync('db', { recursive: true })
await database.open()
await database.migrate()
await database.close()
console.log('run:', await hasRun(process.cwd(), name))
console.log('other:', await hasRun(process.cwd(), 'CreateOthers1'))
`
