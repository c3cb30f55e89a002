import { rmSync } from 'node:fs'
import { expect } from 'chai'
import type { ResourceArguments } from '../../../src/generator/arguments/command-line.js'
import { authActions } from '../../../src/generator/auth-generator.js'
import { destroy, generate } from '../../../src/generator/files/files.js'
import { resourceActions, resourceDestruction } from '../../../src/generator/resource-generator.js'
import { Application, INDEPENDENT_OF_ENGINE } from '../../support/applications/generated.js'
import { newDatabase } from '../../support/databases.js'
import { engine, itOnce } from '../../support/engine.js'

const all: ResourceArguments = { csv: true, bulk: 'archive,update,destroy', route: ['archive:post'] }

/** Resources with the options for many records, in the order in which they are generated. */
const RESOURCES: [name: string, attributes: string[], options: ResourceArguments][] = [
  [
    'supplier',
    ['code:string:unique', 'secret_token'],
    { owner: 'user', csv: true, import: 'code', bulk: 'destroy' },
  ],
  [
    'part',
    [
      'sku:string:unique',
      'name',
      'price:nulls.decimal',
      'state:enum:draft,sold',
      'supplier:nulls.references',
      'labels:many',
    ],
    { ...all, owner: 'user', import: 'sku', filter: 'state', sort: 'name', search: 'name' },
  ],
  [
    'quote',
    ['title', 'is_new:bool', 'data:nulls.json'],
    { csv: true, import: true, bulk: 'destroy', parent: 'part' },
  ],
  ['api/v1/task', ['title', 'due_on:nulls.date'], { ...all, import: 'id', api: true }],
]

/** Sends requests for many parts, with each call of `ctx.authorize` removed in turn. The numbers of the calls are those in the file. */
const removals = `
import { expect } from 'chai'
import { Part } from '../src/models/part.js'
import { client, factory, isolate } from './support/app.js'
import { makeUser, signIn } from './support/users.js'

const rows = [
  ['new', []],
  ['create', ['import of a new line']],
  ['edit', []],
  ['update', ['import of an old line', 'bulk update']],
  ['destroy', ['bulk destroy']],
  ['archive', ['bulk archive']],
  ['nothing', []],
]
describe('Without ctx.authorize', () => {
  isolate()
  for (const [number, [handler, failing]] of rows.entries())
    it('in ' + handler, async () => {
      const owner = await makeUser()
      await signIn(client, owner)
      const { id } = await factory.make(Part, { user_id: owner.id, sku: 'old', name: 'Old' })
      const load = (lines) => client.post('/parts/import', {
        body: 'sku,name,state\\n' + lines, accept: 'json', headers: { 'Content-Type': 'text/csv' },
      })
      const bulk = (action) => client.post('/parts/bulk/' + action, { json: { ids: [id], name: 'Bulk' }, accept: 'json' })
      const requests = {
        'import of a new line': () => load('new,New,draft'),
        'import of an old line': () => load('old,New,sold'),
        'bulk update': () => bulk('update'),
        'bulk archive': () => bulk('archive'),
        'bulk destroy': () => bulk('destroy'),
      }
      const stored = async () => (await client.get('/parts', { accept: 'json' })).text
      for (const [name, send] of Object.entries(requests)) {
        globalThis.removed = undefined
        const before = await stored()
        globalThis.removed = number
        const { status } = await send()
        expect(status, name).to.equal(failing.includes(name) ? 500 : 200)
        globalThis.removed = undefined
        if (status === 500) expect(await stored()).to.equal(before)
      }
    })
})
`

