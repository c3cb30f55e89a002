import { pino } from 'pino'
import { expect } from 'chai'
import { Column, Entity, JoinColumn, ManyToOne, type Relation } from 'typeorm'
import {
  App,
  BaseResource,
  Database,
  Model,
  Resource,
  transaction,
  type Context,
  type Middleware,
} from '../../../src/index.js'
import { authenticate } from '../../../src/auth/index.js'
import { teamMembers, type TeamMembers } from '../../../src/teams/index.js'
import { Company } from '../../support/applications/company.js'
import {
  Branch,
  Customer,
  Invitation,
  Item,
  Line,
  Membership,
  Rental,
  roles,
  teamsDatabase,
  Token,
  User,
} from '../../support/applications/teams.js'
import { newDatabase } from '../../support/databases.js'

@Entity('users')
class Stranger extends Model {
  @Column('varchar') email!: string
}

@Entity('customers')
class Guest extends Model {
  @Column('uuid') branch_id!: string

  @ManyToOne(() => Branch)
  @JoinColumn({ name: 'branch_id' })
  branch?: Relation<Branch>
}

/** Returns the statements of some work. */
async function statementsOf(database: Database, work: () => Promise<unknown>): Promise<string[]> {
  const { logger } = database
  const statements: string[] = []
  database.logger = Object.assign(Object.create(logger), {
    logQuery: (sql: string) => void statements.push(sql),
  })
  try {
    await work()
    return statements
  } finally {
    database.logger = logger
  }
}

