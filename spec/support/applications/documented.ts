import { Exclude, Expose, Transform, Type } from 'class-transformer'
import { Allow, IsEmail, IsIn, IsInt, Length, Matches, Max, MaxLength, Min } from 'class-validator'
import {
  Column,
  Entity,
  JoinColumn,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  type Relation,
} from 'typeorm'
import { columnTypes } from '../../../src/models/attributes/kinds.js'
import {
  App,
  BaseResource,
  Database,
  Describe,
  filter,
  HttpError,
  Model,
  Parent,
  Policy,
  Present,
  Queryable,
  RecordNotFound,
  RelationIds,
  Resource,
  Route,
  transaction,
  type Context,
  type Middleware,
} from '../../../src/index.js'
import { databaseWithTables } from '../databases.js'
import { Thing } from './everything.js'
import { openapi } from '../../../src/openapi/index.js'

class Size {
  @Column(columnTypes.int, { nullable: true }) width!: number | null
  @Column(columnTypes.int, { nullable: true }) height!: number | null
}

@Entity('shelves')
export class Shelf extends Model {
  @Column('varchar', { length: 40 })
  @Present()
  @Matches(/^[a-z ]*$/i)
  name!: string

  @Column(columnTypes.int, { default: 3 })
  @IsInt()
  @Min(1)
  @Max(9)
  floor!: number

  @Column(() => Size)
  size!: Size

  // Without @Exclude, the response to a create would show it.
  @Column('varchar', { select: false, nullable: true })
  @Exclude()
  code!: string | null

  @Column('varchar', { nullable: true })
  @Exclude()
  secret!: string | null

  @Expose()
  get label(): string {
    return `Shelf ${this.name}`
  }

  @OneToMany(() => Book, (book) => book.shelf)
  books?: Relation<Book>[]
}

@Entity('tags')
export class Tag extends Model {
  @Column('varchar') name = 'new'
}

@Entity('books')
export class Book extends Model {
  @Column('varchar')
  @Length(2, 20)
  title!: string

  @Column('varchar', { nullable: true })
  @IsEmail()
  contact!: string | null

  @Column(columnTypes.enum, { enum: ['paper', 'audio'] })
  @IsIn(['paper', 'audio'])
  form!: string

  @Column(columnTypes.decimal, { precision: 6, scale: 2, nullable: true })
  price!: string | null

  @Column('text', { nullable: true })
  @Transform(({ value }) => (value === null ? null : { text: value }), { toPlainOnly: true })
  notes!: string | null

  @Column('uuid')
  shelf_id!: string

  @ManyToOne(() => Shelf, (shelf) => shelf.books)
  @JoinColumn({ name: 'shelf_id' })
  shelf?: Relation<Shelf> | null

  @ManyToMany(() => Tag)
  @JoinTable({ name: 'books_tags' })
  tags?: Relation<Tag>[]

  @RelationIds('tags')
  tag_ids!: string[]
}

@Entity('chapters')
export class Chapter extends Model {
  @Column('varchar') title!: string
  @Column('uuid') book_id!: string
}

@Entity('settings')
export class Setting extends Model {
  @Column('varchar') theme = 'light'
}

class BookPolicy extends Policy<Book> {
  scope() {
    return {}
  }
  create() {
    return true
  }
  update() {
    return true
  }
  destroy() {
    return true
  }
}

/** The handlers of a resource that generated code has. */
abstract class Served<M extends Model> extends BaseResource {
  protected abstract readonly model: new () => M
  protected abstract find(ctx: Context): Promise<M>

  protected fill(_ctx: Context, _record: M): void {}

  override async show(ctx: Context) {
    return ctx.respond({ data: await this.find(ctx) })
  }

  override async create(ctx: Context) {
    const record = ctx.bind(new this.model())
    this.fill(ctx, record)
    await this.authorize(ctx, record)
    const errors = await ctx.save(record)
    if (errors) return ctx.respond(errors)
    ctx.set('Location', `${ctx.path}/${record.id}`)
    return ctx.respond(201, { data: record })
  }

  override async update(ctx: Context) {
    const record = await this.find(ctx)
    await this.authorize(ctx, record)
    const errors = await ctx.save(ctx.bind(record))
    return errors ? ctx.respond(errors) : ctx.respond({ data: record })
  }

