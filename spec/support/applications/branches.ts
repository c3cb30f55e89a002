import { pino } from 'pino'
import { Column, Entity, JoinColumn, JoinTable, ManyToMany, ManyToOne, Table, TableForeignKey } from 'typeorm'
import type { MigrationInterface, QueryRunner, Relation } from 'typeorm'
import {
  App,
  BaseResource,
  column,
  Database,
  filter,
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
  type AppOptions,
  type Context,
  type ResourceClass,
  Within,
  type ValidationErrors,
} from '../../../src/index.js'
import { Job, jobQueue, jobTables, type JobContext } from '../../../src/jobs/index.js'
import { databaseWithTables } from '../databases.js'

/** The application of a rental company, as `kit generate resource` writes it, without `@Within`. */

@Entity('branches')
export class Branch extends Model {
  @Column('varchar') user_id!: string
  @Column('varchar') name!: string
  @Column('varchar') slug!: string
  @Column('uuid', { nullable: true }) main_customer_id?: string | null

  @ManyToOne(() => Customer)
  @JoinColumn({ name: 'main_customer_id' })
  main_customer?: Relation<Customer> | null
}

@Entity('customers')
export class Customer extends Model {
  @Column('varchar') @Present() name!: string
  @Column('uuid') branch_id!: string

  @ManyToOne(() => Branch)
  @JoinColumn({ name: 'branch_id' })
  branch?: Relation<Branch>
}

@Entity('labels')
export class Label extends Model {
  @Column('varchar') name!: string
  @Column('uuid') branch_id!: string

  @ManyToOne(() => Branch)
  @JoinColumn({ name: 'branch_id' })
  branch?: Relation<Branch>
}

@Entity('rentals')
export class Rental extends Model {
  @Column('varchar') @Present() number!: string
  @Column('uuid') @Present() customer_id!: string
  @Column('uuid', { nullable: true }) payer_id?: string | null
  @Column('uuid', { nullable: true }) from_branch_id?: string | null
  @Column('uuid') branch_id!: string
  @RelationIds('labels') label_ids!: string[]

  @ManyToOne(() => Customer)
  @JoinColumn({ name: 'customer_id' })
  customer?: Relation<Customer>

  @ManyToOne(() => Customer)
  @JoinColumn({ name: 'payer_id' })
  payer?: Relation<Customer> | null

  @ManyToOne(() => Branch)
  @JoinColumn({ name: 'from_branch_id' })
  from_branch?: Relation<Branch> | null

  @ManyToOne(() => Branch)
  @JoinColumn({ name: 'branch_id' })
  branch?: Relation<Branch>

  @ManyToMany(() => Label)
  @JoinTable({
    name: 'rentals_labels',
    joinColumn: { name: 'rental_id' },
    inverseJoinColumn: { name: 'label_id' },
  })
  labels?: Relation<Label>[]

  override async validateCreate(errors: ValidationErrors): Promise<void> {
    await behavior.hook?.(this, errors)
  }
  override async validateUpdate(errors: ValidationErrors): Promise<void> {
    await behavior.hook?.(this, errors)
  }
}

/** A rental that may refer to anything. */
@Entity('rentals')
@Within()
export class Quote extends Rental {}

@Entity('lines')
export class Line extends Model {
  @Column('varchar') text!: string
  @Column('uuid', { nullable: true }) label_id?: string | null
  @Column('uuid', { nullable: true }) customer_id?: string | null
  @Column('uuid', { nullable: true }) after_id?: string | null
  @Column('uuid') rental_id!: string

  @ManyToOne(() => Label)
  @JoinColumn({ name: 'label_id' })
  label?: Relation<Label> | null

  @ManyToOne(() => Customer)
  @JoinColumn({ name: 'customer_id' })
  customer?: Relation<Customer> | null

  @ManyToOne(() => Line)
  @JoinColumn({ name: 'after_id' })
  after?: Relation<Line> | null

  @ManyToOne(() => Rental)
  @JoinColumn({ name: 'rental_id' })
  rental?: Relation<Rental>
}

const KEYS: Record<string, Record<string, { to: string; isNullable?: true }>> = {
  branches: {},
  customers: { branch_id: { to: 'branches' } },
  labels: { branch_id: { to: 'branches' } },
  rentals: {
    customer_id: { to: 'customers' },
    payer_id: { to: 'customers', isNullable: true },
    from_branch_id: { to: 'branches', isNullable: true },
    branch_id: { to: 'branches' },
  },
  lines: {
    label_id: { to: 'labels', isNullable: true },
    customer_id: { to: 'customers', isNullable: true },
    after_id: { to: 'lines', isNullable: true },
    rental_id: { to: 'rentals' },
  },
}
const TEXTS: Record<string, string[]> = {
  branches: ['user_id', 'name', 'slug'],
  customers: ['name'],
  labels: ['name'],
  rentals: ['number'],
  lines: ['text'],
}

