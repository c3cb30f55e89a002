import { rmSync } from 'node:fs'
import { expect } from 'chai'
import type { ResourceArguments } from '../../../src/generator/arguments/command-line.js'
import { authActions } from '../../../src/generator/auth-generator.js'
import { destroy, generate } from '../../../src/generator/files/files.js'
import { migrationActions } from '../../../src/generator/migration-generator.js'
import { modelActions, modelDestruction } from '../../../src/generator/model-generator.js'
import { resourceActions, resourceDestruction } from '../../../src/generator/resource-generator.js'
import { Application, INDEPENDENT_OF_ENGINE } from '../../support/applications/generated.js'
import { newDatabase } from '../../support/databases.js'
import { engine, itOnce } from '../../support/engine.js'

/** Resources with a history, in the order in which they are generated. */
const RESOURCES: [name: string, attributes: string[], options: ResourceArguments][] = [
  ['contract', ['title', 'amount:decimal', 'number:string:unique', 'labels:many'], { trash: true }],
  ['folder', ['name:string:unique', 'labels:many'], { owner: 'user', locking: true, sort: 'name' }],
  [
    'page',
    ['title:string:unique', 'contract:nulls.references'],
    { parent: 'folder', csv: true, bulk: 'destroy' },
  ],
  ['remark', ['text:text'], { parent: 'page' }],
  ['api/task', ['title', 'number:string:unique'], { api: true, trash: true }],
  ['setting', ['name'], { singular: true }],
]

/** A compiled spec of the application. */
const PAGE_OF_TWO_USERS = `
import { expect } from 'chai'
import { client, isolate } from './support/app.js'
import { makeUser, signIn } from './support/users.js'

describe('The page of a history', () => {
  isolate()

  it('shows its readers their own address, and that of nobody else', async () => {
    const [ada, bob] = [await makeUser(), await makeUser()]
    await signIn(client, ada)
    await client.get('/contracts/new')
    const form = { title: 'A', amount: '1.5', number: 'n1' }
    const { location } = await client.post('/contracts', { form })
    const path = location + '/history'
    const user = (text) => /data-label="User">([^<]*)</.exec(text)?.[1]
    expect(user((await client.get(path)).text)).to.equal(ada.email)
    const other = client.another()
    await signIn(other, bob)
    const { text } = await other.get(path)
    expect(user(text)).to.equal(ada.id)
    expect(text).to.not.include(ada.email)
  })
})
`

describe('Generated resources with --history', () => {
  let app: Application
  let empty: Record<string, string>

  before(async () => {
    app = Application.web()
    if (engine !== 'sqlite') {
      const [DATABASE_URL, TEST_DATABASE_URL] = [await newDatabase(), await newDatabase()]
      Object.assign(app.environment, { DATABASE_URL, TEST_DATABASE_URL })
    }
    generate(app.folder, authActions(app.folder, 'user'))
    empty = app.tree()
    generate(
      app.folder,
      modelActions(app.folder, 'label', { attributes: ['name:string:unique'], history: true, spec: 'full' }),
    )
    for (const [name, attributes, options] of RESOURCES)
      generate(
        app.folder,
        resourceActions(app.folder, name, { attributes, spec: 'full', history: true, ...options }),
      )
  })

  after(() => app.remove())

  itOnce(
    'have the table of entries with the first one, abilities of policies, and a link on the page of a record',
    () => {
      const migrations = Object.keys(app.tree()).filter((path) => path.startsWith('migrations/'))
      expect(migrations.filter((path) => path.includes('create_history_entries'))).to.have.length(1)
      expect(app.read('src/models/history_entry.ts')).to.contain("from 'resource-kit/history'")
      expect(app.read('src/policies/folder.ts')).to.match(/ {2}history\([^]*this\.update\(/)
      expect(app.read('templates/contracts/show.pug')).to.contain(
        'a.button(href=contractHistoryPath(contract))',
      )
    },
  )

  itOnce('get the same files from kit generate migration, for a model that exists', () => {
    const actions = migrationActions(app.folder, 'create_history_entries')
    const paths = actions.map(({ path }) => path)
    expect(paths).to.have.length(2).and.include('src/models/history_entry.ts')
    expect(paths.join()).to.match(/migrations\/\d+_create_history_entries\.ts/)
    const [text] = Object.entries(app.tree()).flatMap(([path, content]) =>
      path.includes('create_history_entries') ? content : [],
    )
    expect(text).to.contain('createTable(historyTable(runner))')
  })

  itOnce('are refused for an existing model and for reserved names', () => {
    const refused: [name: string, options: ResourceArguments, message: string][] = [
      ['memo', { route: ['history:get'] }, '--history adds the handler "history"'],
      ['history', {}, 'History'],
      ['memo', { useModel: 'contract' }, '--history declares @History() on the model.'],
    ]
    for (const [name, options, message] of refused)
      expect(() => resourceActions(app.folder, name, { ...options, history: true })).to.throw(message)
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
    app.write('dist/spec/history_page.spec.js', PAGE_OF_TWO_USERS)
    const others = `^(Account|PasswordReset|Registration|Session)Resource ${engine === 'sqlite' ? '' : `|${INDEPENDENT_OF_ENGINE}`}`
    const { passes, failures } = app.reportSpecs('--grep', others, '--invert')
    expect(failures).to.deep.equal([])
    expect(passes).to.be.above(40)
  })

  itOnce('are taken back by kit destroy', async () => {
    const undo = [
      ...RESOURCES.toReversed().map(([name]) => resourceDestruction.bind(undefined, app.folder, name)),
      () => modelDestruction(app.folder, 'label'),
    ]
    for (const destruction of undo) {
      const { actions, remark } = destruction()
      for (const { path } of actions) expect(`${path}: ${await remark(path)}`).to.equal(`${path}: undefined`)
      await destroy(app.folder, actions, { confirm: () => Promise.resolve(true) })
    }
    rmSync(app.path('node_modules'), { force: true })
    expect(app.tree()).to.deep.equal(empty)
  })
})
