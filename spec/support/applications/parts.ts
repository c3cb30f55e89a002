import { IsEnum } from 'class-validator'
import { pino } from 'pino'
import {
  Column,
  Entity,
  JoinColumn,
  ManyToOne,
  Table,
  TableForeignKey,
  VersionColumn,
  type MigrationInterface,
  type QueryRunner,
  type Relation,
} from 'typeorm'
import {
  App,
  BaseResource,
  column,
  csrf,
  Database,
  Model,
  nothing,
  Parent,
  Policy,
  Present,
  primaryKey,
  Queryable,
  Resource,
  Route,
  timestamps,
  transaction,
  translations,
  Use,
  type AppOptions,
  type Context,
  type Middleware,
  type ValidationErrors,
} from '../../../src/index.js'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { databaseWithTables } from '../databases.js'
import { temporaryFolder } from '../temporary-folder.js'

/** The parts of two users, with the options for many records. */

@Entity('suppliers')
export class Supplier extends Model {
  @Column('varchar') user_id!: string
  @Column('varchar', { unique: true }) code!: string
  @Column('varchar', { nullable: true }) secret?: string | null
}

const states = ['draft', 'active', 'archived'] as const

@Entity('parts')
export class Part extends Model {
  @Column('varchar') user_id!: string
  @Column('varchar', { unique: true }) @Present() sku!: string
  @Column('varchar') @Present() name!: string
  @Column('decimal', { precision: 10, scale: 2, nullable: true }) price?: string | null
  @Column('simple-enum', { enum: states, default: 'draft' }) @IsEnum(states) state: string = 'draft'
  @Column('text', { nullable: true }) note?: string | null
  @Column('boolean', { default: false }) is_new: boolean = false
  @Column('date', { nullable: true }) made_on?: string | null
  @Column('bigint', { nullable: true }) stock?: string | null
  @Column({ type: Date, nullable: true }) seen_at?: Date | null
  @Column('uuid', { nullable: true }) supplier_id?: string | null

  @ManyToOne(() => Supplier)
  @JoinColumn({ name: 'supplier_id' })
  supplier?: Relation<Supplier> | null

  /** The hook of a model runs for each line. */
  override async validateCreate(errors: ValidationErrors) {
    if (this.name === 'hooked') errors.add('name', 'hooked', 'Name is hooked.')
  }
}

@Entity('offers')
export class Offer extends Model {
  @Column('uuid') part_id!: string
  @Column('varchar') @Present() title!: string
  @VersionColumn({ default: 1 }) lock_version!: number

  @ManyToOne(() => Part)
  @JoinColumn({ name: 'part_id' })
  part?: Relation<Part>
}

class CreateParts1790000000000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    const key = (name: string, to: string) =>
      new TableForeignKey({ columnNames: [name], referencedTableName: to, referencedColumnNames: ['id'] })
    const text = (name: string, isNullable = false) => column(runner, name, 'string', { isNullable })
    const unique = (name: string) => column(runner, name, 'string', { isUnique: true, length: '190' })
    await runner.createTable(
      new Table({
        name: 'suppliers',
        columns: [
          primaryKey(runner),
          text('user_id'),
          unique('code'),
          text('secret', true),
          ...timestamps(runner),
        ],
      }),
    )
    await runner.createTable(
      new Table({
        name: 'parts',
        columns: [
          primaryKey(runner),
          text('user_id'),
          unique('sku'),
          text('name'),
          column(runner, 'price', 'decimal', { isNullable: true, precision: 10, scale: 2 }),
          column(runner, 'state', 'string', { length: '20', default: "'draft'" }),
          column(runner, 'note', 'text', { isNullable: true }),
          column(runner, 'is_new', 'bool', { default: 'false' }),
          column(runner, 'made_on', 'date', { isNullable: true }),
          column(runner, 'stock', 'bigint', { isNullable: true }),
          column(runner, 'seen_at', 'datetime', { isNullable: true }),
          column(runner, 'supplier_id', 'uuid', { isNullable: true }),
          ...timestamps(runner),
        ],
        foreignKeys: [key('supplier_id', 'suppliers')],
      }),
    )
    const version = column(runner, 'lock_version', 'int', { default: 1 })
    await runner.createTable(
      new Table({
        name: 'offers',
        columns: [
          primaryKey(runner),
          column(runner, 'part_id', 'uuid'),
          text('title'),
          version,
          ...timestamps(runner),
        ],
        foreignKeys: [key('part_id', 'parts')],
      }),
    )
  }
  async down() {}
}

class OwnPolicy extends Policy<Part> {
  scope(user?: string) {
    return user ? { user_id: user } : nothing
  }
  create(user: string | undefined, part: Part) {
    return part.user_id === user
  }
  update(user: string | undefined, part: Part) {
    return part.user_id === user
  }
  archive(user: string | undefined, part: Part) {
    return part.user_id === user && part.name !== 'protected'
  }
  destroy(user: string | undefined, part: Part) {
    return part.user_id === user
  }
}

