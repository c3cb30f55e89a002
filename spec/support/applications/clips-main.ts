/**
 * Serves clips of any size from the SQLite database of `CLIPS_URL`, with their files where `TEST_FILES_URL` says. `GET /memory` responds
 * with the most bytes of memory that the process has had.
 */
import 'reflect-metadata'
import { Readable } from 'node:stream'
import { pino } from 'pino'
import { Entity, Table } from 'typeorm'
import {
  App,
  BaseResource,
  column,
  Database,
  Model,
  primaryKey,
  Resource,
  Route,
  timestamps,
  transaction,
  type Context,
} from '../../../src/index.js'
import { HasFile, storedFiles, storedFilesTable, type StoredFile } from '../../../src/files/index.js'

@Entity('clips')
class Clip extends Model {
  @HasFile({ maxSize: '2 GiB' })
  video!: StoredFile | null
}

@Resource('/clips', { model: Clip, fields: ['video'] })
class ClipsResource extends BaseResource {
  override async create(ctx: Context) {
    const clip = ctx.bind(new Clip())
    const errors = await ctx.save(clip)
    return errors ? ctx.respond(errors) : ctx.respond(201, { data: clip })
  }

  /** Makes a file of as many bytes as `?bytes=` says, and stores it. */
  @Route('POST', '/made')
  async make(ctx: Context) {
    const clip = new Clip()
    clip.video = await files.store(Readable.from([Buffer.alloc(Number(ctx.query['bytes']))]), {
      filename: 'made.bin',
    })
    const errors = await ctx.save(clip)
    return errors ? ctx.respond(errors) : ctx.respond(201, { data: clip })
  }

  @Route('GET', '/{clip_id}/files/{stored_file_id}', { responses: { 200: '*/*' } })
  async file(ctx: Context) {
    return ctx.sendFile(await ctx.find(Clip, ctx.params['clip_id']))
  }
}

const url = process.env['CLIPS_URL'] ?? ''
const database = await new Database({ test: { url }, models: [Clip] }, 'test').open()
const runner = database.createQueryRunner()
await runner.createTable(storedFilesTable(runner))
const columns = [
  primaryKey(runner),
  column(runner, 'video_id', 'uuid', { isNullable: true }),
  ...timestamps(runner),
]
await runner.createTable(new Table({ name: 'clips', columns }))
await runner.release()

const files = storedFiles(database)
const app = new App({ logger: pino({ level: 'silent' }), requestTimeout: 600_000 })
app.use(transaction(database))
app.extend(files)
app.get('/memory', (ctx) => {
  ctx.body = { bytes: process.resourceUsage().maxRSS * 1024 }
})
app.resource(ClipsResource)
process.send?.(await app.listen(0, '127.0.0.1'))
