import 'reflect-metadata'
import { rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { Column, Entity, Index, JoinColumn, ManyToOne, type Relation } from 'typeorm'
import { authenticate, issueToken, passwordStamp, requireUser, type ApiToken } from '../../src/auth/index.js'
import {
  App,
  BaseResource,
  Database,
  Model,
  nothing,
  Parent,
  Policy,
  Resource,
  transaction,
  Within,
  type Context,
} from '../../src/index.js'
import { teamMembers } from '../../src/teams/index.js'
import { LoadProcess } from '../shared/load-process.js'
import { machine } from '../shared/machine.js'
import { median } from '../shared/statistics.js'

/**
 * npm run bench:teams: the same list of 20 records, and the same create with two references, in a team and of one user.
 *
 *     npm run bench:teams                              on SQLite
 *     DATABASE_URL=postgres://127.0.0.1/bench npm run bench:teams -- --rounds 5
 */
const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '15' }, requests: { type: 'string', default: '1000' } },
})
const [rounds, requests] = [Number(options.rounds), Number(options.requests)]
const file = '/tmp/kit-bench-teams.sqlite'
process.env['SESSION_SECRET'] ??= 'a secret of a benchmark that signs nothing'

@Entity('bench_users')
class User extends Model {
  @Column('varchar') email!: string
  @Column('varchar') password_hash = ''
}

@Entity('bench_tokens')
class Token extends Model implements ApiToken {
  @Column('uuid') user_id!: string
  @Column('varchar', { unique: true }) secret_hash!: string
  @Column('varchar') stamp!: string
  @Column({ type: Date }) expires_at!: Date
  @Column({ type: Date, nullable: true }) last_used_at!: Date | null
}

/** A branch belongs to a user, or is a team. */
@Entity('bench_branches')
class Branch extends Model {
  @Column('varchar') name!: string
  @Column('uuid') user_id!: string
}

abstract class InBranch extends Model {
  @Column('uuid') branch_id!: string

  @ManyToOne(() => Branch)
  @JoinColumn({ name: 'branch_id' })
  branch?: Relation<Branch>
}

@Entity('bench_memberships')
@Within('branch')
@Index(['user_id'])
class Membership extends InBranch {
  @Column('uuid') user_id!: string
  @Column('varchar') role!: string

  @ManyToOne(() => User)
  @JoinColumn({ name: 'user_id' })
  user?: Relation<User>
}

@Entity('bench_invitations')
@Within('branch')
class Invitation extends InBranch {
  @Column('varchar') email!: string
  @Column('varchar') role!: string
  @Column('varchar') token_hash!: string
  @Column({ type: Date }) expires_at!: Date
  @Column('uuid', { nullable: true }) inviter_id!: string | null
}

/** Customers and rentals are in a branch, and belong to a user. A policy reads one of both. */
@Entity('bench_customers')
@Index(['branch_id'])
@Index(['user_id'])
class Customer extends InBranch {
  @Column('varchar') name!: string
  @Column('uuid') user_id!: string
}

@Entity('bench_rentals')
class Rental extends InBranch {
  @Column('varchar') number!: string
  @Column('uuid') user_id!: string
  @Column('uuid') customer_id!: string
  @Column('uuid') payer_id!: string

  @ManyToOne(() => Customer)
  @JoinColumn({ name: 'customer_id' })
  customer?: Relation<Customer>

  @ManyToOne(() => Customer)
  @JoinColumn({ name: 'payer_id' })
  payer?: Relation<Customer>
}

class OwnPolicy extends Policy<Branch> {
  override scope(user?: User) {
    return user ? { user_id: user.id } : nothing
  }
  create() {
    return true
  }
  update() {
    return true
  }
}

type Kind = 'of a user' | 'below a branch of a user' | 'in a team'

