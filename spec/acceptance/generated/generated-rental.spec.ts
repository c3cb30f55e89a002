import { expect } from 'chai'
import { rmSync } from 'node:fs'
import type { ResourceArguments } from '../../../src/generator/arguments/command-line.js'
import { authActions } from '../../../src/generator/auth-generator.js'
import { destroy, generate } from '../../../src/generator/files/files.js'
import { jobActions } from '../../../src/generator/job-generator.js'
import { migrationActions } from '../../../src/generator/migration-generator.js'
import { resourceActions, resourceDestruction } from '../../../src/generator/resource-generator.js'
import { Application } from '../../support/applications/generated.js'

const below = { parent: 'branch' }

/** The resources of a rental company: references between records of a branch, from every depth. */
const RESOURCES: [name: string, attributes: string[], options?: ResourceArguments][] = [
  ['branch', ['name'], { owner: 'user' }],
  ['customer', ['name', 'email'], below],
  [
    'item',
    ['name', 'serial:string:unique'],
    { ...below, owner: 'user', filter: 'serial', sort: 'serial', unique: ['name,serial'] },
  ],
  [
    'rental',
    [
      'number:string:unique',
      'customer:references',
      'items:many',
      'from_branch:nulls.references:branch',
      'payer:references:customer:unique',
    ],
    { ...below, filter: 'number,customer', sort: 'number', search: 'number' },
  ],
  ['line', ['text', 'item:references', 'after:references:rental'], { parent: 'rental' }],
  ['note', ['text', 'about:references:line', 'lines:many'], { parent: 'line' }],
  [
    'profile',
    ['nickname:string:unique', 'line:references', 'rentals:many'],
    { singular: true, owner: 'user' },
  ],
  ['api/v1/report', ['text', 'line:references', 'rentals:many'], { owner: 'user', api: true }],
]

/** Other options than those of a new application, as the handbook describes them. */
const OPTIONS: [from: string, to: string][] = [
  ['mailer()', "mailer({ from: 'Rental <no-reply@rental.example>', jobs })"],
  ['csrf()', "csrf({ trustedOrigins: ['https://rental.example'] })"],
  [
    'transaction(database)',
    "transaction(database, { isolation: 'SERIALIZABLE', retries: 2, idleLimit: 60_000 })",
  ],
  ["translations('locales')", "translations('locales', { fallback: 'en-US', name: 'language' })"],
  [
    'sessionName:',
    "sessionMaxAge: 3_600_000, secret: ['new secret of 32 characters or more', 'old'], proxy: 1, sessionName:",
  ],
]

describe('The generated application of a rental company', () => {
  let app: Application
  let accounts: Record<string, string>

  before(() => {
    app = Application.web()
    generate(app.folder, authActions(app.folder, 'user', { confirm: true }))
    generate(app.folder, jobActions(app.folder, 'remind_customers', {}))
    accounts = app.tree()
    for (const [name, attributes, options] of RESOURCES)
      generate(app.folder, resourceActions(app.folder, name, { attributes, spec: 'full', ...options }))
  })

  after(() => app.remove())

  it('is formatted', async () => {
    expect(await app.unformatted()).to.deep.equal([])
  })

  it('has unique values within a branch or of an owner, and of all accounts in a singular resource', () => {
    const uniqueOf = (name: string) => app.read(`src/models/${name}.ts`).match(/^@Index.*$|unique: true/gm)
    expect(uniqueOf('item')).to.deep.equal([
      "@Index('items_branch_id_user_id_serial', ['branch_id', 'user_id', 'serial'], { unique: true })",
      "@Index('items_branch_id_user_id_name_serial', ['branch_id', 'user_id', 'name', 'serial'], { unique: true })",
    ])
    expect(uniqueOf('rental')).to.deep.equal([
      "@Index('rentals_branch_id_number', ['branch_id', 'number'], { unique: true })",
      "@Index('rentals_branch_id_payer_id', ['branch_id', 'payer_id'], { unique: true })",
    ])
    expect(uniqueOf('profile')).to.deep.equal([
      "@Index('profiles_user_id', ['user_id'], { unique: true })",
      'unique: true',
    ])
  })

  it('has unique values within a branch in a later migration', () => {
    const sourceOf = (word: string, attribute: string) =>
      migrationActions(app.folder, word, [attribute]).map((action) =>
        'content' in action ? action.content : '',
      )[0]
    const added = sourceOf('add_code_to_rentals', 'code:nulls.string:unique')
    expect(added)
      .to.contain("name: 'rentals_branch_id_code'")
      .and.to.contain("columnNames: ['branch_id', 'code']")
    expect(added).to.contain("column(runner, 'code', 'string', { isNullable: true })")
    expect(added).to.contain("await runner.dropIndex('rentals', 'rentals_branch_id_code')")
    expect(sourceOf('add_code_to_items', 'code:nulls.string:unique')).to.contain(
      "['branch_id', 'user_id', 'code']",
    )
    expect(sourceOf('add_code_to_profiles', 'code:nulls.string:unique')).to.contain('isUnique: true }')
    expect(sourceOf('add_code_to_branches', 'code:nulls.string:unique')).to.contain("['user_id', 'code']")
  })

  it('compiles under strict, and its specs pass with other options than those of a new application', function () {
    // It waits for programs, which end.
    this.timeout(0)
    const path = 'src/app.ts'
    const text = app.read(path)
    for (const [from, to] of OPTIONS) {
      expect(app.read(path)).to.contain(from)
      app.write(path, app.read(path).replace(from, to))
    }
    expect(app.compile()).to.deep.equal({ status: 0, output: '' })
    const { passes, failures } = app.reportSpecs()
    expect(failures.join('\n')).to.equal('')
    expect(passes).to.be.above(150)
    app.write(path, text)
  })

  it('is taken back by kit destroy', async () => {
    for (const [name] of RESOURCES.toReversed()) {
      const { actions } = resourceDestruction(app.folder, name, async () => false)
      await destroy(app.folder, actions, { confirm: () => Promise.resolve(true) })
    }
    rmSync(app.path('node_modules'), { force: true })
    expect(app.tree()).to.deep.equal(accounts)
  })

  it('cannot have a reference with the name of a key in its path', () => {
    const application = Application.web()
    generate(application.folder, resourceActions(application.folder, 'branch', { attributes: ['name'] }))
    generate(application.folder, resourceActions(application.folder, 'rental', below))
    const attributes = ['branch:references']
    expect(() => resourceActions(application.folder, 'line', { attributes, parent: 'rental' })).to.throw(
      'The path /branches/{branch_id}/rentals/{rental_id}/lines sets branch_id',
    )
    application.remove()
  })
})
