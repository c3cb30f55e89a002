import { pino } from 'pino'
import {
  Column,
  DeleteDateColumn,
  Entity,
  Index,
  JoinColumn,
  JoinTable,
  ManyToMany,
  ManyToOne,
  Table,
  TableForeignKey,
} from 'typeorm'
import type { MigrationInterface, QueryRunner, Relation } from 'typeorm'
import { Exclude } from 'class-transformer'
import {
  App,
  BaseResource,
  column,
  Database,
  idempotency,
  idempotencyKeysTable,
  Model,
  nothing,
  Parent,
  Policy,
  Present,
  primaryKey,
  Queryable,
  RelationIds,
  Resource,
  Route,
  timestamps,
  transaction,
  Within,
  type AppOptions,
  type Context,
  type PolicyClass,
} from '../../../src/index.js'
import {
  authenticate,
  issueToken,
  passwordStamp,
  requireUser,
  type ApiToken,
} from '../../../src/auth/index.js'
import { jobQueue, jobTables, type JobContext, Job } from '../../../src/jobs/index.js'
import { teamMembers } from '../../../src/teams/index.js'
import { databaseWithTables } from '../databases.js'

/** A rental company with branches, as `kit generate team` writes it, with the least of pages. */

@Entity('users')
export class User extends Model {
  @Column('varchar') email!: string
  @Column('varchar') @Exclude() password_hash = ''
  @Column('boolean') admin = false
}

@Entity('tokens')
export class Token extends Model implements ApiToken {
  @Column('uuid') user_id!: string
  @Column('uuid', { nullable: true }) branch_id?: string | null
  @Column('varchar') @Exclude() secret_hash!: string
  @Column('varchar') @Exclude() stamp!: string
  @Column({ type: Date }) expires_at!: Date
  @Column({ type: Date, nullable: true }) last_used_at!: Date | null

  @ManyToOne(() => Branch)
  @JoinColumn({ name: 'branch_id' })
  branch?: Relation<Branch> | null
}

@Entity('branches')
export class Branch extends Model {
  @Column('varchar') @Present() name!: string
}

@Entity('memberships')
@Within('branch')
export class Membership extends Model {
  @Column('uuid') branch_id!: string
  @Column('uuid') user_id!: string
  @Column('varchar') role!: string

  @ManyToOne(() => Branch)
  @JoinColumn({ name: 'branch_id' })
  branch?: Relation<Branch>

  @ManyToOne(() => User)
  @JoinColumn({ name: 'user_id' })
  user?: Relation<User>
}

@Entity('invitations')
@Within('branch')
export class Invitation extends Model {
  @Column('uuid') branch_id!: string
  @Column('varchar') @Present() email!: string
  @Column('varchar') role!: string
  @Column('varchar') @Exclude() token_hash!: string
  @Column({ type: Date }) expires_at!: Date
  @Column('uuid', { nullable: true }) inviter_id!: string | null

  @ManyToOne(() => Branch)
  @JoinColumn({ name: 'branch_id' })
  branch?: Relation<Branch>

  @ManyToOne(() => User)
  @JoinColumn({ name: 'inviter_id' })
  inviter?: Relation<User> | null
}

@Entity('customers')
@Index(['branch_id', 'name'], { unique: true })
@Within('branch')
export class Customer extends Model {
  @Column('varchar') @Present() name!: string
  @Column('uuid') branch_id!: string

  @ManyToOne(() => Branch)
  @JoinColumn({ name: 'branch_id' })
  branch?: Relation<Branch>
}

@Entity('items')
@Index(['branch_id', 'serial'], { unique: true })
@Within('branch')
export class Item extends Model {
  @Column('varchar') @Present() serial!: string
  @Column('uuid') branch_id!: string

  @ManyToOne(() => Branch)
  @JoinColumn({ name: 'branch_id' })
  branch?: Relation<Branch>
}

@Entity('rentals')
@Within('branch')
export class Rental extends Model {
  @Column('varchar') @Present() number!: string
  @Column('uuid') @Present() customer_id!: string
  @Column('uuid', { nullable: true }) assignee_id?: string | null
  @Column('uuid') branch_id!: string
  @RelationIds('items') item_ids!: string[]

  @ManyToOne(() => Customer)
  @JoinColumn({ name: 'customer_id' })
  customer?: Relation<Customer>

  @ManyToOne(() => User)
  @JoinColumn({ name: 'assignee_id' })
  assignee?: Relation<User> | null