/** The application of `--owner user`, of `--parent branch`, or of `--owner branch`. */
function applicationOf(kind: Kind, database: Database): App {
  const branches = teamMembers(database, {
    team: Branch,
    membership: Membership,
    invitation: Invitation,
    roles: ['owner', 'clerk'],
  })
  class MemberPolicy extends branches.RolePolicy<Customer> {
    create(user: User | undefined, record: Customer) {
      return this.atLeast('clerk', user, record)
    }
  }
  const policyOf = {
    'of a user': OwnPolicy,
    'below a branch of a user': undefined,
    'in a team': MemberPolicy,
  }
  const policy = policyOf[kind] as typeof OwnPolicy | undefined
  const own = { ...(policy && { policy }) }

  @Resource('/branches', {
    model: Branch,
    policy: (kind === 'in a team' ? MemberPolicy : OwnPolicy) as never,
  })
  class BranchesResource extends BaseResource {}

  /** The keys of records: the user, or the branch in the path. Without a policy of records, a change asks that of the branch. */
  const keysOf = async (ctx: Context, ability?: string) => {
    if (kind === 'of a user') return { user_id: userOf(ctx).id }
    const found = await ctx.find(Branch, ctx.params['branch_id'])
    if (ability && !policy) await ctx.authorize(found, ability)
    return { branch_id: found.id }
  }

  @Resource('/customers', { model: Customer, ...(own as object) })
  class CustomersResource extends BaseResource {
    override async list(ctx: Context) {
      const { records } = await ctx.paginate(Customer, { where: await keysOf(ctx) })
      return ctx.respond({ data: records })
    }
  }

  @Resource('/rentals', { model: Rental, fields: ['number', 'customer_id', 'payer_id'], ...(own as object) })
  class RentalsResource extends BaseResource {
    override async create(ctx: Context) {
      const values = { branch_id: branch.id, user_id: userOf(ctx).id, ...(await keysOf(ctx, 'update')) }
      const rental = Object.assign(new Rental(), values)
      const errors = await ctx.save(ctx.bind(policy ? await ctx.authorize(rental) : rental))
      return errors ? ctx.respond(errors) : ctx.respond(201, { data: rental })
    }
  }

  if (kind !== 'of a user')
    for (const resource of [CustomersResource, RentalsResource]) Parent(BranchesResource)(resource)
  const app = new App({ env: 'production', api: true, logger: pino({ enabled: false }) })
  app.use(authenticate(database, User, { tokens: Token }))
  if (kind === 'in a team') app.use(branches)
  app.use(transaction(database, { checksMigrations: false }))
  app.use(requireUser())
  for (const resource of [BranchesResource, CustomersResource, RentalsResource]) app.resource(resource)
  return app
}

function userOf(ctx: Context): User {
  return Reflect.get(ctx, 'user') as unknown as User
}

rmSync(file, { force: true })
const url = process.env['DATABASE_URL'] ?? `sqlite:${file}`
const models = [User, Token, Branch, Membership, Invitation, Customer, Rental]
const open = () => new Database({ bench: { url, logging: false }, models }, 'bench').open()
const database = await open()
await database.synchronize(true)
const { manager } = database
const user = await manager.save(Object.assign(new User(), { email: 'ada@example.com' }))
const token = Object.assign(new Token(), { last_used_at: new Date() })
const bearer = issueToken(token, user)
await manager.save(Object.assign(token, { stamp: passwordStamp(user) }))
const branch = await manager.save(Object.assign(new Branch(), { name: 'Berlin', user_id: user.id }))
const keys = { branch_id: branch.id, user_id: user.id }
await manager.save(Object.assign(new Membership(), { ...keys, role: 'owner' }))
const customers = Array.from({ length: 1000 }, (_, n) =>
  Object.assign(new Customer(), { name: `Customer ${n}`, ...keys }),
)
for (let first = 0; first < 1000; first += 100)
  await manager.insert(Customer, customers.slice(first, first + 100))

/** One application each, because the policy of a model is the same in all resources. */
const kinds: Kind[] = ['of a user', 'below a branch of a user', 'in a team']
const applications = await Promise.all(
  kinds.map(async (kind) => {
    const own = await open()
    const app = applicationOf(kind, own)
    const origin = String(await app.listen(0))
    const at = kind === 'of a user' ? '' : `/branches/${branch.id}`
    return { own, app, origin, at, list: [] as number[], create: [] as number[] }
  }),
)
const load = new LoadProcess()
const body = JSON.stringify({ number: '1', customer_id: customers[0]?.id, payer_id: customers[1]?.id })
const headers = {
  authorization: `Bearer ${bearer}`,
  accept: 'application/json',
  'content-type': 'application/json',
}
const calls = { list: ['GET', '/customers', 200], create: ['POST', '/rentals', 201] } as const

/** The microseconds of CPU time of a request in this process. The client is in another one. */
async function measure({ origin, at }: (typeof applications)[0], what: keyof typeof calls): Promise<number> {
  const [method, path, status] = calls[what]
  const call = { method, path: at + path, headers, ...(method === 'POST' && { body }) }
  const from = process.cpuUsage()
  await load.run({ origin, connections: 8, amount: requests, requests: [call], status })
  const { user: own, system } = process.cpuUsage(from)
  return (own + system) / requests
}

// Two more rounds, until V8 has compiled the code.
for (let round = -2; round < rounds; round += 1)
  for (const application of applications)
    for (const what of ['list', 'create'] as const) {
      const time = await measure(application, what)
      if (round >= 0) application[what].push(time)
    }
load.stop()
for (const { app, own } of applications) {
  await app.close()
  await own.close()
}
await database.close()

const [first] = applications
console.log(`${JSON.stringify(machine())}, ${rounds} rounds of ${requests} requests, medians`)
for (const [index, application] of applications.entries())
  for (const what of ['list', 'create'] as const) {
    const ratio = median(application[what].map((time, round) => time / (first?.[what][round] ?? Number.NaN)))
    const time = median(application[what]).toFixed(0)
    console.log(`${what.padEnd(6)} ${kinds[index]?.padEnd(24)} ${time} µs, ${ratio.toFixed(2)} of the first`)
  }
