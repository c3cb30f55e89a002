import { Exclude } from 'class-transformer'
import {
  BeforeUpdate,
  Column,
  Entity,
  JoinColumn,
  JoinTable,
  ManyToMany,
  ManyToOne,
  VersionColumn,
} from 'typeorm'
import type { Relation } from 'typeorm'
import {
  App,
  BaseResource,
  Database,
  Model,
  Parent,
  Present,
  RelationIds,
  Resource,
  Route,
  transaction,
  type AppOptions,
  type Context,
  type TransactionOptions,
} from '../../../src/index.js'
import { captureLog } from '../../../src/testing/index.js'
import { databaseWithTables } from '../databases.js'
import { Site } from '../site.js'

/** A plain model with a version. */
@Entity('letters')
export class Letter extends Model {
  @Present()
  @Column('varchar')
  title!: string

  @Column('varchar', { nullable: true, unique: true })
  slug!: string | null

  @Column('text', { nullable: true })
  body!: string | null

  @Column('int', { default: 0 })
  count!: number

  @Column('date', { nullable: true })
  due!: string | null

  @Column('boolean', { default: false })
  sealed!: boolean

  @Exclude({ toPlainOnly: true })
  @Column('varchar', { nullable: true })
  note!: string | null

  @Column('uuid', { nullable: true })
  reply_to_id!: string | null

  @VersionColumn()
  lock_version!: number
}

/** The same with a listener, so that TypeORM writes it on each engine. */
@Entity('heard_letters')
export class HeardLetter extends Model {
  @Present()
  @Column('varchar')
  title!: string

  @Column('int', { default: 0 })
  count!: number

  /** Any name is possible. */
  @VersionColumn()
  revision!: number

  @BeforeUpdate()
  hear(): void {
    this.title = this.title.trimEnd()
  }
}

/** A model with a policy. */
@Entity('guarded_letters')
export class GuardedLetter extends Model {
  @Present()
  @Column('varchar')
  title!: string

  @Column('boolean', { default: false })
  sealed!: boolean

  @VersionColumn()
  lock_version!: number
}

/** A model with a version that a row may lack. */
@Entity('unversioned_letters')
export class Unversioned extends Model {
  @Column('varchar')
  title!: string

  @VersionColumn({ nullable: true })
  lock_version!: number | null
}

@Entity('stamps')
export class Stamp extends Model {
  @Column('varchar')
  name!: string
}

/** A model with links. */
@Entity('parcels')
export class Parcel extends Model {
  @Present()
  @Column('varchar')
  title!: string

  @Column('date', { nullable: true })
  due!: string | null

  @Column('uuid', { nullable: true })
  letter_id!: string | null

  @ManyToOne(() => Letter)
  @JoinColumn({ name: 'letter_id' })
  letter?: Relation<Letter> | null

  @ManyToMany(() => Stamp)
  @JoinTable({ name: 'parcels_stamps' })
  stamps?: Relation<Stamp>[]

  @RelationIds('stamps')
  stamp_ids!: string[]

  @VersionColumn()
  lock_version!: number
}

/** A model without a version. */
@Entity('postcards')
export class Postcard extends Model {
  @Present()
  @Column('varchar')
  title!: string
}

const models = [Letter, HeardLetter, Unversioned, GuardedLetter, Stamp, Parcel, Postcard]
const none = '00000000-0000-0000-0000-000000000000'

/** The handlers of a generated resource. */
abstract class Handlers<T extends Model> extends BaseResource {
  abstract readonly model: new () => T

  find(ctx: Context): Promise<T> {
    return ctx.find(this.model, ctx.params[ctx.route.resource?.param ?? ''])
  }

  override async show(ctx: Context) {
    return ctx.respond({ data: await this.find(ctx) })
  }

  override async create(ctx: Context) {
    const record = ctx.bind(new this.model())
    const errors = await ctx.save(record)
    return errors ? ctx.respond(errors) : ctx.respond(201, { data: record })
  }

  override async update(ctx: Context) {
    const record = ctx.bind(await this.find(ctx))
    const errors = await ctx.save(record)
    if (errors) return ctx.respond(errors)
    return ctx.respond({ data: record })
  }

  override async destroy(ctx: Context) {
    const record = await this.find(ctx)
    await ctx.destroy(record)
    return ctx.respond({ data: record })
  }
}

@Resource('/letters', { model: Letter })
export class LettersResource extends Handlers<Letter> {
  readonly model = Letter

  override async list(ctx: Context) {
    const { records } = await ctx.paginate(this.model)
    return ctx.respond({ data: records })
  }

  @Route('POST', '/{letter_id}/seal')
  async seal(ctx: Context) {
    const letter = await this.find(ctx)
    letter.sealed = true
    const errors = await ctx.save(letter)
    return errors ? ctx.respond(errors) : ctx.respond({ data: letter })
  }