describe('teamMembers()', () => {
  const models = { team: Branch, membership: Membership, invitation: Invitation }

  describe('at the start', () => {
    let database: Database

    beforeEach(async () => {
      database = await teamsDatabase()
    })

    afterEach(() => database.close())

    /** Starts an application whose resource has a policy, and returns the message of the error. */
    async function start(
      model: new () => Model,
      uses: (branches: Middleware) => Middleware[],
      branches: TeamMembers = teamMembers(database, { ...models, roles }) as never,
    ): Promise<string | undefined> {
      class RecordPolicy extends branches.RolePolicy<Model> {
        update(user: User | undefined, record: Model) {
          return this.atLeast('clerk', user, record)
        }
      }
      @Resource('/records', { model, policy: RecordPolicy, fields: [] })
      class RecordsResource extends BaseResource {
        override async list(ctx: Context) {
          return ctx.respond({ data: [] })
        }
      }
      const app = new App({ logger: pino({ level: 'silent' }) })
      app.use(transaction(database))
      app.use(authenticate(database, User, { tokens: Token }))
      for (const middleware of uses(branches)) app.use(middleware)
      app.resource(RecordsResource)
      const failure = await app.start().then(
        () => undefined,
        (error: Error) => error.message,
      )
      await app.close().catch(() => undefined)
      return failure
    }

    it('accepts the middleware above a resource whose model has the key, or is the team', async () => {
      expect(await start(Customer, (branches) => [branches])).to.equal(undefined)
    })

    it('accepts the team itself', async () => {
      expect(await start(Branch, (branches) => [branches])).to.equal(undefined)
    })

    it('rejects a policy without the middleware', async () => {
      expect(await start(Customer, () => [])).to.equal(
        'RecordPolicy of RecordsResource.list needs the roles of the user, which the middleware of teamMembers() reads. ' +
          'Declare it above the resource, below authenticate(): app.use(branches).',
      )
    })

    it('rejects a policy of a model without the key', async () => {
      expect(await start(Line, (branches) => [branches])).to.equal(
        'RecordPolicy extends RolePolicy, but a Line has no "branch_id", so it belongs to no Branch. Add the key, or ' +
          'extend Policy.',
      )
    })

    it('rejects roles that are too few, or twice in the list', () => {
      for (const wrong of [['owner'], [], ['owner', 'owner'], ['owner', 'clerk', 'owner']])
        expect(() => teamMembers(database, { ...models, roles: wrong as never })).to.throw(
          `The roles of teamMembers() are ${wrong.join(', ')}. Name at least two different ones, the highest first.`,
        )
    })

    it('rejects a malformed time', () => {
      expect(() => teamMembers(database, { ...models, roles, expires: 'soon' as never })).to.throw(/expires/)
    })

    it('rejects memberships without a relation to the team', async () => {
      const branches = teamMembers(database, { ...models, team: Stranger, roles }) as never
      expect(await start(Customer, () => [branches], branches)).to.equal(
        'teamMembers() needs the user and the team of a Membership, but Membership has no relation to Stranger. Add a ' +
          '@ManyToOne relation with its key.',
      )
      const url = await newDatabase()
      const own = await new Database({ test: { url }, models: [Branch, Guest] }, 'test').open()
      const others = teamMembers(own, { ...models, membership: Guest as never, roles }) as never
      const failure = await start(Customer, () => [others], others).finally(() => own.close())
      expect(failure).to.contain('Guest has no relation with the key "user_id".')
    })

    it('rejects a role that is not in the list, when it is asked for', () => {
      const branches = teamMembers(database, { ...models, roles })
      class WrongPolicy extends branches.RolePolicy<Customer> {
        update(user: User, customer: Customer) {
          // @ts-expect-error the compiler knows the roles
          return this.atLeast('boss', user, customer)
        }
      }
      expect(() => new WrongPolicy().update(new User(), new Customer())).to.throw(
        'WrongPolicy asks for the role "boss", but the roles are owner, manager, clerk, viewer.',
      )
    })
  })

  describe('in a request', () => {
    let company: Company

    beforeEach(async () => {
      company = await Company.open()
    })

    afterEach(() => company.close())

    it('reads the roles by one statement, and by none for visitors', async () => {
      const reads = async (user?: { bearer: string }) =>
        (
          await statementsOf(company.database, () => company.send(user, 'GET', company.at('/customers')))
        ).filter((sql) => sql.includes('memberships'))
      expect(await reads(company.owner)).to.have.length(1)
      expect(await reads(company.stranger)).to.have.length(1)
      expect(await reads()).to.have.length(0)
    })

    it('shows a list by one statement more than without teams', async () => {
      await company.makeBranch('Bonn', company.owner)
      const statements = await statementsOf(company.database, () =>
        company.send(company.owner, 'GET', company.at('/customers')),
      )
      const tables = statements.flatMap(
        (sql) => /^SELECT .*? FROM .(?:.*?FROM .)?(\w+)/s.exec(sql)?.[1] ?? [],
      )
      expect(tables.filter((name) => name !== 'customers')).to.deep.equal([
        'tokens',
        'users',
        'memberships',
        'branches',
      ])
      // The branch of the path is one of the user's, so its id is the only condition, for which there are cached statements.
      expect(statements.filter((sql) => / IN \(/.test(sql))).to.deep.equal([])
    })

    it('fails if the handler does not ask the policy', async () => {
      const member = await company.makeMember('clerk')
      company.made.forgets = true
      const path = company.at(`/memberships/${member.membership.id}`)
      expect((await company.send(company.owner, 'DELETE', path)).status).to.equal(500)
      expect(
        (await company.send(company.owner, 'PATCH', path, { json: { role: 'viewer' } })).status,
      ).to.equal(500)
      const json = { email: 'new@example.com', role: 'viewer' }
      expect(
        (await company.send(company.owner, 'POST', company.at('/invitations'), { json })).status,
      ).to.equal(500)
      expect(await company.roleOf(member)).to.equal('clerk')
      expect(await company.database.manager.countBy(Invitation, {})).to.equal(0)
    })

    it('leaves references of other models to the rules of @Within', async () => {
      const bonn = await company.makeBranch('Bonn', company.stranger)
      const theirs = await company.insert(Customer, { name: 'theirs', branch_id: bonn.id })
      const item = await company.insert(Item, { serial: '1', branch_id: bonn.id })
      const ours = await company.insert(Customer, { name: 'ours', branch_id: company.branch.id })
      const create = (json: object) => company.send(company.owner, 'POST', company.at('/rentals'), { json })
      expect((await create({ number: '1', customer_id: theirs.id })).status).to.equal(422)
      expect((await create({ number: '1', customer_id: ours.id, item_ids: [item.id] })).status).to.equal(422)
      expect(await company.database.manager.countBy(Rental, {})).to.equal(0)
    })
  })
})