  @ManyToOne(() => Branch)
  @JoinColumn({ name: 'branch_id' })
  branch?: Relation<Branch>

  @ManyToMany(() => Item)
  @JoinTable({
    name: 'rentals_items',
    joinColumn: { name: 'rental_id' },
    inverseJoinColumn: { name: 'item_id' },
  })
  items?: Relation<Item>[]
}

/** A line of a rental. It has neither a policy nor the key of the branch. */
@Entity('lines')
@Within('rental')
export class Line extends Model {
  @Column('varchar') text!: string
  @Column('uuid') rental_id!: string
  @Column('uuid', { nullable: true }) user_id?: string | null
  @Column('uuid', { nullable: true }) after_id?: string | null

  @ManyToOne(() => Rental)
  @JoinColumn({ name: 'rental_id' })
  rental?: Relation<Rental>

  @ManyToOne(() => User)
  @JoinColumn({ name: 'user_id' })
  user?: Relation<User> | null

  @ManyToOne(() => Line)
  @JoinColumn({ name: 'after_id' })
  after?: Relation<Line> | null
}

/** A visit of a member, which needs one. It has a trash. */
@Entity('visits')
@Within('branch')
export class Visit extends Model {
  @Column('uuid') branch_id!: string
  @Column('uuid') user_id!: string
  @DeleteDateColumn({ type: Date }) deleted_at!: Date | null

  @ManyToOne(() => Branch)
  @JoinColumn({ name: 'branch_id' })
  branch?: Relation<Branch>

  @ManyToOne(() => User)
  @JoinColumn({ name: 'user_id' })
  user?: Relation<User>
}

interface Key {
  to: string
  isNullable?: true
  onDelete?: 'CASCADE' | 'SET NULL'
}

const KEYS: Record<string, Record<string, Key>> = {
  users: {},
  branches: {},
  tokens: { user_id: { to: 'users' }, branch_id: { to: 'branches', isNullable: true, onDelete: 'CASCADE' } },
  memberships: { branch_id: { to: 'branches', onDelete: 'CASCADE' }, user_id: { to: 'users' } },
  invitations: {
    branch_id: { to: 'branches', onDelete: 'CASCADE' },
    inviter_id: { to: 'users', isNullable: true, onDelete: 'SET NULL' },
  },
  customers: { branch_id: { to: 'branches' } },
  items: { branch_id: { to: 'branches' } },
  rentals: {
    customer_id: { to: 'customers' },
    assignee_id: { to: 'users', isNullable: true },
    branch_id: { to: 'branches' },
  },
  visits: { branch_id: { to: 'branches' }, user_id: { to: 'users' } },
  lines: {
    rental_id: { to: 'rentals' },
    user_id: { to: 'users', isNullable: true },
    after_id: { to: 'lines', isNullable: true },
  },
}
const TEXTS: Record<string, string[]> = {
  users: ['email', 'password_hash'],
  branches: ['name'],
  tokens: ['secret_hash', 'stamp'],
  memberships: ['role'],
  invitations: ['email', 'role', 'token_hash'],
  customers: ['name'],
  items: ['serial'],
  rentals: ['number'],
  lines: ['text'],
}
const UNIQUE: Record<string, string[]> = {
  users: ['email'],
  memberships: ['branch_id', 'user_id'],
  invitations: ['branch_id', 'email'],
  items: ['branch_id', 'serial'],
  customers: ['branch_id', 'name'],
}

class CreateTeams1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    for (const [name, keys] of Object.entries(KEYS)) {
      const columns = [
        primaryKey(runner),
        ...(TEXTS[name] ?? []).map((text) => column(runner, text, 'string')),
        ...Object.entries(keys).map(([key, { isNullable = false }]) =>
          column(runner, key, 'uuid', { isNullable }),
        ),
        ...(name === 'users' ? [column(runner, 'admin', 'bool')] : []),
        ...(name === 'tokens' || name === 'invitations' ? [column(runner, 'expires_at', 'datetime')] : []),
        ...(name === 'tokens' ? [column(runner, 'last_used_at', 'datetime', { isNullable: true })] : []),
        ...(name === 'visits' ? [column(runner, 'deleted_at', 'datetime', { isNullable: true })] : []),
        ...timestamps(runner),
      ]
      const foreignKeys = Object.entries(keys).map(
        ([key, { to, onDelete = 'NO ACTION' }]) =>
          new TableForeignKey({
            columnNames: [key],
            referencedTableName: to,
            referencedColumnNames: ['id'],
            onDelete,
          }),
      )
      const indices = UNIQUE[name] ? [{ columnNames: UNIQUE[name], isUnique: true }] : []
      await runner.createTable(new Table({ name, columns, foreignKeys, indices }))
    }
    for (const table of jobTables(runner)) await runner.createTable(table)
    await runner.createTable(idempotencyKeysTable(runner))
    const links = ['rental_id', 'item_id'].map((name) => column(runner, name, 'uuid', { isPrimary: true }))
    const foreignKeys = ['rental', 'item'].map(
      (name) =>
        new TableForeignKey({
          columnNames: [`${name}_id`],
          referencedTableName: `${name}s`,
          referencedColumnNames: ['id'],
          onDelete: 'CASCADE',
        }),
    )
    await runner.createTable(new Table({ name: 'rentals_items', columns: links, foreignKeys }))
  }
  async down() {}
}

