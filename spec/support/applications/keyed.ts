import { setTimeout } from 'node:timers/promises'
import { Column, Entity, Table, VersionColumn, type MigrationInterface, type QueryRunner } from 'typeorm'
import { pino, type Logger } from 'pino'
import {
  App,
  column,
  csrf,
  Database,
  idempotency,
  idempotencyKeysTable,
  Model,
  Present,
  primaryKey,
  timestamps,
  transaction,
  type AppOptions,
  type Context,
  type DatabaseConfig,
  type DatabaseSettings,
  type IdempotencyOptions,
  type Middleware,
  type TransactionOptions,
} from '../../../src/index.js'
import { captureLog } from '../../../src/testing/index.js'
import { databaseWithTables } from '../databases.js'
import { Site } from '../site.js'

@Entity('notes')
export class Note extends Model {
  @Present()
  @Column('varchar')
  title!: string

  @VersionColumn()
  lock_version!: number
}

class CreateNotes1795200000000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    const columns = [
      primaryKey(runner),
      column(runner, 'title', 'string'),
      column(runner, 'lock_version', 'int', { default: '1' }),
      ...timestamps(runner),
    ]
    await runner.createTable(new Table({ name: 'notes', columns }))
    await runner.createTable(idempotencyKeysTable(runner))
  }

  async down(runner: QueryRunner) {
    for (const table of ['idempotency_keys', 'notes']) await runner.dropTable(table)
  }
}

/** The database of notes and keys at this url. */
export function config(url: string, settings: Omit<DatabaseSettings, 'url'> = {}): DatabaseConfig {
  return { test: { url, ...settings }, models: [Note], migrations: [CreateNotes1795200000000] }
}

/** An application whose handlers a spec sets. */
export interface Keyed {
  app: App
  site: Site
  database: Database
  log: ReturnType<typeof captureLog>
  /** Sets the handler of POST, PATCH, PUT and DELETE at every path. */
  handle(handler: (ctx: Context) => unknown): void
  /** The titles of the notes, sorted. */
  titles(): Promise<string[]>
  /** The rows of the table of keys. */
  keys(): Promise<{ id: string; request: string; response: string; expires_at: string | number }[]>
}

/** The options of a keyed application. */
export interface KeyedOptions extends AppOptions, IdempotencyOptions {
  url?: string
  settings?: Omit<DatabaseSettings, 'url'>
  isolation?: TransactionOptions['isolation']
  /** Middleware between `transaction()` and `idempotency()`. */
  above?: Middleware[]
  /** Whether forms need the token of a page (no). */
  needsToken?: boolean
  declare?: (app: App) => void
}

/** Opens an application that recognizes keys. Its handlers save a note. */
export async function openKeyed(options: KeyedOptions): Promise<Keyed> {
  const { url, settings, above = [], by, isolation, needsToken = false, declare, ...others } = options
  const at = url ?? (await databaseWithTables('keyed', migrate))
  const database = new Database(config(at, settings), 'test')
  const log = captureLog()
  const app = new App({ env: 'test', logger: log.logger, ...others })
  let handler: (ctx: Context) => unknown = save
  if (needsToken) app.use(csrf())
  app.use(
    transaction(database, isolation && { isolation }),
    setUser,
    ...above,
    idempotency(database, by ? { by } : {}),
  )
  declare?.(app)
  for (const method of ['post', 'patch', 'put', 'delete'] as const)
    app[method]('/{*path}', (ctx) => handler(ctx))
  return {
    app,
    site: await Site.open(app),
    database,
    log,
    handle: (next) => (handler = next),
    titles: async () => (await database.manager.find(Note)).map(({ title }) => title).toSorted(),
    keys: () => database.query('SELECT * FROM idempotency_keys ORDER BY expires_at'),
  }
}

/** Runs part of a spec with its own application. */
export async function withKeyed(options: KeyedOptions, work: (keyed: Keyed) => Promise<void>): Promise<void> {
  const keyed = await openKeyed(options)
  try {
    await work(keyed)
  } finally {
    await keyed.site.close()
  }
}

/** Opens an application that the specs of a `describe` share. Each of them begins without rows, and with `save`. */
export function sharedKeyed(): (work: (keyed: Keyed) => Promise<void>) => Promise<void> {
  let shared: Keyed
  before(async () => {
    shared = await openKeyed({})
  })
  beforeEach(async () => {
    for (const table of ['idempotency_keys', 'notes']) await shared.database.query(`DELETE FROM ${table}`)
    shared.handle(save)
    shared.site.forget()
    shared.log.lines.length = 0
  })
  after(() => shared.site.close())
  return (work) => work(shared)
}

/** Saves the note of the request, and responds with it. */
export async function save(ctx: Context): Promise<void> {
  const note = ctx.bind(new Note())
  const errors = await ctx.save(note)
  if (errors) return ctx.respond(errors)
  ctx.set('Location', `/notes/${note.id}`)
  return ctx.respond(201, {
    html: () => ctx.seeOther(`/notes/${note.id}`, { success: `Saved ${note.title}.` }),
    data: note,
  })
}

/** Saves the note of the request, and fails after that from time to time. */
export async function saveOrFail(ctx: Context): Promise<void> {
  await save(ctx)
  const chance = Math.random()
  if (chance < 0.1) throw new Error('after the insert')
  if (chance < 0.2) ctx.throw(503)
  if (chance < 0.5) await setTimeout(chance * 20)
}

/** The user is named by a header. */
const setUser: Middleware = function setUser(ctx, next) {
  const id = ctx.get('X-User')
  if (id !== '') Object.assign(ctx, { user: { id } })
  return next()
}

export async function migrate(url: string): Promise<void> {
  const database = new Database(config(url), 'test')
  await database.open()
  await database.migrate()
  await database.close()
}

export const silent: Logger = pino({ level: 'silent' })