class SupplierPolicy extends Policy<Supplier> {
  scope(user?: string) {
    return user ? { user_id: user } : nothing
  }
  create(user: string | undefined, supplier: Supplier) {
    return supplier.user_id === user
  }
}

@Resource('/suppliers', { model: Supplier, policy: SupplierPolicy, fields: ['code'], import: true })
class SuppliersResource extends BaseResource {
  override async create(ctx: Context) {
    await behavior.before?.(ctx)
    const supplier = ctx.bind(Object.assign(new Supplier(), { user_id: Reflect.get(ctx, 'user') }))
    await ctx.authorize(supplier)
    const errors = await ctx.save(supplier)
    return errors ? ctx.respond(errors) : ctx.respond(201, { data: supplier })
  }
}

/** Settings of the specs. */
export const behavior: {
  before?: ((ctx: Context) => unknown) | undefined
  /** Runs in `list`, instead of the response with the records. */
  respond?: ((ctx: Context, parts: Part[]) => unknown) | undefined
  skipsAuthorize?: boolean | undefined
  /** The calls of middleware. */
  calls: string[]
} = { calls: [] }

const noted =
  (name: string): Middleware =>
  (_ctx, next) => {
    behavior.calls.push(name)
    return next()
  }

@Use(noted('guard of create'), { only: ['create'] })
@Use(noted('guard of update'), { only: ['update'] })
@Use(noted('guard of list'), { only: ['list'] })
@Resource('/parts', {
  model: Part,
  policy: OwnPolicy,
  fields: ['sku', 'name', 'price', 'state', 'note', 'is_new', 'made_on', 'stock', 'seen_at', 'supplier_id'],
  csv: [
    'id',
    'sku',
    'name',
    'price',
    'state',
    'note',
    'is_new',
    'made_on',
    'stock',
    'seen_at',
    'supplier.code',
    'created_at',
  ],
  import: { key: 'sku', maxLines: 10_000 },
  bulk: ['archive', 'update', 'destroy'],
})
export class PartsResource extends BaseResource {
  @Queryable<Part>({ filter: { state: ['eq'], name: ['prefix'] }, sort: ['sku', 'name'], search: ['name'] })
  override async list(ctx: Context) {
    const { records: parts, query, pagination } = await ctx.paginate(Part)
    if (behavior.respond) return behavior.respond(ctx, parts)
    return ctx.respond({ html: () => ctx.render('parts', { parts, query, pagination }), data: parts })
  }

  override async show(ctx: Context) {
    return ctx.respond({ data: await ctx.find(Part, ctx.params.part_id) })
  }

  override async create(ctx: Context) {
    await behavior.before?.(ctx)
    const part = ctx.bind(Object.assign(new Part(), { user_id: Reflect.get(ctx, 'user') }))
    if (!behavior.skipsAuthorize) await ctx.authorize(part)
    const errors = await ctx.save(part)
    if (errors) return ctx.respond(errors, { html: () => ctx.render('never') })
    return ctx.respond(201, { html: () => ctx.seeOther('/parts', { success: 'created' }), data: part })
  }

  override async update(ctx: Context) {
    await behavior.before?.(ctx)
    const part = await ctx.find(Part, ctx.params.part_id)
    if (!behavior.skipsAuthorize) await ctx.authorize(part)
    ctx.bind(part)
    const errors = await ctx.save(part)
    if (errors) return ctx.respond(errors, { html: () => ctx.render('never') })
    return ctx.respond({ html: () => ctx.seeOther('/parts', { success: 'updated' }), data: part })
  }

  override async destroy(ctx: Context) {
    const part = await ctx.find(Part, ctx.params.part_id)
    if (!behavior.skipsAuthorize) await ctx.authorize(part)
    await ctx.destroy(part)
    return ctx.respond({ html: () => ctx.seeOther('/parts', { success: 'deleted' }), data: part })
  }

  @Route('POST', '/{part_id}/archive')
  @Use(noted('guard of archive'))
  async archive(ctx: Context) {
    await behavior.before?.(ctx)
    const part = await ctx.find(Part, ctx.params.part_id)
    if (!behavior.skipsAuthorize) await ctx.authorize(part)
    part.state = 'archived'
    const errors = await ctx.save(part)
    if (errors) return ctx.respond(errors)
    return ctx.respond({ html: () => ctx.seeOther('/parts', { success: 'archived' }), data: part })
  }
}

@Parent(PartsResource)
@Resource('/offers', {
  model: Offer,
  fields: ['title'],
  csv: ['id', 'title', 'lock_version'],
  import: { key: 'id' },
  bulk: ['destroy'],
})
class OffersResource extends BaseResource {
  override async list(ctx: Context) {
    const part = await ctx.find(Part, ctx.params.part_id)
    const { records: offers } = await ctx.paginate(Offer, {
      where: { part_id: part.id },
      order: { title: 'ASC' },
    })
    return ctx.respond({ data: offers })
  }

