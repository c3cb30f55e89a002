import { Check, Column, Entity, Index, JoinColumn, ManyToOne, Unique } from 'typeorm'
import { columnTypes } from '../../../src/models/attributes/kinds.js'
import {
  App,
  Database,
  Model,
  transaction,
  type Context,
  type DatabaseSettings,
  type TransactionOptions,
} from '../../../src/index.js'
import { captureLog } from '../../../src/testing/index.js'
import { databaseWithTables } from '../databases.js'
import { engine } from '../engine.js'
import { Site } from '../site.js'

@Entity('shelves')
export class Shelf extends Model {
  @Column(columnTypes.string)
  name!: string

  @Column(columnTypes.int, { default: 0 })
  count!: number
}

/** A model with a rule of every kind that a database can have. */
@Entity('books')
@Unique(['shelf_id', 'place'])
@Check('books_check_pages', 'pages < 1000')
export class Book extends Model {
  @Column(columnTypes.string, { length: 10, unique: true })
  title!: string

  @Index('books_by_number', { unique: true })
  @Column(columnTypes.string, { nullable: true })
  number!: string | null

  @Column(columnTypes.string, { name: 'e_mail', unique: true, nullable: true })
  email!: string | null

  @Column(columnTypes.uuid, { nullable: true })
  code!: string | null

  @Column(columnTypes.uuid, { nullable: true })
  shelf_id!: string | null

  @ManyToOne(() => Shelf)
  @JoinColumn({ name: 'shelf_id' })
  shelf?: Shelf

  @Column(columnTypes.int, { nullable: true })
  place!: number | null

  @Column(columnTypes.int, { default: 1 })
  pages!: number

  @Column(columnTypes.bigint, { nullable: true })
  views!: string | null

  @Column(columnTypes.decimal, { precision: 6, scale: 2, nullable: true })
  price!: string | null

  @Column(columnTypes.date, { nullable: true })
  printed!: string | null

  @Column(columnTypes.json, { nullable: true })
  notes!: unknown

  @Column(columnTypes.enum, { enum: ['novel', 'poems'], nullable: true })
  kind!: string | null
}

/** An application whose handlers a spec sets. */
export interface Library {
  site: Site
  database: Database
  /** The lines of the log. */
  log: ReturnType<typeof captureLog>
  /** Sets the handler of every method at `/`. */
  handle(handler: (ctx: Context) => unknown): void
}

/** The options of a library. */
export interface LibraryOptions extends TransactionOptions {
  settings?: Omit<DatabaseSettings, 'url'>
  url?: string
  /** Whether it has no sessions (default: true). */
  api?: boolean
}

/** Runs part of a spec with its own library. */
export async function withLibrary(
  { settings, url, api = true, ...options }: LibraryOptions,
  work: (library: Library) => Promise<void>,
): Promise<void> {
  if (url) await createTables(url)
  const test = { url: url ?? (await databaseWithTables('library', createTables)), ...settings }
  const database = new Database({ test, models: [Shelf, Book], migrations: [] }, 'test')
  const log = captureLog()
  const app = new App({ api, logger: log.logger })
  let handler: (ctx: Context) => unknown = () => {}
  app.use(transaction(database, options))
  for (const method of ['get', 'post', 'put', 'delete', 'patch'] as const)
    app[method]('/', (ctx) => handler(ctx))
  const site = await Site.open(app)
  try {
    await work({ site, database, log, handle: (next) => (handler = next) })
  } finally {
    await site.close()
  }
}

/** Creates the tables, without the limits that a spec sets: on a busy machine this takes longer than some of them. */
async function createTables(url: string): Promise<void> {
  const database = new Database({ test: { url }, models: [Shelf, Book], migrations: [] }, 'test')
  try {
    await database.open()
    await database.synchronize()
    // TypeORM creates no checks on MariaDB.
    if (engine === 'mariadb')
      await database.query('ALTER TABLE books ADD CONSTRAINT books_check_pages CHECK (pages < 1000)')
  } finally {
    await database.close()
  }
}

/** A new shelf, saved. */
export async function newShelf(database: Database, name = 'a'): Promise<Shelf> {
  return database.manager.save(Object.assign(new Shelf(), { name, count: 0 }))
}
