import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { Column, Entity, Table, TableForeignKey, VersionColumn, type QueryRunner } from 'typeorm'
import {
  App,
  BaseResource,
  column,
  csrf,
  Database,
  idempotency,
  Model,
  Present,
  primaryKey,
  Resource,
  Route,
  timestamps,
  transaction,
  parameterLogger,
  type Context,
  type Extension,
  type Middleware,
} from '../../../src/index.js'
import {
  HasFile,
  HasFiles,
  storedFiles,
  storedFilesTable,
  type StoredFile,
  type StoredFiles,
  type StoredFilesOptions,
} from '../../../src/files/index.js'
import { databaseWithTables } from '../databases.js'

/** An item with a photo and documents. */
@Entity('items')
export class Item extends Model {
  @Column('varchar')
  @Present()
  name!: string

  @HasFile({
    types: ['image/jpeg', 'image/png', 'image/gif'],
    maxSize: '20 KiB',
    maxPixels: 1_000_000,
    variants: { thumb: { width: 20, height: 20 } },
  })
  @Present()
  photo!: StoredFile

  @HasFile()
  manual?: StoredFile | null

  @HasFiles({ maxSize: '20 KiB', maxCount: 3 })
  documents!: StoredFile[]

  @VersionColumn()
  lock_version!: number
}

export async function createItemTables(runner: QueryRunner): Promise<void> {
  await runner.createTable(storedFilesTable(runner))
  const isNullable = true
  const refer = (name: string) =>
    new TableForeignKey({
      columnNames: [name],
      referencedTableName: 'stored_files',
      referencedColumnNames: ['id'],
    })
  await runner.createTable(
    new Table({
      name: 'items',
      columns: [
        primaryKey(runner),
        column(runner, 'name', 'string'),
        column(runner, 'photo_id', 'uuid', { isUnique: true }),
        column(runner, 'manual_id', 'uuid', { isUnique: true, isNullable }),
        column(runner, 'lock_version', 'int'),
        ...timestamps(runner),
      ],
      foreignKeys: [refer('photo_id'), refer('manual_id')],
    }),
  )
  await runner.createTable(
    new Table({
      name: 'items_documents',
      columns: [
        column(runner, 'item_id', 'uuid', { isPrimary: true }),
        column(runner, 'stored_file_id', 'uuid', { isPrimary: true, isUnique: true }),
        column(runner, 'position', 'int'),
      ],
      foreignKeys: [
        new TableForeignKey({
          columnNames: ['item_id'],
          referencedTableName: 'items',
          referencedColumnNames: ['id'],
          onDelete: 'CASCADE',
        }),
        refer('stored_file_id'),
      ],
    }),
  )
}

export async function createTables(url: string): Promise<void> {
  const database = await openAt(url)
  const runner = database.createQueryRunner()
  await createItemTables(runner)
  await runner.release()
  await database.close()
}

function openAt(url: string): Promise<Database> {
  return new Database({ test: { url, logging: false }, models: [Item] }, 'test').open()
}

/** Opens a database of items that exists. */
export { openAt as openItemsAt }

/** A database with the tables of items. */
export async function openItems(): Promise<Database> {
  return openAt(await databaseWithTables('items', createTables))
}

/** The resource of items, as it is generated. */
@Resource('/items', { model: Item, fields: ['name', 'photo', 'manual', 'documents'] })
export class ItemsResource extends BaseResource {
  override async list(ctx: Context) {
    const { records: items } = await ctx.paginate(Item)
    return ctx.respond({ data: items })
  }

  override async show(ctx: Context) {
    const item = await this.findItem(ctx)
    return ctx.respond({ html: () => page(ctx, item), data: item })
  }

  override async new(ctx: Context) {
    return page(ctx, new Item())
  }

  override async create(ctx: Context) {
    const item = ctx.bind(new Item())
    const errors = await ctx.save(item)
    if (errors) return ctx.respond(errors, { html: () => page(ctx, item, errors) })
    if (item.name === 'throw') throw new Error('The handler has failed.')
    return ctx.respond(201, { html: () => ctx.seeOther(`/items/${item.id}`), data: item })
  }

  override async update(ctx: Context) {
    const item = ctx.bind(await this.findItem(ctx))
    const errors = await ctx.save(item)
    if (errors) return ctx.respond(errors, { html: () => page(ctx, item, errors) })
    return ctx.respond({ html: () => ctx.seeOther(`/items/${item.id}`), data: item })
  }

  override async destroy(ctx: Context) {
    await ctx.destroy(await this.findItem(ctx))
    ctx.status = 204
  }

  @Route('GET', '/{item_id}/files/{stored_file_id}', { responses: { 200: '*/*' } })
  async file(ctx: Context) {
    return ctx.sendFile(await this.findItem(ctx))
  }

  private findItem(ctx: Context) {
    return ctx.find(Item, ctx.params.item_id)
  }
}

/** A page with the form of an item. */
function page(ctx: Context, item: Item, errors?: unknown): void {
  ctx.render('item', { item, errors })
}

const template = `
- const form = formFor(item, { action: item.id ? '/items/' + item.id : '/items', method: item.id ? 'PUT' : 'POST', errors })
doctype html
html(lang='en')
  head: title Item
  body: main
    form(action=form.action, method='post')
      != form.hiddenFields()
      != form.errorSummary()
      != form.text('name', { required: true })
      != form.file('photo', { required: true })
      != form.file('manual')
      != form.file('documents')
      != form.submit()
`

/** The options of the application, and middleware that its specs add. */
export interface ItemsOptions extends StoredFilesOptions {
  idempotent?: boolean
  logger?: Logger
  aboveTransaction?: Middleware
  belowTransaction?: Middleware
  /** An extension above all others. */
  outermost?: Extension
}

/** The application, whose users are those of the `User` header. */
export function itemsApp(
  database: Database,
  folder: string,
  { idempotent = false, ...options }: ItemsOptions = {},
): { app: App; files: StoredFiles } {
  const { logger, outermost, aboveTransaction: _above, belowTransaction: _below, ...given } = options
  const templates = join(folder, 'templates')
  mkdirSync(templates, { recursive: true })
  writeFileSync(join(templates, 'item.pug'), template)
  const app = new App({ templates, ...(logger && { logger }) })
  const files = storedFiles(database, given)
  if (outermost) app.extend(outermost)
  app.use(parameterLogger())
  if (options.aboveTransaction) app.use(options.aboveTransaction)
  app.use(transaction(database), setUser)
  app.use(csrf())
  app.extend(files)
  if (idempotent) app.use(idempotency(database))
  if (options.belowTransaction) app.use(options.belowTransaction)
  app.post('/uploads', files.upload)
  app.get('/downloads/{token}', files.download)
  app.resource(ItemsResource)
  return { app, files }
}

function setUser(ctx: Context, next: () => Promise<unknown>): Promise<unknown> {
  const id = ctx.get('User')
  if (id !== '') Object.assign(ctx, { user: { id } })
  return next()
}
