import { expect } from 'chai'
import { rmSync } from 'node:fs'
import { authActions, type AuthOptions } from '../../../src/generator/auth-generator.js'
import { destroy, generate } from '../../../src/generator/files/files.js'
import { jobActions } from '../../../src/generator/job-generator.js'
import { migrationActions } from '../../../src/generator/migration-generator.js'
import { resourceActions, resourceDestruction } from '../../../src/generator/resource-generator.js'
import type { ResourceArguments } from '../../../src/generator/arguments/command-line.js'
import { teamActions, teamDestruction, type TeamArguments } from '../../../src/generator/team-generator.js'
import { Application, INDEPENDENT_OF_ENGINE, withFilledBranch } from '../../support/applications/generated.js'
import { newDatabase } from '../../support/databases.js'
import { codeBlocks } from '../../support/documentation/code-blocks.js'
import { describeOnce, engine, itOnce } from '../../support/engine.js'
import { kit } from '../../support/kit.js'

const own = { owner: 'branch' }

/** The resources of a rental company, in the order in which they are generated. */
const RESOURCES: [name: string, attributes: string[], options: ResourceArguments][] = [
  [
    'customer',
    ['name', 'photo:file', 'papers:files'],
    { ...own, search: 'name', history: true, trash: true, csv: true, import: true, bulk: 'destroy' },
  ],
  ['item', ['name', 'serial:string:unique'], { ...own, import: 'serial' }],
  [
    'rental',
    ['number', 'customer:references', 'items:many', 'assignee:nulls.References:user'],
    {
      ...own,
      route: ['return:post', 'import:post:collection'],
      filter: 'customer,assignee',
      sort: 'number',
      nested: ['rental_line item:references quantity:int'],
    },
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
    const team = { roles: 'owner,manager,clerk,viewer', write: 'clerk', locking: true, history: true }
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

  itOnce('is documented, with its members and invitations, and without the hash of a link', async () => {
    const { output, errors } = await kit(app.folder, ['openapi'], { env: app.environment })
    expect(output, errors).to.match(/^\{/)
    const { paths, components } = JSON.parse(output)
    const statuses = (method: string, path: string) => Object.keys(paths[path][method].responses)
    const [members, invitations] = ['memberships', 'invitations'].map(
      (name) => `/branches/{branch_id}/${name}`,
    )
    expect(statuses('post', String(invitations))).to.include.members(['201', '403', '404', '422', '429'])
    expect(statuses('delete', `${invitations}/{invitation_id}`)).to.include.members(['200', '403', '404'])
    expect(statuses('get', String(members))).to.include.members(['200', '404'])
    for (const method of ['patch', 'delete'])
      expect(statuses(method, `${members}/{membership_id}`)).to.include.members(['200', '403', '404', '409'])
    expect(statuses('put', '/invitation')).to.include.members(['200', '403', '410', '422'])
    expect(statuses('delete', '/branches/{branch_id}')).to.include.members(['403', '404', '409', '422'])
    expect(Object.keys(components.schemas.Membership.properties)).to.include.members(['role', 'user_id'])
    expect(Object.keys(components.schemas.Invitation.properties)).to.include('email')
    expect(output).to.not.include('token_hash')
  })

  itOnce('has a spec of the isolation that notices a forgotten policy', function () {
    this.timeout(0)
    const file = 'dist/src/policies/customer.js'
    const compiled = app.read(file)
    app.write(file, compiled.replace('extends RolePolicy {', 'extends RolePolicy {\n scope() { return {} }'))
    const handlers = 'dist/src/actions/customers.js'
    const original = app.read(handlers)
    app.write(handlers, original.replaceAll(', branch_id: branch.id }', ' }'))
    const { failures } = app.reportSpecs('--grep', 'The isolation of teams holds in .*customers/')
    app.write(file, compiled)
    app.write(handlers, original)
    for (const route of ['{customer_id}:', 'history:', 'restore:', 'purge:', 'files/{stored_file_id}:'])
      expect(failures.join('\n')).to.include(route)
  })

  itOnce(
    'names no token of an invitation in its log, in pages of errors, and in responses to others',
    function () {
      this.timeout(0)
      app.write('dist/spec/link.spec.js', SECRET_LINK)
      app.environment['LOG_LEVEL'] = 'trace'
      const { status, output } = app.runSpecs('dist/spec/link.spec.js')
      app.environment['LOG_LEVEL'] = 'silent'
      const tokens = JSON.parse(app.read('dist/tokens.json')) as string[]
      app.delete('dist/spec/link.spec.js')
      expect(output).to.include('GET /invitation 200').and.include('GET /invitation/open/[FILTERED] 303')
      expect(output).to.include('GET /invitation 410').and.include('GET /invitation 500')
      expect(tokens).to.have.length(2)
      for (const token of tokens) expect(output).to.not.include(token)
      expect(status, output).to.equal(0)
    },
  )

  /** Runs some specs of the application, with changes of compiled files, and returns what fails. */
  function failuresAfter(changes: Record<string, (code: string) => string>, specs: string): string[] {
    const compiled = Object.keys(changes).map((path) => [path, app.read(path)] as const)
    for (const [path, code] of compiled) {
      const changed = changes[path]?.(code) ?? code
      expect(changed, path).to.not.equal(code)
      app.write(path, changed)
    }
    const { failures } = app.reportSpecs('--grep', specs)
    for (const [path, code] of compiled) app.write(path, code)
    return failures
  }

  itOnce(
    'has specs of handlers that stay right without @Within, and when a policy allows nothing',
    function () {
      this.timeout(0)
      const withoutIt = (code: string) => code.replaceAll(/^ *Within\('branch'\),?\n/gm, '')
      const allowNothing = (code: string) =>
        code
          .replaceAll(/return this\.atLeast\([^;]*\)/g, 'return false')
          .replace(
            'destroy(',
            "archive(user, rental) { return this.atLeast('owner', user, rental) }\n destroy(",
          )
      const failures = failuresAfter(
        { 'dist/src/models/rental.js': withoutIt, 'dist/src/policies/rental.js': allowNothing },
        'Rental|Note|isolation of teams holds in .*/rentals',
      )
      expect(failures).to.have.length(5)
      for (const failure of failures) expect(failure).to.match(/^RentalPolicy allows \w+ from \w+ up: /)
    },
  )

  itOnce('has specs that fail without one ctx.authorize, and without the roles', function () {
    this.timeout(0)
    const withoutCalls = (code: string) => code.replaceAll(/await ctx\.authorize\(.*?\);/g, '')
    const handlers = ['new', 'edit', 'create', 'update', 'destroy', 'return', 'import']
    const specs = 'RentalsResource handlers .* returns 403 to roles'
    const failures = failuresAfter({ 'dist/src/actions/rentals.js': withoutCalls }, specs)
    expect(failures.map((failure) => /, which the policy refuses/.test(failure))).to.deep.equal(
      handlers.map(() => true),
    )
    const withoutRoles = (code: string) => code.replace('app.use(branches);', '')
    const [start] = failuresAfter({ 'dist/src/app.js': withoutRoles }, specs)
    expect(start).to.include('Declare it above the resource, below authenticate(): app.use(branches).')
  })

  itOnce('is taken back by kit destroy', () => company.expectDestroyed())
})

/** A spec that opens an invitation in all ways: one that is open, one that is forged, and one while the database fails. */
const SECRET_LINK = `
import { expect } from 'chai'
import { writeFileSync } from 'node:fs'
import { mails } from 'resource-kit/mail'
import { branches } from '../src/branches.js'
import { client, isolate } from './support/app.js'
import { makeBranch, makeMember } from './support/branches.js'
import { signIn, signOut } from './support/users.js'

describe('The link of an invitation', () => {
  isolate()

  it('is secret', async () => {
    const branch = await makeBranch()
    await signIn(client, await makeMember(branch, 'owner'))
    const json = { email: 'invited@example.com', role: 'viewer' }
    const made = await client.post('/branches/' + branch.id + '/invitations', { json, accept: 'json' })
    const page = await client.get('/branches/' + branch.id + '/invitations')
    await signOut(client)
    const [, token] = /open\\/(\\S+)/.exec(mails.last.text)
    const tokens = [token, token.slice(0, 32) + 'f'.repeat(43)]
    writeFileSync('dist/tokens.json', JSON.stringify(tokens))
    const texts = [made.text, page.text]
    const visit = async (token) => {
      for (const [path, accept] of [
        ['/invitation/open/' + token, 'html'],
        ['/invitation', 'html'],
        ['/invitation?token=' + token, 'html'],
        ['/invitation?token=' + token, 'json'],
        ['/invitation?token=' + token, 'xml'],
      ])
        texts.push((await client.get(path, { accept })).text)
      await client.get('/session/new')
      texts.push((await client.put('/invitation', { json: { token, password: 'x' }, accept: 'json' })).text)
      texts.push((await client.post('/invitation', { form: { _method: 'PUT', token } })).text)
    }
    for (const token of tokens) await visit(token)
    const { invitation } = branches
    branches.invitation = () => {
      throw new Error('The database fails.')
    }
    await visit(token)
    branches.invitation = invitation
    for (const token of tokens) for (const text of texts) expect(text.includes(token)).to.equal(false)
  })
})
`

describeOnce('A generated team of an API', () => {
  const app = Application.api()
  let company: Company

  after(() => app.remove())

  /** Takes back what a recipe has added. */
  function restore(before: Record<string, string>): void {
    rmSync(app.path('node_modules'), { force: true })
    for (const [path, text] of Object.entries(app.tree()))
      if (!(path in before)) rmSync(app.path(path), { recursive: true, force: true })
      else if (before[path] !== text) app.write(path, before[path] ?? '')
  }

  it('has specs that pass, with two roles', async function () {
    this.timeout(0)
    const resources = RESOURCES.filter(([name]) => ['customer', 'item', 'rental', 'note'].includes(name))
    company = new Company(app, {}, {}, resources)
    expect(await app.unformatted()).to.deep.equal([])
    expect(app.compile()).to.deep.equal({ status: 0, output: '' })
    const { passes, failures } = app.reportSpecs('--grep', OF_ACCOUNTS, '--invert')
    expect(failures).to.deep.equal([])
    expect(passes).to.be.above(90)
  })

  it('has a branch in a finished resource, as the handbook says', function () {
    this.timeout(0)
    rmSync(app.path('node_modules'), { force: true })
    const before = app.tree()
    const supplier = { attributes: ['name'] }
    generate(app.folder, resourceActions(app.folder, 'supplier', supplier))
    generate(app.folder, migrationActions(app.folder, 'add_branch_to_suppliers', ['branch:references']))
    const [migration = ''] = Object.keys(app.tree()).filter((path) =>
      path.includes('add_branch_to_suppliers'),
    )
    app.write(migration, withFilledBranch(app.read(migration)))
    const again = { ...supplier, ...own, skipMigration: true }
    generate(app.folder, resourceActions(app.folder, 'supplier', again), { force: true })
    expect(app.compile()).to.deep.equal({ status: 0, output: '' })
    const { passes, failures } = app.reportSpecs('--grep', 'Supplier|suppliers')
    expect(failures).to.deep.equal([])
    expect(passes).to.be.above(20)
    restore(before)
  })

  it('has a branch with a short address, counts by SQL, and a job that deletes it, as the handbook says', function () {
    this.timeout(0)
    rmSync(app.path('node_modules'), { force: true })
    const before = app.tree()
    const codeOf = (part: string) =>
      codeBlocks().find(({ page, code }) => page === 'docs/teams.md' && code.includes(part))?.code ?? ''
    generate(app.folder, migrationActions(app.folder, 'add_slug_to_branches', ['slug:string:unique']))
    generate(app.folder, jobActions(app.folder, 'delete_branch'))
    app.write('src/jobs/delete_branch.ts', codeOf('class DeleteBranch'))
    const model = 'src/models/branch.ts'
    const slug = "  @Column('varchar')\n  slug!: string\n\n"
    app.write(model, app.read(model).replace(/^ +@Column\(/m, `${slug}$&`))
    const routes = ['/b/{slug}', '/rental-counts'].map(codeOf)
    const found = "import { Branch } from './models/branch.js'\n"
    app.write('src/app.ts', [found, app.read('src/app.ts'), ...routes].join('\n'))
    app.write('spec/jobs/delete_branch.spec.ts', RECIPES)
    expect(app.compile()).to.deep.equal({ status: 0, output: '' })
    const { passes, failures } = app.reportSpecs('dist/spec/jobs/delete_branch.spec.js')
    expect(failures).to.deep.equal([])
    expect(passes).to.equal(2)
    restore(before)
  })

  it('is taken back by kit destroy', () => company.expectDestroyed())
})

/** A spec of what the recipes of docs/teams.md add to an application. */
const RECIPES = `
import { expect } from 'chai'
import { database } from '../../src/database.js'
import { jobs } from '../../src/jobs.js'
import { DeleteBranch } from '../../src/jobs/delete_branch.js'
import { Branch } from '../../src/models/branch.js'
import { Rental } from '../../src/models/rental.js'
import { client, factory, isolate } from '../support/app.js'
import { makeBranch, makeMember } from '../support/branches.js'
import { makeUser, signIn } from '../support/users.js'

describe('The recipes', () => {
  isolate()

  it('find a branch by its slug, and count its rentals, for members alone', async () => {
    const [berlin, bonn] = [await makeBranch({ slug: 'berlin' }), await makeBranch({ slug: 'bonn' })]
    const rental = await factory.make(Rental, { branch_id: berlin.id })
    await factory.make(Rental, { branch_id: bonn.id })
    const counts = \`/branches/\${berlin.id}/rental-counts\`
    await signIn(client, await makeMember(berlin))
    expect((await client.get('/b/berlin')).location).to.equal(\`/branches/\${berlin.id}\`)
    const [count, ...others] = (await client.get(counts)).json
    expect(others).to.deep.equal([])
    expect({ ...count, count: Number(count.count) }).to.deep.equal({ customer_id: rental.customer_id, count: 1 })
    await signIn(client, await makeUser())
    for (const path of ['/b/berlin', counts]) expect((await client.get(path)).status).to.equal(404)
  })

  it('delete a branch with its records, and no other', async () => {
    const [berlin, bonn] = [await makeBranch(), await makeBranch()]
    for (const { id } of [berlin, berlin, bonn]) await factory.make(Rental, { branch_id: id })
    const { manager } = database
    await jobs.enqueue(manager, DeleteBranch, { branch_id: berlin.id })
    await jobs.drain()
    expect(await manager.findBy(Branch, { id: berlin.id })).to.deep.equal([])
    expect(await manager.countBy(Rental, {})).to.equal(1)
  })
})
`