class CreateBranches1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    for (const [name, keys] of Object.entries(KEYS)) {
      const columns = [
        primaryKey(runner),
        ...(TEXTS[name] ?? []).map((text) => column(runner, text, 'string')),
        ...Object.entries(keys).map(([key, { isNullable = false }]) =>
          column(runner, key, 'uuid', { isNullable }),
        ),
        ...(name === 'branches' ? [column(runner, 'main_customer_id', 'uuid', { isNullable: true })] : []),
        ...timestamps(runner),
      ]
      const foreignKeys = Object.entries(keys).map(
        ([key, { to }]) =>
          new TableForeignKey({ columnNames: [key], referencedTableName: to, referencedColumnNames: ['id'] }),
      )
      await runner.createTable(new Table({ name, columns, foreignKeys }))
    }
    for (const table of jobTables(runner)) await runner.createTable(table)
    const links = ['rental_id', 'label_id'].map((name) => column(runner, name, 'uuid', { isPrimary: true }))
    await runner.createTable(new Table({ name: 'rentals_labels', columns: links }))
  }
  async down() {}
}

/** Settings of the specs. */
export const behavior: {
  perform?: ((job: JobContext) => unknown) | undefined
  hook?: ((rental: Rental, errors: ValidationErrors) => unknown) | undefined
  /** Runs in the handlers `create` and `update` before the record is saved. */
  /** The branches that the policy of labels excludes. */
  mayNotCreateIn?: string | undefined
  mayNotUpdateIn?: string | undefined
  before?: ((ctx: Context, record: Model) => unknown) | undefined
} = {}

@Job({ attempts: 1 })
export class Work {
  async perform(_args: object, job: JobContext) {
    await behavior.perform?.(job)
  }
}

class BranchPolicy extends Policy<Branch> {
  scope(user?: string) {
    return user ? { user_id: user } : nothing
  }
  create(user?: string) {
    return user !== undefined
  }
  update(user: string | undefined, branch: Branch) {
    return branch.user_id === user
  }
}

@Resource('/branches', { model: Branch, policy: BranchPolicy, fields: ['name', 'main_customer_id'] })
export class BranchesResource extends BaseResource {
  override async update(ctx: Context) {
    const branch = await ctx.authorize(await ctx.find(Branch, ctx.params['branch_id']))
    return respond(ctx, ctx.bind(branch))
  }
}

@Resource('/customers', { model: Customer, fields: ['name'] })
@Parent(BranchesResource)
class CustomersResource extends BaseResource {
  override async show(ctx: Context) {
    const branch = await findBranch(ctx)
    const { customer_id } = ctx.params
    return ctx.respond({ data: await ctx.findOneBy(Customer, { id: customer_id, branch_id: branch.id }) })
  }
}

/** Besides what `BranchPolicy` says, the specs limit what may be done in a branch. */
class LabelPolicy extends Policy<Label> {
  scope(user?: string) {
    return user ? { branch: { user_id: user } } : nothing
  }
  create(_user: string | undefined, { branch_id }: Label) {
    return behavior.mayNotCreateIn !== branch_id
  }
  update(_user: string | undefined, { branch_id }: Label) {
    return behavior.mayNotUpdateIn !== branch_id
  }
}

@Resource('/labels', { model: Label, fields: ['name'], policy: LabelPolicy })
@Parent(BranchesResource)
class LabelsResource extends BaseResource {}

class RentalHandlers extends BaseResource {
  protected readonly model: new () => Rental = Rental

  @Queryable<Rental>({
    filter: {
      customer_id: ['eq'],
      customer_name: filter('string', (name) => ({ customer: { name } })),
    },
    include: { customer: true, labels: true },
  })
  override async list(ctx: Context) {
    const branch = await findBranch(ctx)
    const { records } = await ctx.paginate(Rental, { where: { branch_id: branch.id } })
    return ctx.respond({ data: records })
  }
  override async show(ctx: Context) {
    const rental = await findRental(ctx, await findBranch(ctx))
    return ctx.respond({ data: await ctx.load(rental, 'customer', 'labels') })
  }
  override async new(ctx: Context) {
    await ctx.authorize(await findBranch(ctx))
    return showChoices(ctx, new this.model())
  }
  override async create(ctx: Context) {
    const branch = await findBranch(ctx)
    await ctx.authorize(branch)
    const rental = ctx.bind(new this.model())
    rental.branch_id = branch.id
    return respond(ctx, rental)
  }
  override async edit(ctx: Context) {
    return showChoices(ctx, await findRental(ctx, await ctx.authorize(await findBranch(ctx))))
  }
  override async update(ctx: Context) {
    const branch = await findBranch(ctx)
    await ctx.authorize(branch)
    return respond(ctx, ctx.bind(await findRental(ctx, branch)))
  }
  /** The path has a required key, but it is not that of a parent. */
  @Route('PUT', '/{id}/customer/{customer_id}')
  async give(ctx: Context) {
    const branch = await findBranch(ctx)
    await ctx.authorize(branch)
    const rental = await findRental(ctx, branch)
    return respond(ctx, Object.assign(rental, { customer_id: ctx.params['customer_id'] }))
  }
}