describe('Generated resources with --csv, --import and --bulk', () => {
  let app: Application
  let before_: Record<string, string>

  before(async () => {
    app = Application.web()
    if (engine !== 'sqlite') {
      const [DATABASE_URL, TEST_DATABASE_URL] = [await newDatabase(), await newDatabase()]
      Object.assign(app.environment, { DATABASE_URL, TEST_DATABASE_URL })
    }
    generate(app.folder, authActions(app.folder, 'user'))
    generate(app.folder, resourceActions(app.folder, 'label', { attributes: ['name'], owner: 'user' }))
    before_ = app.tree()
    for (const [name, attributes, options] of RESOURCES)
      generate(app.folder, resourceActions(app.folder, name, { attributes, spec: 'full', ...options }))
  })

  after(() => app.remove())

  itOnce('declare columns without secrets, owners and parents, and record their command', () => {
    const handlers = app.read('src/actions/parts.ts')
    expect(handlers.replaceAll(/\s+/g, ' ')).to.contain(
      "csv: ['id', 'sku', 'name', 'price', 'state', 'supplier_id', 'created_at'], import: { key: 'sku' }, " +
        "bulk: ['archive', 'update', 'destroy'],",
    )
    expect(handlers).to.contain('--csv --import sku --bulk archive,update,destroy')
    expect(app.read('src/actions/suppliers.ts')).to.contain("csv: ['id', 'code', 'created_at']")
    expect(app.read('src/actions/quotes.ts')).to.contain('import: true')
    expect(app.read('templates/parts/index.pug')).to.contain('!= bulkForm(query, pagination)')
    expect(app.read('templates/parts/index.pug')).to.contain('a.button(href=partsImportPath())')
  })

  itOnce('are formatted', async () => {
    expect(await app.unformatted()).to.deep.equal([])
  })

  it('compile under strict', () => {
    expect(app.compile()).to.deep.equal({ status: 0, output: '' })
  })

  it('have complete specs that pass, with the contract', function () {
    // It waits for a program, which ends.
    this.timeout(0)
    const others = `^(Account|PasswordReset|Registration|Session)Resource ${engine === 'sqlite' ? '' : `|${INDEPENDENT_OF_ENGINE}`}`
    const { passes, failures } = app.reportSpecs('--grep', others, '--invert')
    expect(failures).to.deep.equal([])
    expect(passes).to.be.above(20)
  })

  itOnce('are a 500 that stores nothing without any one of their calls of ctx.authorize', function () {
    // It waits for a program, which ends.
    this.timeout(0)
    const path = 'dist/src/actions/parts.js'
    const handlers = app.read(path)
    let number = 0
    const call = () => `(globalThis.removed === ${number++} ? Object : ctx.authorize.bind(ctx))(`
    app.write(path, handlers.replaceAll('ctx.authorize(', call))
    app.write('dist/spec/removals.spec.js', removals)
    const report = app.reportSpecs('dist/spec/removals.spec.js')
    app.write(path, handlers)
    expect(report).to.deep.equal({ passes: 7, failures: [] })
    expect(number).to.equal(6)
  })

  itOnce('are taken back by kit destroy', async () => {
    for (const [name] of RESOURCES.toReversed()) {
      const { actions } = resourceDestruction(app.folder, name, async () => false)
      await destroy(app.folder, actions, { confirm: () => Promise.resolve(true) })
    }
    rmSync(app.path('node_modules'), { force: true })
    expect(app.tree()).to.deep.equal(before_)
  })

  itOnce(
    'are rejected with a key that is not unique, and with an action that does not change an item',
    () => {
      const application = Application.web()
      const messageOf = (options: ResourceArguments) => {
        try {
          resourceActions(application.folder, 'part', {
            attributes: ['sku', 'name:string:unique'],
            ...options,
          })
        } catch (error) {
          return String(error)
        }
        return ''
      }
      expect(messageOf({ import: 'sku' })).to.contain(
        '--import=sku must name a unique attribute, or id. Write sku:string:unique.',
      )
      expect(messageOf({ import: 'nmae' })).to.contain('Unique are: id, name.')
      expect(messageOf({ bulk: 'destory' })).to.contain(
        '--bulk has "destory", which does not change an item. Did you mean "destroy"?',
      )
      expect(messageOf({ bulk: 'archive' })).to.contain('or add --route archive:post.')
      expect(messageOf({ import: true, route: ['import:post:collection'] })).to.contain('--import')
      expect(messageOf({ csv: true, singular: true })).to.contain('Leave out --csv, --import and --bulk.')
      application.remove()
    },
  )
})