  override async destroy(ctx: Context) {
    const record = await this.find(ctx)
    await this.authorize(ctx, record)
    await ctx.destroy(record)
    return ctx.respond({ data: record })
  }

  protected async authorize(_ctx: Context, _record: M): Promise<void> {}
}

@Resource('/things', { model: Thing })
export class ThingsResource extends Served<Thing> {
  protected override readonly model = Thing

  override async list(ctx: Context) {
    const { records } = await ctx.paginate(Thing)
    return ctx.respond({ data: records })
  }

  protected override find(ctx: Context) {
    return ctx.find(Thing, ctx.params['thing_id'])
  }
}

@Resource('/shelves', { model: Shelf, fields: ['name', 'floor', 'secret'] })
export class ShelvesResource extends Served<Shelf> {
  protected override readonly model: new () => Shelf = Shelf

  @Queryable<Shelf>({
    filter: {
      name: ['eq', 'in', 'prefix', 'contains', 'null'],
      floor: ['in', 'gte', 'lt'],
      created_at: ['gte'],
      tall: filter('bool', () => ({})),
      kind: filter(['low', 'high'], () => ({})),
    },
    sort: ['-created_at', 'name'],
    search: ['name'],
    include: { books: ['id', 'title'] },
    params: ['tab'],
  })
  override async list(ctx: Context) {
    const { records } = await ctx.paginate(Shelf)
    return ctx.respond({ data: records })
  }

  @Route('POST', '/{shelf_id}/cover', {
    files: ['cover'],
    body: false,
    responses: { 204: 'empty', 404: 'problem' },
  })
  async cover(ctx: Context) {
    await this.find(ctx)
    ctx.status = 204
  }

  @Route('GET', '/names', { responses: { 200: 'text/csv' } })
  names(ctx: Context) {
    ctx.type = 'text/csv'
    ctx.body = 'name\n'
  }

  protected override find(ctx: Context) {
    return ctx.find(Shelf, ctx.params['shelf_id'])
  }
}

@Resource('/books', {
  model: Book,
  fields: ['title', 'contact', 'form', 'price', 'notes', 'tag_ids', 'shelf_id'],
  policy: BookPolicy,
})
@Parent(ShelvesResource)
export class BooksResource extends Served<Book> {
  protected override readonly model: new () => Book = Book

  @Queryable<Book>({ pages: 'cursor', sort: ['title'], include: { shelf: true, tags: true } })
  override async list(ctx: Context) {
    const shelf = await ctx.find(Shelf, ctx.params['shelf_id'])
    const { records } = await ctx.paginate(Book, { where: { shelf_id: shelf.id } })
    return ctx.respond({ data: records })
  }

  override async create(ctx: Context) {
    await ctx.find(Shelf, ctx.params['shelf_id'])
    return super.create(ctx)
  }

  @Route('PATCH', '/{id}', { responses: { 200: Book, 422: 'problem' } })
  async patch(ctx: Context) {
    return this.update(ctx)
  }

  protected override fill(ctx: Context, book: Book) {
    book.shelf_id = ctx.params['shelf_id'] ?? ''
  }

  protected override async find(ctx: Context) {
    const { book_id: id = '', shelf_id = '' } = ctx.params
    return ctx.findOneBy(Book, { id, shelf_id })
  }

  protected override async authorize(ctx: Context, book: Book) {
    await ctx.authorize(book)
  }
}

@Resource('/chapters', { model: Chapter, fields: ['title'] })
@Parent(BooksResource)
export class ChaptersResource extends Served<Chapter> {
  protected override readonly model: new () => Chapter = Chapter

  override async list(ctx: Context) {
    const { records } = await ctx.paginate(Chapter, { where: { book_id: ctx.params['book_id'] ?? '' } })
    return ctx.respond({ data: records })
  }

  override async create(ctx: Context) {
    await ctx.find(Book, ctx.params['book_id'])
    return super.create(ctx)
  }

  protected override fill(ctx: Context, chapter: Chapter) {
    chapter.book_id = ctx.params['book_id'] ?? ''
  }

  protected override find(ctx: Context) {
    const { chapter_id: id = '', book_id = '' } = ctx.params
    return ctx.findOneBy(Chapter, { id, book_id })
  }

  protected override async authorize(ctx: Context) {
    await ctx.authorize(await ctx.find(Book, ctx.params['book_id']), 'update')
  }
}