@Resource('/rentals', {
  model: Rental,
  fields: ['number', 'customer_id', 'payer_id', 'from_branch_id', 'label_ids'],
})
@Parent(BranchesResource)
class RentalsResource extends RentalHandlers {}

@Resource('/lines', { model: Line, fields: ['text', 'label_id', 'customer_id', 'after_id'] })
@Parent(RentalsResource)
class LinesResource extends BaseResource {
  override async new(ctx: Context) {
    return showChoices(ctx, new Line())
  }
  override async create(ctx: Context) {
    const rental = await findRental(ctx, await ctx.authorize(await findBranch(ctx)))
    return respond(ctx, Object.assign(ctx.bind(new Line()), { rental_id: rental.id }))
  }
  override async update(ctx: Context) {
    const rental = await findRental(ctx, await ctx.authorize(await findBranch(ctx)))
    const line = await ctx.findOneBy(Line, { id: ctx.params['line_id'], rental_id: rental.id })
    return respond(ctx, ctx.bind(line))
  }
}

/** Finds the branch by its id or its slug in the path, or else the only one of the user. */
function findBranch(ctx: Context): Promise<Branch> {
  const { branch_id, slug } = ctx.params
  if (branch_id) return ctx.find(Branch, branch_id)
  return ctx.findOneBy(Branch, slug ? { slug } : { user_id: ctx.get('X-User') })
}

function findRental(ctx: Context, branch: Branch): Promise<Rental> {
  return ctx.findOneBy(Rental, { id: ctx.params['rental_id'], branch_id: branch.id })
}

async function respond(ctx: Context, record: Model): Promise<void> {
  const isNew = record.created_at === undefined
  await behavior.before?.(ctx, record)
  const errors = await ctx.save(record)
  return errors ? ctx.respond(errors) : ctx.respond(isNew ? 201 : 200, { data: record })
}

/** Responds with the ids of the choices. */
async function showChoices(ctx: Context, record: Rental | Line): Promise<void> {
  const { records: customers, unavailable } = await ctx.choices(Customer, record.customer_id)
  const { records: labels } = await ctx.choices(Label)
  const { records: branches } = await ctx.choices(Branch)
  const names = (records: readonly { name: string }[]) => records.map(({ name }) => name).toSorted()
  return ctx.respond({
    data: { customers: names(customers), labels: names(labels), branches: names(branches), unavailable },
  })
}

@Resource('/shops', { model: Branch, policy: BranchPolicy, param: 'slug' })
class ShopsResource extends BaseResource {}

@Resource('/office', { model: Branch, policy: BranchPolicy, singular: true })
class OfficeResource extends BaseResource {}

@Resource('/offers', { model: Rental, fields: ['number', 'customer_id'] })
class OffersResource extends RentalHandlers {}

@Resource('/quotes', { model: Quote, fields: ['number', 'customer_id'] })
@Parent(BranchesResource)
class QuotesResource extends RentalHandlers {
  protected override readonly model = Quote
}

const rentalResources: ResourceClass[] = [
  BranchesResource,
  CustomersResource,
  LabelsResource,
  RentalsResource,
  LinesResource,
  QuotesResource,
]

/** An application with these resources. The `X-User` header has the user. */
export function rentalApplication(
  database: Database,
  declare?: (app: App) => void,
  options: AppOptions = {},
): App {
  const app = new App({ logger: pino({ level: 'silent' }), ...options })
  app.use(transaction(database))
  app.extend(jobQueue(database, { jobs: [Work] }))
  app.use(async function authenticate(ctx, next) {
    const user = ctx.get('X-User')
    if (user) Object.assign(ctx, { user })
    await next()
  })
  for (const resource of rentalResources) app.resource(resource)
  for (const shop of [ShopsResource, OfficeResource]) app.resource(shop).resource(RentalsResource)
  app.group('/branches/{branch_id}/special').resource('/offers', OffersResource)
  declare?.(app)
  return app
}

/** Opens the database at a URL, which has no tables before it is migrated. */
export function open(url: string): Promise<Database> {
  const models = [Branch, Customer, Label, Rental, Quote, Line]
  return new Database({ test: { url }, models, migrations: [CreateBranches1700000000000] }, 'test').open()
}

/** Opens a database with tables and without rows. */
export async function rentalDatabase(): Promise<Database> {
  return open(
    await databaseWithTables('branches', async (url) => {
      const database = await open(url)
      await database.migrate()
      await database.close()
    }),
  )
}