  override async create(ctx: Context) {
    const part = await ctx.authorize(await ctx.find(Part, ctx.params.part_id))
    const offer = ctx.bind(Object.assign(new Offer(), { part_id: part.id }))
    const errors = await ctx.save(offer)
    return errors ? ctx.respond(errors) : ctx.respond(201, { data: offer })
  }

  override async update(ctx: Context) {
    await ctx.authorize(await ctx.find(Part, ctx.params.part_id))
    const { offer_id: id, part_id } = ctx.params
    const offer = ctx.bind(await ctx.findOneBy(Offer, { id, part_id }))
    const errors = await ctx.save(offer)
    return errors ? ctx.respond(errors) : ctx.respond({ data: offer })
  }

  override async destroy(ctx: Context) {
    await ctx.authorize(await ctx.find(Part, ctx.params.part_id))
    const { offer_id: id, part_id } = ctx.params
    const offer = await ctx.findOneBy(Offer, { id, part_id })
    await ctx.destroy(offer)
    return ctx.respond({ data: offer })
  }
}

/** Opens a database that may have the tables of the parts. */
export function openParts(url: string): Promise<Database> {
  const models = [Supplier, Part, Offer]
  return new Database({ test: { url }, models, migrations: [CreateParts1790000000000] }, 'test').open()
}

/** A database with the tables of the parts. */
export async function partsDatabase(): Promise<Database> {
  return openParts(await partsUrl())
}

/** The url of a database with the tables of the parts. */
export function partsUrl(): Promise<string> {
  return databaseWithTables('parts', async (url) => {
    const database = await openParts(url)
    await database.migrate()
    await database.close()
  })
}

/** A folder with the texts and the page of the parts. */
function writeFiles(): string {
  const folder = temporaryFolder()
  for (const name of ['locales', 'templates']) mkdirSync(join(folder, name))
  for (const locale of ['en-us', 'de', 'fr', 'es'])
    writeFileSync(
      join(folder, 'locales', `parts.${locale}.yaml`),
      `- id: parts\n  translation: ${locale === 'de' ? 'Teile' : 'Parts'}\n- id: part.price\n  translation: ${locale === 'de' ? 'Preis' : 'Price'}\n`,
    )
  writeFileSync(
    join(folder, 'templates', 'parts.pug'),
    `extends /layout
block title
  = t('parts')
block content
  .page-header
    h1= t('parts')
    .actions
      a.button(href=query.csvUrl)= t('kit.csv')
      a.button(href=partsImportPath())= t('kit.import')
  != filterForm(query)
  if parts.length > 0
    != bulkForm(query, pagination)
    table.records
      thead
        tr
          th(scope='col'): span.visually-hidden= t('kit.bulk')
          th(scope='col')= label('part.name')
      tbody
        each part in parts
          tr
            td.select!= bulkBox(part)
            th(scope='row')= part.name
  != paginator(pagination)
`,
  )
  return folder
}
let files: string | undefined

/** The options of `partsApp`. */
interface PartsOptions extends AppOptions {
  hasCsrf?: boolean
  aboveTransaction?: Middleware
  belowTransaction?: Middleware
}

const pass: Middleware = (_ctx, next) => next()

/** An application with the parts. The `X-User` header has the user, by default `ada`. */
export function partsApp(database: Database, options: PartsOptions = {}): App {
  const { hasCsrf, aboveTransaction = pass, belowTransaction = pass, ...settings } = options
  const folder = (files ??= writeFiles())
  const templates = join(folder, 'templates')
  const app = new App({ env: 'test', logger: pino({ enabled: false }), templates, ...settings })
  app.use(translations(join(folder, 'locales')))
  if (hasCsrf) app.use(csrf())
  app.use((ctx, next) => {
    Object.assign(ctx, { user: ctx.get('X-User') || 'ada' })
    return next()
  })
  app.use(aboveTransaction, transaction(database), belowTransaction)
  app.resource(SuppliersResource)
  app.resource(PartsResource)
  app.resource(OffersResource)
  return app
}

/** Inserts parts of a user. */
export async function insertParts(
  database: Database,
  parts: readonly Partial<Part>[],
  user_id = 'ada',
): Promise<Part[]> {
  return database.transaction(async (tx) => {
    const made: Part[] = []
    for (const [index, part] of parts.entries()) {
      const own = {
        user_id,
        sku: `${user_id}-${String(index).padStart(3, '0')}`,
        name: `Bolt ${index}`,
        ...part,
      }
      made.push(await tx.save(Object.assign(new Part(), own)))
    }
    return made
  })
}

/** Inserts a supplier of a user. */
export function insertSupplier(database: Database, code: string, user_id = 'ada'): Promise<Supplier> {
  return database.transaction((tx) => tx.save(Object.assign(new Supplier(), { code, user_id })))
}