export const roles = ['owner', 'manager', 'clerk', 'viewer'] as const
export type Role = (typeof roles)[number]

/** The job whose `perform` a spec sets. */
@Job({ attempts: 1 })
export class Work {
  static perform: ((job: JobContext) => unknown) | undefined
  async perform(_args: object, job: JobContext) {
    await Work.perform?.(job)
  }
}

/** A part of other teams that a handler tells or changes, because it uses `ctx.tx` carelessly. */
export type Leak = 'choices' | 'sql' | 'include' | 'export' | 'bulk'

/** Opens the database at a URL. */
export function open(url: string, others: readonly Function[] = []): Promise<Database> {
  const models = [...others, User, Token, Branch, Membership, Invitation, Customer, Item, Rental, Line, Visit]
  return new Database({ test: { url }, models, migrations: [CreateTeams1700000000000] }, 'test').open()
}

/** Opens a database with tables and without rows. */
export async function teamsDatabase(): Promise<Database> {
  return open(
    await databaseWithTables('teams', async (url) => {
      const database = await open(url)
      await database.migrate()
      await database.close()
    }),
  )
}

/** An application of the rental company, and what its specs need of it. */
export function teamsApplication(
  database: Database,
  options: AppOptions = {},
  declare?: (app: App, policies: Readonly<Record<string, PolicyClass>>) => void,
) {
  const branches = teamMembers(database, {
    team: Branch,
    membership: Membership,
    invitation: Invitation,
    tokens: Token,
    roles,
    administrators: (user: User) => user.admin,
  })
  const { RolePolicy } = branches
  const mails: { to: string; token: string }[] = []

  class BranchPolicy extends RolePolicy<Branch> {
    create(user: User | undefined) {
      return user !== undefined
    }
    update(user: User | undefined, branch: Branch) {
      return this.atLeast('manager', user, branch)
    }
    destroy(user: User | undefined, branch: Branch) {
      return this.atLeast('owner', user, branch)
    }
  }
  class CustomerPolicy extends RolePolicy<Customer> {
    create(user: User | undefined, customer: Customer) {
      return this.atLeast('clerk', user, customer)
    }
    update(user: User | undefined, customer: Customer) {
      return this.atLeast('clerk', user, customer)
    }
    destroy(user: User | undefined, customer: Customer) {
      return this.atLeast('manager', user, customer)
    }
  }
  class ItemPolicy extends RolePolicy<Item> {
    create(user: User | undefined, item: Item) {
      return this.atLeast('clerk', user, item)
    }
    update(user: User | undefined, item: Item) {
      return this.atLeast('clerk', user, item)
    }
    destroy(user: User | undefined, item: Item) {
      return this.atLeast('manager', user, item)
    }
  }
  class RentalPolicy extends RolePolicy<Rental> {
    create(user: User | undefined, rental: Rental) {
      return this.atLeast('clerk', user, rental)
    }
    update(user: User | undefined, rental: Rental) {
      return this.atLeast('clerk', user, rental)
    }
    destroy(user: User | undefined, rental: Rental) {
      return this.atLeast('manager', user, rental)
    }
  }
  class MembershipPolicy extends RolePolicy<Membership> {
    update(user: User | undefined, membership: Membership) {
      return this.atLeast('manager', user, membership) || this.isOwn(user, membership)
    }
    destroy(user: User | undefined, membership: Membership) {
      return this.atLeast('manager', user, membership) || this.isOwn(user, membership)
    }
    private isOwn(user: User | undefined, membership: Membership) {
      return user !== undefined && this.role(user, membership) !== undefined && membership.user_id === user.id
    }
  }
  class InvitationPolicy extends RolePolicy<Invitation> {
    create(user: User | undefined, invitation: Invitation) {
      return this.atLeast('manager', user, invitation)
    }
    list(user: User | undefined, invitation: Invitation) {
      return this.atLeast('manager', user, invitation)
    }
    destroy(user: User | undefined, invitation: Invitation) {
      return this.atLeast('manager', user, invitation)
    }
  }
  class TokenPolicy extends Policy<Token> {
    scope(user?: User) {
      return user ? { user_id: user.id } : nothing
    }
    create() {
      return true
    }
  }

  /** A step before a handler removes a member, a leak, and whether handlers forget the policy. */
  const made: { before?: (ctx: Context) => Promise<unknown>; leak?: Leak; forgets?: boolean } = {}
  /** A handler that forgets the policy fails. */
  const authorize = <T extends Model>(ctx: Context, record: T): Promise<T> =>
    made.forgets ? Promise.resolve(record) : ctx.authorize(record)
  const findBranch = (ctx: Context) => ctx.find(Branch, ctx.params['branch_id'])

  @Resource('/branches', { model: Branch, policy: BranchPolicy, fields: ['name'] })
  class BranchesResource extends BaseResource {
    override async list(ctx: Context) {
      return ctx.respond({ data: (await ctx.paginate(Branch)).records })
    }
    override async show(ctx: Context) {
      return ctx.respond({ data: await findBranch(ctx) })
    }
    override async create(ctx: Context) {
      const branch = ctx.bind(await ctx.authorize(new Branch()))
      const errors = await branches.create(ctx, branch)
      return errors ? ctx.respond(errors) : ctx.respond(201, { data: branch })
    }
    override async update(ctx: Context) {
      const branch = ctx.bind(await ctx.authorize(await findBranch(ctx)))
      const errors = await ctx.save(branch)
      return errors ? ctx.respond(errors) : ctx.respond({ data: branch })
    }
    override async destroy(ctx: Context) {
      const branch = await ctx.authorize(await findBranch(ctx))
      await ctx.destroy(branch)
      return ctx.respond({ data: branch })
    }
  }

  /** The handlers of records of a branch. */
  abstract class InBranch<T extends Model & { branch_id: string }> extends BaseResource {
    protected abstract readonly model: new () => T

    protected async find(ctx: Context): Promise<T> {
      const branch = await findBranch(ctx)
      const id = ctx.params[ctx.route.resource?.param ?? '']
      return ctx.findOneBy<Customer>(this.model as never, { id, branch_id: branch.id }) as Promise<never>
    }
    override async list(ctx: Context) {
      const branch = await findBranch(ctx)
      const where = { branch_id: branch.id } as never
      return ctx.respond({ data: (await ctx.paginate<T>(this.model, { where })).records })
    }
    override async show(ctx: Context) {
      return ctx.respond({ data: await this.find(ctx) })
    }
    override async new(ctx: Context) {
      const branch = await findBranch(ctx)
      const record = await ctx.authorize(Object.assign(new this.model(), { branch_id: branch.id }))
      const { records } = await ctx.choices(Customer, Reflect.get(record, 'customer_id') as string)
      const customers = made.leak === 'choices' ? await ctx.tx.find(Customer) : records
      const { records: items } = await ctx.choices(Item)
      const { records: users } = await ctx.choices(User)
      return ctx.respond({
        data: {
          customers: customers.map(({ name }) => name).toSorted(),
          items: items.map(({ serial }) => serial).toSorted(),
          users: users.map(({ email }) => email).toSorted(),
        },
      })
    }
    override async create(ctx: Context) {
      const branch = await findBranch(ctx)
      const record = ctx.bind(
        await ctx.authorize(Object.assign(new this.model(), { branch_id: branch.id })),
      ) as T
      const errors = await ctx.save(record)
      return errors ? ctx.respond(errors) : ctx.respond(201, { data: record })
    }
    override async update(ctx: Context) {
      const record = ctx.bind(await ctx.authorize(await this.find(ctx))) as T
      const errors = await ctx.save(record)
      return errors ? ctx.respond(errors) : ctx.respond({ data: record })
    }
    override async destroy(ctx: Context) {
      const record = await ctx.authorize(await this.find(ctx))
      await ctx.destroy(record)
      return ctx.respond({ data: record })
    }
  }

  @Resource('/customers', { model: Customer, policy: CustomerPolicy, fields: ['name'] })
  @Parent(BranchesResource)
  class CustomersResource extends InBranch<Customer> {
    protected readonly model = Customer
    @Queryable<Customer>({ filter: { name: ['eq', 'prefix'] }, sort: ['name'], search: ['name'] })
    override list(ctx: Context) {
      return super.list(ctx)
    }
    @Route('GET', '/export')
    async export(ctx: Context) {
      const branch = await findBranch(ctx)
      const where = made.leak === 'export' ? {} : { branch_id: branch.id }
      const sql = 'SELECT name FROM customers'
      const rows = made.leak === 'sql' ? await ctx.tx.query(sql) : await ctx.tx.find(Customer, { where })
      return ctx.respond({ data: rows.map(({ name }: Customer) => name) })
    }
    @Route('POST', '/archive')
    async archive(ctx: Context) {
      const branch = await findBranch(ctx)
      const { ids = [] } = Object(ctx.request.body)
      const records: Customer[] = []
      for (const id of [ids].flat()) {
        if (made.leak === 'bulk') await ctx.tx.update(Customer, { id }, { name: 'archived' })
        else records.push(await ctx.findOneBy(Customer, { id, branch_id: branch.id }))
      }
      for (const customer of records) {
        await ctx.authorize(customer, 'update')
        await ctx.save(Object.assign(customer, { name: `archived ${customer.id}` }))
      }
      await ctx.authorize(Object.assign(new Customer(), { branch_id: branch.id }), 'create')
      return ctx.respond({ data: [] })
    }
  }

  @Resource('/items', {
    model: Item,
    policy: ItemPolicy,
    fields: ['serial'],
    csv: ['serial'],
    import: { key: 'serial' },
    bulk: ['destroy'],
  })
  @Parent(BranchesResource)
  class ItemsResource extends InBranch<Item> {
    protected readonly model = Item
  }

  @Resource('/rentals', {
    model: Rental,
    policy: RentalPolicy,
    fields: ['number', 'customer_id', 'assignee_id', 'item_ids'],
    csv: ['number', 'customer.name'],
    import: true,
  })
  @Parent(BranchesResource)
  class RentalsResource extends InBranch<Rental> {
    protected readonly model = Rental
    @Queryable<Rental>({
      filter: { customer_id: ['eq'], assignee_id: ['eq'], number: ['eq', 'prefix'] },
      sort: ['number', 'created_at'],
      search: ['number'],
      include: { customer: true, items: true, assignee: ['email'] },
    })
    override async list(ctx: Context) {
      if (made.leak !== 'include' || !ctx.query['include']) return super.list(ctx)
      const branch = await findBranch(ctx)
      const rentals = await ctx.findAll(Rental, { where: { branch_id: branch.id } })
      return ctx.respond({ data: [...rentals, ...(await ctx.tx.find(Item))] })
    }
    override async show(ctx: Context) {
      return ctx.respond({ data: await ctx.load(await this.find(ctx), 'customer', 'items', 'assignee') })
    }
  }

  @Resource('/lines', { model: Line, fields: ['text', 'user_id', 'after_id'] })
  @Parent(RentalsResource)
  class LinesResource extends BaseResource {
    private async findRental(ctx: Context) {
      const branch = await findBranch(ctx)
      return ctx.findOneBy(Rental, { id: ctx.params['rental_id'], branch_id: branch.id })
    }
    override async list(ctx: Context) {
      const { id: rental_id } = await this.findRental(ctx)
      return ctx.respond({ data: (await ctx.paginate(Line, { where: { rental_id } })).records })
    }
    override async create(ctx: Context) {
      const rental = await ctx.authorize(await this.findRental(ctx))
      const line = Object.assign(ctx.bind(new Line()), { rental_id: rental.id })
      const errors = await ctx.save(line)
      return errors ? ctx.respond(errors) : ctx.respond(201, { data: line })
    }
  }

  @Resource('/memberships', { model: Membership, policy: MembershipPolicy, fields: ['role'] })
  @Parent(BranchesResource)
  class MembershipsResource extends InBranch<Membership> {
    protected readonly model = Membership
    override async update(ctx: Context) {
      const membership = await authorize(ctx, await this.find(ctx))
      const role: unknown = Object(ctx.request.body).role
      const errors = await branches.changeRole(ctx, membership, role)
      return errors ? ctx.respond(errors) : ctx.respond({ data: membership })
    }
    override async destroy(ctx: Context) {
      const membership = await authorize(ctx, await this.find(ctx))
      await made.before?.(ctx)
      await branches.remove(ctx, membership)
      return ctx.respond({ data: membership })
    }
  }

  @Resource('/invitations', { model: Invitation, policy: InvitationPolicy, fields: ['email', 'role'] })
  @Parent(BranchesResource)
  class InvitationsResource extends InBranch<Invitation> {
    protected readonly model = Invitation
    override async list(ctx: Context) {
      const branch = await findBranch(ctx)
      await ctx.authorize(Object.assign(new Invitation(), { branch_id: branch.id }), 'list')
      return super.list(ctx)
    }
    override async create(ctx: Context) {
      const branch = await findBranch(ctx)
      const invitation = ctx.bind(
        await authorize(ctx, Object.assign(new Invitation(), { branch_id: branch.id })),
      )
      const { errors, token } = await branches.invite(ctx, invitation)
      if (errors) return ctx.respond(errors)
      mails.push({ to: invitation.email, token })
      return ctx.respond(201, { data: invitation })
    }
    override async destroy(ctx: Context) {
      const invitation = await authorize(ctx, await this.find(ctx))
      await branches.remove(ctx, invitation)
      return ctx.respond({ data: invitation })
    }
  }

  @Resource('/invitation', { singular: true, model: Invitation, fields: [] })
  class InvitationResource extends BaseResource {
    @Route('GET', '/open/{token}')
    async open(ctx: Context) {
      const { branch, inviter, role } = await branches.invitation(ctx.params['token'])
      return ctx.respond({ data: { branch: branch?.name, inviter: inviter?.email, role } })
    }
    override async update(ctx: Context) {
      const { token } = Object(ctx.request.body)
      return ctx.respond({ data: await branches.accept(ctx, token, Reflect.get(ctx, 'user') as User) })
    }
  }

  @Resource('/rentals', { model: Rental, policy: RentalPolicy, fields: ['number'] })
  class AllRentalsResource extends BaseResource {
    override async list(ctx: Context) {
      return ctx.respond({ data: (await ctx.paginate(Rental)).records })
    }
  }

  @Resource('/tokens', { model: Token, policy: TokenPolicy, fields: ['branch_id'] })
  class TokensResource extends BaseResource {
    override async list(ctx: Context) {
      return ctx.respond({ data: (await ctx.paginate(Token)).records })
    }
    override async create(ctx: Context) {
      const token = ctx.bind(await ctx.authorize(new Token()))
      const text = issueToken(token, Reflect.get(ctx, 'user') as User)
      const errors = await ctx.save(Object.assign(token, { last_used_at: new Date() }))
      return errors ? ctx.respond(errors) : ctx.respond(201, { data: { text } })
    }
  }

  const app = new App({ logger: pino({ level: 'silent' }), ...options })
  app.use(authenticate(database, User, { tokens: Token }))
  app.use(branches)
  app.use(transaction(database))
  app.use(idempotency(database))
  app.extend(jobQueue(database, { jobs: [Work] }))
  app.resource(InvitationResource)
  app.use(requireUser())
  app.resource(BranchesResource)
  for (const resource of [
    CustomersResource,
    ItemsResource,
    RentalsResource,
    LinesResource,
    MembershipsResource,
    InvitationsResource,
    AllRentalsResource,
    TokensResource,
  ])
    app.resource(resource)
  app.delete('/users/{user_id}', async (ctx) => {
    await ctx.destroy(await ctx.find(User, ctx.params['user_id']))
    ctx.body = {}
  })
  app.get('/people', async (ctx) => {
    const { records } = await ctx.choices(User)
    ctx.body = records.map(({ email }) => email).toSorted()
  })
  const policies: Record<string, PolicyClass> = { BranchPolicy, CustomerPolicy, RentalPolicy }
  declare?.(app, policies)
  return Object.assign(made, { app, branches, mails, policies })
}

/** Creates a user, who is signed in by the text of a token. */
export async function makeUser(database: Database, email: string, values: Partial<User> = {}) {
  const user = await database.manager.save(Object.assign(new User(), { email, ...values }))
  return Object.assign(user, { bearer: await makeToken(database, user) })
}

/** Creates a token, of one branch only if it is given. */
export async function makeToken(database: Database, user: User, branch_id?: string): Promise<string> {
  const token = Object.assign(new Token(), { branch_id: branch_id ?? null, last_used_at: new Date() })
  const text = issueToken(token, user)
  await database.manager.insert(Token, { ...token, stamp: passwordStamp(user) })
  return text
}
