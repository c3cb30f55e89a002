import { setTimeout as delay } from 'node:timers/promises'
import { Column, Entity, Table, type MigrationInterface, type QueryRunner } from 'typeorm'
import {
  App,
  BaseResource,
  column,
  Database,
  Model,
  primaryKey,
  Resource,
  timestamps,
  transaction,
  transactionOptions,
  Use,
  type Context,
  type DatabaseSettings,
} from '../../../src/index.js'
import { Job, jobQueue, jobTables, type JobContext, type JobQueue } from '../../../src/jobs/index.js'
import { captureLog, type CapturedLog } from '../../../src/testing/index.js'

@Entity('notes')
export class Note extends Model {
  @Column('varchar')
  text!: string

  @Column('int')
  count!: number
}

export class CreateNotes1795000000000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    const [text, count] = [column(runner, 'text', 'string'), column(runner, 'count', 'int')]
    const columns = [primaryKey(runner), text, count, ...timestamps(runner)]
    await runner.createTable(new Table({ name: 'notes', columns }))
    for (const table of jobTables(runner)) await runner.createTable(table)
  }

  async down(runner: QueryRunner) {
    await runner.dropTable('job_schedules')
    await runner.dropTable('jobs')
    await runner.dropTable('notes')
  }
}

/** The port of the server that a request or a job reads. */
async function portOf(ctx: Pick<Context, 'tx'>): Promise<number> {
  const [{ port }]: [{ port: number }] = await ctx.tx.query('SELECT inet_server_port() AS port')
  return port
}

@Resource('/notes')
export class NotesResource extends BaseResource {
  override async list(ctx: Context) {
    return ctx.respond({ json: await ctx.findAll(Note) })
  }

  override async show(ctx: Context) {
    return ctx.respond({ json: await ctx.find(Note, ctx.params['note_id']) })
  }

  override async create(ctx: Context) {
    const note = ctx.bind(new Note(), ['text', 'count'])
    const errors = await ctx.save(note)
    if (errors) throw errors
    return ctx.respond(201, { json: note })
  }

  override async update(ctx: Context) {
    const note = await ctx.find(Note, ctx.params['note_id'], { lock: true })
    note.count += 1
    await ctx.save(note)
    return ctx.respond({ json: note })
  }

  override async destroy(ctx: Context) {
    await ctx.destroy(await ctx.find(Note, ctx.params['note_id']))
    return ctx.respond({ json: {} })
  }
}

@Resource('/servers')
export class ServersResource extends BaseResource {
  override async list(ctx: Context) {
    ctx.body = { port: await portOf(ctx) }
  }

  @Use(transactionOptions({ readOnly: true }))
  override async create(ctx: Context) {
    ctx.body = { port: await portOf(ctx) }
  }
}

/** Writes the port of the server that it reads to a note. */
@Job()
export class NotePort {
  async perform({ note_id }: { note_id: string }, job: JobContext): Promise<void> {
    const port = await portOf(job)
    const note = await job.find(Note, note_id)
    await job.save(Object.assign(note, { count: port }))
  }
}

/** An application whose requests read from replicas. */
export function notes(
  settings: DatabaseSettings,
  options: { api?: boolean; env?: string } = {},
): { app: App; database: Database; log: CapturedLog; jobs: JobQueue } {
  const env = options.env ?? 'staging'
  const config = { [env]: settings, models: [Note], migrations: [CreateNotes1795000000000] }
  const database = new Database(config, env)
  const log = captureLog()
  const secret = 'a secret of thirty-two characters'
  const app = new App({ ...options, env, logger: log.logger, secret, sessionName: '_notes_session' })
  const jobs = jobQueue(database, { jobs: [NotePort] })
  app.use(transaction(database)).extend(jobs)
  app.post('/ports', async (ctx) => {
    const note = Object.assign(new Note(), { text: 'port', count: 0 })
    await ctx.save(note)
    await ctx.enqueue(NotePort, { note_id: note.id })
    return ctx.respond(201, { json: note })
  })
  app.resource(NotesResource)
  app.resource(ServersResource)
  app.get('/visits', async (ctx) => {
    const visit = Object.assign(new Note(), { text: 'visit', count: 1 })
    await ctx.save(visit)
    ctx.body = { port: await portOf(ctx), id: visit.id }
  })
  app.get('/caught', async (ctx) => {
    await ctx.tx.query('SELECT 1')
    const error: unknown = await ctx.tx.query("SELECT nextval('counted')").catch((thrown: unknown) => thrown)
    ctx.body = { hasFailed: error instanceof Error, port: await portOf(ctx) }
  })
  app.get('/late-write', async (ctx) => {
    await ctx.tx.query('SELECT 1')
    await delay(Number(ctx.query['ms']))
    await ctx.tx.insert(Note, { text: 'late write', count: 0 })
    ctx.body = {}
  })
  app.get('/slow', async (ctx) => {
    await ctx.tx.query(`SELECT pg_sleep(${Number(ctx.query['seconds'])})`)
    ctx.body = { port: await portOf(ctx) }
  })
  app.get('/rows', async (ctx) => {
    ctx.body = (await ctx.tx.createQueryBuilder(Note, 'note').stream()).map(
      (row) => `${JSON.stringify(row)}\n`,
    )
  })
  for (const [name, begin] of Object.entries({
    present: { replica: false },
    recent: { replica: true },
    serializable: { isolation: 'SERIALIZABLE' },
    repeatable: { isolation: 'REPEATABLE READ' },
  } as const)) {
    const group = app.group(`/${name}`)
    group.use(transactionOptions(begin))
    group.get('/', async (ctx) => {
      ctx.body = { port: await portOf(ctx) }
    })
  }
  return { app, database, log, jobs }
}