  /** Reads, computes and saves. */
  @Route('PUT', '/{letter_id}/count')
  async count(ctx: Context) {
    const letter = await this.find(ctx)
    letter.count += 1
    await ctx.save(letter)
    return ctx.respond({ data: letter })
  }

  @Route('POST', '/empty')
  async empty(ctx: Context) {
    await ctx.tx.updateAll(Letter, { body: '' })
    return ctx.respond({ data: { done: true } })
  }
}

@Resource('/heard', { model: HeardLetter })
export class HeardResource extends Handlers<HeardLetter> {
  readonly model = HeardLetter

  @Route('PUT', '/{heard_id}/count')
  async count(ctx: Context) {
    const letter = await this.find(ctx)
    letter.count += 1
    await ctx.save(letter)
    return ctx.respond({ data: letter })
  }
}

@Resource('/strict', { model: Letter, requireMatch: true })
class StrictResource extends Handlers<Letter> {
  readonly model = Letter

  @Route('POST', '/{strict_id}/seal')
  async seal(ctx: Context) {
    return ctx.respond({ data: await this.find(ctx) })
  }
}

@Resource('/titles', { model: Letter, param: 'slug' })
class TitlesResource extends Handlers<Letter> {
  readonly model = Letter

  override find(ctx: Context) {
    return ctx.findOneBy(Letter, { slug: ctx.params['slug'] })
  }
}

@Resource('/unversioned', { model: Unversioned })
class UnversionedResource extends Handlers<Unversioned> {
  readonly model = Unversioned
}

@Resource('/parcels', { model: Parcel })
class ParcelsResource extends Handlers<Parcel> {
  readonly model = Parcel
}

/** The replies to a letter. */
@Resource('/replies', { model: Letter })
@Parent(LettersResource)
class RepliesResource extends Handlers<Letter> {
  readonly model = Letter

  override find(ctx: Context) {
    return ctx.findOneBy(Letter, { id: ctx.params['reply_id'], reply_to_id: ctx.params['letter_id'] })
  }

  override async update(ctx: Context) {
    const letter = await ctx.find(Letter, ctx.params['letter_id'])
    letter.count += 1
    await ctx.save(letter)
    return super.update(ctx)
  }
}

/** The letter with the title "first". */
@Resource('/first', { model: Letter, singular: true })
class FirstResource extends Handlers<Letter> {
  readonly model = Letter

  override find(ctx: Context) {
    return ctx.findOneBy(Letter, { slug: 'first' })
  }
}

@Resource('/postcards', { model: Postcard })
class PostcardsResource extends Handlers<Postcard> {
  readonly model = Postcard
}

class LetterPolicy {
  scope() {
    return {}
  }

  update(_user: unknown, letter: GuardedLetter) {
    return !letter.sealed
  }

  destroy(_user: unknown, letter: GuardedLetter) {
    return !letter.sealed
  }

  show() {
    return true
  }
}

@Resource('/guarded', { model: GuardedLetter, policy: LetterPolicy })
class GuardedResource extends Handlers<GuardedLetter> {
  readonly model = GuardedLetter

  override async find(ctx: Context) {
    return ctx.authorize(await ctx.find(GuardedLetter, ctx.params['guarded_id']))
  }
}

/** An application with letters of every kind. */
export interface Office {
  site: Site
  database: Database
  log: ReturnType<typeof captureLog>
}

export function lettersDatabase(url: string): Database {
  return new Database({ test: { url }, models, migrations: [] }, 'test')
}

export function openLetters(url: string): Promise<Database> {
  return lettersDatabase(url).open()
}

export async function lettersUrl(): Promise<string> {
  return databaseWithTables('letters', async (url) => {
    const database = await openLetters(url)
    await database.synchronize()
    await database.close()
  })
}

/** Opens the application. */
export async function openOffice(
  options: AppOptions & TransactionOptions = {},
  extend: (app: App, database: Database) => void = () => {},
): Promise<Office> {
  const database = await openLetters(await lettersUrl())
  const log = captureLog()
  const app = lettersApp(database, { logger: log.logger, ...options })
  extend(app, database)
  return { site: await Site.open(app), database, log }
}

/** The application with the resources. */
export function lettersApp(database: Database, options: AppOptions & TransactionOptions = {}): App {
  const app = new App({ api: true, ...options })
  app.use(transaction(database, options))
  const resources = [
    HeardResource,
    UnversionedResource,
    GuardedResource,
    StrictResource,
    TitlesResource,
    ParcelsResource,
    FirstResource,
    PostcardsResource,
  ]
  const letters = app.resource(LettersResource)
  letters.resource(RepliesResource)
  for (const resource of resources) app.resource(resource)
  return app
}

/** A new record, saved with these values. */
export async function newRecord<T extends Model>(
  database: Database,
  model: new () => T,
  values: Partial<T> = {},
): Promise<T> {
  return database.manager.save(Object.assign(new model(), { title: 'first' }, values))
}

/** An id that no record has. */
export const unknownId = none