@Resource('/tags', { model: Tag, fields: ['name'] })
export class TagsResource extends Served<Tag> {
  protected override readonly model: new () => Tag = Tag

  override async list(ctx: Context) {
    const { records } = await ctx.paginate(Tag)
    return ctx.respond({ data: records })
  }

  protected override find(ctx: Context) {
    return ctx.find(Tag, ctx.params['tag_id'])
  }
}

@Resource('/setting', { singular: true, model: Setting, fields: ['theme'] })
export class SettingResource extends Served<Setting> {
  protected override readonly model: new () => Setting = Setting

  @Describe(false)
  override async destroy() {}

  @Describe(false)
  @Route('GET', '/defaults', { responses: { 200: Setting } })
  async defaults() {}

  protected override async find(ctx: Context) {
    const [found] = await ctx.findAll(Setting)
    if (!found) throw new RecordNotFound('Setting')
    return found
  }
}

class Line {
  @Allow()
  text = ''
}

export class Message {
  @IsEmail()
  email = ''

  @Present()
  @MaxLength(50)
  text!: string

  @IsInt()
  @Min(0)
  priority!: number
}

class Receipt {
  @Allow()
  number!: string

  @Type(() => Line)
  @Allow()
  lines!: Line[]
}

@Resource('/internal', { model: Tag })
@Describe(false)
class InternalResource extends TagsResource {}

async function sendMessage(ctx: Context) {
  const message = ctx.bind(new Message())
  const errors = await ctx.validate(message)
  if (errors) return ctx.respond(errors)
  return ctx.respond(202, { data: { number: '1', lines: [{ text: message.text }] } })
}

function fail() {
  throw new HttpError(402, 'Pay first.')
}

const limit: Middleware = function limit(ctx, next) {
  ctx.set('X-Limit', '1')
  return next()
}
limit.openapi = {
  headers: { 'X-Limit': { description: 'The limit', required: true } },
  responses: { 429: { description: 'Too many', headers: { 'Retry-After': { description: 'Seconds' } } } },
  security: [{ name: 'key', scheme: { type: 'apiKey', in: 'header', name: 'X-Key' } }],
}

export const models = [Thing, Shelf, Tag, Book, Chapter, Setting]

/** An application with everything that an OpenAPI document can describe, and its database. */
export async function documentedApplication(): Promise<{ app: App; database: Database }> {
  const open = (url: string) =>
    new Database({ test: { url, logging: false }, models, migrations: [] }, 'test')
  const url = await databaseWithTables('documented', async (created) => {
    const database = open(created)
    await database.open()
    await database.synchronize()
    await database.migrate()
    await database.close()
  })
  const database = open(url)
  const app = new App({ api: true })
  app.get('/early/{name}', early, { responses: { 200: 'text/plain' } })
  app.extend(
    openapi('/openapi.json', {
      title: 'Library',
      version: '2',
      description: 'Books',
      license: { name: 'MIT', identifier: 'MIT' },
    }),
  )
  app.use(transaction(database))
  app.resource(ThingsResource)
  app.resource(ShelvesResource)
  app.resource(BooksResource)
  app.resource(ChaptersResource)
  app.resource(TagsResource)
  app.resource(SettingResource)
  app.resource(InternalResource)
  app.post('/messages', sendMessage, { body: Message, responses: { 202: Receipt, 422: 'problem' } })
  app.get('/fail', fail, { responses: { 200: 'text/plain', 402: 'problem' }, deprecated: true })
  app.get('/undocumented', early)
  app.get('/files/{*file}', early, { responses: { 200: 'text/plain' } })
  app.group('/limited', (limited) => {
    limited.use(limit)
    limited.resource(TagsResource)
  })
  app.group('/v2', (v2) => {
    v2.extend(openapi('/openapi.json', { title: 'Library', version: '2' }))
    v2.resource(TagsResource)
  })
  app.host('{tenant}.example.com', (tenant) => {
    tenant.extend(openapi('/tenant.json', { title: 'Tenant', version: '1' }))
    tenant.resource('/labels', TagsResource)
  })
  app.host('api.example.com', (api) => void api.resource('/signs', TagsResource))
  return { app, database }
}

function early(ctx: Context) {
  ctx.body = `Hello ${ctx.params['name']}`
}
