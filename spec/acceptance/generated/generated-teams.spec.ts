import { expect } from 'chai'
import { rmSync } from 'node:fs'
import { authActions, type AuthOptions } from '../../../src/generator/auth-generator.js'
import { destroy, generate } from '../../../src/generator/files/files.js'
import { resourceActions, resourceDestruction } from '../../../src/generator/resource-generator.js'
import type { ResourceArguments } from '../../../src/generator/arguments/command-line.js'
import { teamActions, teamDestruction, type TeamArguments } from '../../../src/generator/team-generator.js'
import { Application, INDEPENDENT_OF_ENGINE } from '../../support/applications/generated.js'
import { newDatabase } from '../../support/databases.js'
import { describeOnce, engine, itOnce } from '../../support/engine.js'

const own = { owner: 'branch' }

/** The resources of a rental company, in the order in which they are generated. */
const RESOURCES: [name: string, attributes: string[], options: ResourceArguments][] = [
  ['customer', ['name'], { ...own, search: 'name' }],
  ['item', ['name', 'serial:string:unique'], own],
  [
    'rental',
    ['number', 'customer:references', 'items:many', 'assignee:nulls.References:user'],
    { ...own, route: ['return:post', 'import:post:collection'], filter: 'customer,assignee', sort: 'number' },
  ],
  // The path is that of the parent, and the roles are those of the branch.
  ['payment', ['amount:int', 'receiver:references:user'], { ...own, parent: 'rental', locking: true }],
  // The policy of the rental applies.
  ['note', ['text'], { parent: 'rental', spec: 'full', route: ['pin:post'] }],
  // Each member has own records in a branch.
  ['reminder', ['text'], { parent: 'branch', owner: 'user' }],
  ['api/v1/report', ['title'], { ...own, api: true }],
]

/** The specs of accounts: generate-auth.spec.ts notices the same errors. */
const OF_ACCOUNTS = '^(Account|PasswordReset|Registration|Session)Resource '

/** An application with accounts and a team, as the commands generate it. */
class Company {
  constructor(
    readonly app: Application,
    auth: AuthOptions,
    team: TeamArguments,
    resources: typeof RESOURCES,
  ) {
    generate(app.folder, authActions(app.folder, 'user', auth))
    this.accounts = app.tree()
    generate(app.folder, teamActions(app.folder, 'branch', team))
    for (const [name, attributes, options] of resources)
      generate(app.folder, resourceActions(app.folder, name, { attributes, ...options }))
    this.resources = resources
  }

  private readonly accounts: Record<string, string>
  private readonly resources: typeof RESOURCES

  async expectDestroyed(): Promise<void> {
    const { app } = this
    for (const [name] of this.resources.toReversed()) await this.undo(resourceDestruction(app.folder, name))
    await this.undo(teamDestruction(app.folder, 'branch'))
    rmSync(app.path('node_modules'), { force: true })
    expect(app.tree()).to.deep.equal(this.accounts)
  }

  private async undo({ actions, remark }: ReturnType<typeof teamDestruction>): Promise<void> {
    for (const { path } of actions) expect(`${path}: ${await remark(path)}`).to.equal(`${path}: undefined`)
    await destroy(this.app.folder, actions, { confirm: () => Promise.resolve(true) })
  }
}

describe('A generated team', () => {
  let app: Application
  let company: Company

  before(async () => {
    app = Application.web()
    if (engine !== 'sqlite') {
      const [DATABASE_URL, TEST_DATABASE_URL] = [await newDatabase(), await newDatabase()]
      Object.assign(app.environment, { DATABASE_URL, TEST_DATABASE_URL })
    }
    const team = { roles: 'owner,manager,clerk,viewer', write: 'clerk', locking: true }
    company = new Company(app, { api: true }, team, RESOURCES)
  })

  after(() => app.remove())

  itOnce('is formatted', async () => {
    expect(await app.unformatted()).to.deep.equal([])
  })

  it('compiles under strict', () => {
    expect(app.compile()).to.deep.equal({ status: 0, output: '' })
  })

  it('has specs that pass: of handlers, policies, invitations, and of the isolation', function () {
    // It waits for a program, which ends.
    this.timeout(0)
    const others = engine === 'sqlite' ? OF_ACCOUNTS : `${OF_ACCOUNTS}|${INDEPENDENT_OF_ENGINE}`
    const { passes, failures } = app.reportSpecs('--grep', others, '--invert')
    expect(failures).to.deep.equal([])
    expect(passes).to.be.above(engine === 'sqlite' ? 220 : 150)
  })

  itOnce('has a spec of the isolation that notices a forgotten policy', function () {
    this.timeout(0)
    const file = 'dist/src/policies/customer.js'
    const compiled = app.read(file)
    app.write(file, compiled.replace('extends RolePolicy {', 'extends RolePolicy {\n scope() { return {} }'))
    const handlers = 'dist/src/actions/customers.js'
    const original = app.read(handlers)
    app.write(handlers, original.replace(', branch_id: branch.id }', ' }'))
    const { failures } = app.reportSpecs('--grep', 'The isolation of teams holds in GET .*customers/')
    app.write(file, compiled)
    app.write(handlers, original)
    expect(failures.join('\n')).to.include('/branches/{branch_id}/customers/{customer_id}')
  })

  itOnce('is taken back by kit destroy', () => company.expectDestroyed())
})

describeOnce('A generated team of an API', () => {
  const app = Application.api()

  after(() => app.remove())

  it('has specs that pass, with two roles', async function () {
    this.timeout(0)
    const resources = RESOURCES.filter(([name]) => ['customer', 'item', 'rental', 'note'].includes(name))
    const company = new Company(app, {}, {}, resources)
    expect(await app.unformatted()).to.deep.equal([])
    expect(app.compile()).to.deep.equal({ status: 0, output: '' })
    const { passes, failures } = app.reportSpecs('--grep', OF_ACCOUNTS, '--invert')
    expect(failures).to.deep.equal([])
    expect(passes).to.be.above(90)
    await company.expectDestroyed()
  })
})
