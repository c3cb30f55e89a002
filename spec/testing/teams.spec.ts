import { expect } from 'chai'
import { describeIsolation, describePolicy, signInFor } from '../../src/testing/index.js'
import { Company } from '../support/applications/company.js'
import { Branch, Customer, Membership, open, type Leak } from '../support/applications/teams.js'
import { newDatabase } from '../support/databases.js'
import { newId } from '../../src/models/ids.js'

/** A test that a function of `resource-kit/testing` has declared, and its result. */
interface Result {
  title: string
  failure?: string
  isSkipped?: true
}

/** Runs the tests that `declare` declares, instead of leaving them to mocha. */
async function runTests(declare: () => void, only = ''): Promise<Result[]> {
  const tests: { title: string; test: (this: object) => Promise<void> }[] = []
  const befores: (() => Promise<void>)[] = []
  const original = { describe: globalThis.describe, it: globalThis.it, before: globalThis.before }
  Object.assign(globalThis, {
    describe: (_title: string, inner: () => void) => inner(),
    it: (title: string, test: () => Promise<void>) => tests.push({ title, test }),
    before: (work: () => Promise<void>) => befores.push(work),
  })
  try {
    declare()
  } finally {
    Object.assign(globalThis, original)
  }
  for (const work of befores) await work()
  const results: Result[] = []
  for (const { title, test } of tests.filter((one) => one.title.endsWith(only))) {
    const result: Result = { title }
    const skip = () => {
      result.isSkipped = true
    }
    await test.call({ skip }).catch((error: Error) => (result.failure = error.message))
    results.push(result)
  }
  return results
}

describe('Specs of teams', () => {
  let company: Company

  beforeEach(async () => {
    company = await Company.open()
  })

  afterEach(() => company.close())

  describe('describePolicy()', () => {
    const policy = () =>
      company.made.policies['RentalPolicy'] as unknown as Parameters<typeof describePolicy>[0]

    it('accepts what the policy says', async () => {
      const results = await runTests(() =>
        describePolicy(policy(), { create: 'clerk', update: 'clerk', destroy: 'manager', publish: false }),
      )
      expect(results).to.deep.equal([
        { title: 'allows create from clerk up' },
        { title: 'allows update from clerk up' },
        { title: 'allows destroy from manager up' },
        { title: 'allows publish to nobody' },
      ])
    })

    it('shows both values where the policy says something else', async () => {
      const results = await runTests(() =>
        describePolicy(policy(), { create: 'viewer', update: false, destroy: 'owner' }),
      )
      expect(results.map(({ failure }) => failure)).to.deep.equal([
        'RentalPolicy.create is allowed to owner, manager, clerk, but the spec says owner, manager, clerk, viewer.',
        'RentalPolicy.update is allowed to owner, manager, clerk, but the spec says nobody.',
        'RentalPolicy.destroy is allowed to owner, manager, but the spec says owner.',
      ])
    })

    it('rejects what strangers and visitors may do', async () => {
      const branches = company.made.policies['BranchPolicy'] as unknown as Parameters<
        typeof describePolicy
      >[0]
      const [result] = await runTests(() =>
        describePolicy(branches, { create: 'viewer' }, () => Object.assign(new Branch(), { id: newId() })),
      )
      expect(result?.failure).to.equal(
        'BranchPolicy.create is allowed to owner, manager, clerk, viewer, the highest role of another team, but the ' +
          'spec says owner, manager, clerk, viewer.',
      )
    })
  })

  describe('signInFor()', () => {
    const { client } = { client: () => company.site }
    const roleOfClient = async (branch = company.branch) => {
      const memberships = await company.database.manager.find(Membership, { relations: { user: true } })
      const found = memberships.find(
        ({ user, branch_id }) =>
          branch_id === branch.id && client().bearer === company.bearers.get(user?.email ?? ''),
      )
      return found?.role
    }

    it('signs in the lowest role that may', async () => {
      const customer = await company.insert(Customer, { name: 'one', branch_id: company.branch.id })
      expect(await signInFor(client(), 'update', customer)).to.equal(true)
      expect(await roleOfClient()).to.equal('clerk')
      expect(await signInFor(client(), 'destroy', customer)).to.equal(true)
      expect(await roleOfClient()).to.equal('manager')
      const response = await client().delete(company.at(`/customers/${customer.id}`), { accept: 'json' })
      expect(response.status).to.equal(200)
    })

    it('signs in the highest role if nobody may', async () => {
      const customer = await company.insert(Customer, { name: 'one', branch_id: company.branch.id })
      expect(await signInFor(client(), 'publish', customer)).to.equal(false)
      expect(await roleOfClient()).to.equal('owner')
    })

    it('signs in anybody if everybody may', async () => {
      expect(await signInFor(client(), 'create', new Branch())).to.equal(true)
      const made = await client().post('/branches', { accept: 'json', json: { name: 'one' } })
      expect(made.status).to.equal(201)
    })

    it('says which helper is missing', async () => {
      delete client().people.makeUser
      const failure = await signInFor(client(), 'create', new Branch()).catch(String)
      expect(failure).to.equal(
        'Error: client.people has no makeUser. Set it in spec/support: Object.assign(client.people, { makeUser }).',
      )
    })
  })

  describe('describeIsolation()', () => {
    const failures = async (route: string) => {
      const results = await runTests(() => describeIsolation(company.site), route)
      return results.flatMap(({ failure }) => failure ?? [])
    }

    it('finds nothing in an application that tells nothing, and fills its routes', async () => {
      const results = await runTests(() => describeIsolation(company.site))
      expect(results.filter(({ failure }) => failure)).to.deep.equal([])
      expect(results.length).to.be.above(25)
      expect(results.filter(({ isSkipped }) => isSkipped).map(({ title }) => title)).to.deep.equal([])
    })

    const leaks: Record<Leak, [route: string, leak: RegExp]> = {
      choices: ['GET /branches/{branch_id}/rentals/new', /It shows "name/],
      sql: ['GET /branches/{branch_id}/customers/export', /It shows "name/],
      export: ['GET /branches/{branch_id}/customers/export', /It shows "name/],
      include: ['GET /branches/{branch_id}/rentals', /It shows "serial/],
      bulk: ['POST /branches/{branch_id}/customers/archive', /It changes records of another team/],
    }
    for (const [leak, [route, message]] of Object.entries(leaks))
      it(`finds what another team has in ${leak}`, async () => {
        expect(await failures(route)).to.deep.equal([])
        company.made.leak = leak as Leak
        const [failure] = await failures(route)
        expect(failure).to.match(message)
      })

    it('also finds what a route without a resource tells', async () => {
      await company.close()
      company = await Company.open({}, (app) => {
        app.get('/branches/{branch_id}/report', async (ctx) => {
          await ctx.find(Branch, ctx.params['branch_id'])
          ctx.body = { names: (await ctx.tx.find(Customer)).map(({ name }) => name) }
        })
      })
      const [failure] = await failures('GET /branches/{branch_id}/report')
      expect(failure).to.match(/It shows "name/)
    })

    it('finds a unique index over all teams', async () => {
      const route = 'POST /branches/{branch_id}/items'
      await company.close()
      const database = await open(await newDatabase())
      await database.migrate()
      await database.query('CREATE UNIQUE INDEX serials ON items (serial)')
      company = await Company.open({}, undefined, database)
      const [failure] = await failures(route)
      expect(failure).to.match(/A value that another team has gets \d+, and a new one 201\./)
    })
  })
})
