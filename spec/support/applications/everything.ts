import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  Column,
  Entity,
  Table,
  type FindOptionsWhere,
  type MigrationInterface,
  type QueryRunner,
} from 'typeorm'
import { coerce } from '../../../src/models/attributes/coerce.js'
import { attributesOf, type AttributeKind } from '../../../src/models/attributes/attributes.js'
import { RecordNotFound } from '../../../src/errors.js'
import type { ColumnDetails } from '../../../src/database/engines/engine.js'
import { columnTypes } from '../../../src/models/attributes/kinds.js'
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
  type Context,
} from '../../../src/index.js'
import { newDatabase } from '../databases.js'
import { Site } from '../site.js'
import { temporaryFolder } from '../temporary-folder.js'

const levels = ['low', 'high']

/** A model with an attribute of every kind, and a nullable one of each. */
@Entity('things')
export class Thing extends Model {
  @Column(columnTypes.string) string!: string
  @Column(columnTypes.text) text!: string
  @Column(columnTypes.int) int!: number
  @Column(columnTypes.bigint) bigint!: string
  @Column(columnTypes.float) float!: number
  @Column(columnTypes.decimal, { precision: 10, scale: 2 }) decimal!: string
  @Column(columnTypes.bool) bool!: boolean
  @Column(columnTypes.date) date!: string
  @Column(columnTypes.time) time!: string
  @Column({ type: columnTypes.datetime }) datetime!: Date
  @Column(columnTypes.uuid) uuid!: string
  @Column(columnTypes.json) json!: unknown
  @Column(columnTypes.enum, { enum: levels }) enum!: string

  @Column(columnTypes.string, { nullable: true }) maybe_string!: string | null
  @Column(columnTypes.text, { nullable: true }) maybe_text!: string | null
  @Column(columnTypes.int, { nullable: true }) maybe_int!: number | null
  @Column(columnTypes.bigint, { nullable: true }) maybe_bigint!: string | null
  @Column(columnTypes.float, { nullable: true }) maybe_float!: number | null
  @Column(columnTypes.decimal, { precision: 20, scale: 4, nullable: true }) maybe_decimal!: string | null
  @Column(columnTypes.bool, { nullable: true }) maybe_bool!: boolean | null
  @Column(columnTypes.date, { nullable: true }) maybe_date!: string | null
  @Column(columnTypes.time, { nullable: true }) maybe_time!: string | null
  @Column({ type: columnTypes.datetime, nullable: true }) maybe_datetime!: Date | null
  @Column(columnTypes.uuid, { nullable: true }) maybe_uuid!: string | null
  @Column(columnTypes.json, { nullable: true }) maybe_json!: unknown
  @Column(columnTypes.enum, { enum: levels, nullable: true }) maybe_enum!: string | null
}

/** Its table, as a migration of an application creates it. */
class CreateThings1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const kinds = Object.keys(columnTypes) as AttributeKind[]
    const detailsOf = (kind: AttributeKind): ColumnDetails => (kind === 'enum' ? { enum: levels } : {})
    const columns = [
      primaryKey(runner),
      ...kinds.map((kind) => column(runner, kind, kind, detailsOf(kind))),
      ...kinds.map((kind) =>
        column(runner, `maybe_${kind}`, kind, {
          ...detailsOf(kind),
          ...(kind === 'decimal' && { precision: 20, scale: 4 }),
          isNullable: true,
        }),
      ),
      ...timestamps(runner),
    ]
    await runner.createTable(new Table({ name: 'things', columns }))
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('things')
  }
}

/** The required fields of a thing, as a form sends them. */
export const thing: Record<string, string> = {
  string: 'a',
  text: 'b',
  int: '1',
  bigint: '2',
  float: '1.5',
  decimal: '2.50',
  bool: 'true',
  date: '2026-01-02',
  time: '03:04:05',
  datetime: '2026-01-02T03:04:05Z',
  uuid: '0193b6a2-7c3e-7000-8000-00000000000a',
  json: '{"a":[1]}',
  enum: 'low',
}

@Resource('/things')
class ThingsResource extends BaseResource {
  override async list(ctx: Context) {
    const { records } = await ctx.paginate(Thing)
    return ctx.respond({ json: records, xml: records, html: () => ctx.seeOther('/') })
  }

  override async show(ctx: Context) {
    return this.response(ctx, await ctx.find(Thing, ctx.params['thing_id']))
  }

  override async create(ctx: Context) {
    return this.save(ctx, new Thing(), 201)
  }

  override async update(ctx: Context) {
    return this.save(ctx, await ctx.find(Thing, ctx.params['thing_id']), 200)
  }

  override async edit(ctx: Context) {
    return ctx.render('things/edit', { thing: await ctx.find(Thing, ctx.params['thing_id']) })
  }

  override async destroy(ctx: Context) {
    const found = await ctx.find(Thing, ctx.params['thing_id'])
    await ctx.destroy(found)
    return this.response(ctx, found)
  }

  private async save(ctx: Context, record: Thing, status: number) {
    const errors = await ctx.save(ctx.bind(record))
    if (errors) throw errors
    return this.response(ctx, record, status)
  }

  private response(ctx: Context, record: Thing, status = 200) {
    return ctx.respond(status, {
      json: record,
      xml: record,
      html: () => ctx.seeOther(ctx.pathFor('thingPath', record)),
    })
  }
}

/** The values that a client sends in its query and its body. */
function valuesOf(ctx: Context): Record<string, unknown> {
  return { ...ctx.query, ...Object(ctx.request.body) }
}

/** Finds a thing by each value that a client sends, as its id. */
async function find(ctx: Context): Promise<void> {
  for (const value of Object.values(valuesOf(ctx))) {
    // Applications pass on values from clients: the compiler does not see all of them.
    const found = await orNone(ctx.find(Thing, value as string))
    if (found && found.id !== String(value).toLowerCase())
      throw new Error(`${String(value)} isn't ${found.id}`)
  }
  ctx.status = 204
}

/** Finds things by each value that a client sends for a column: only those that have this value. */
async function search(ctx: Context): Promise<void> {
  const values = valuesOf(ctx)
  for (const attribute of attributesOf(Thing)) {
    const { name, kind } = attribute
    if (!Object.hasOwn(values, name)) continue
    const where: FindOptionsWhere<Thing> = { [name]: values[name] }
    const one = await orNone(ctx.findOneBy(Thing, where))
    const { records } = await ctx.paginate(Thing, { where })
    const read = JSON.stringify(coerce(values[name], { ...attribute, nullable: false }))
    for (const record of [...records, one ?? []].flat()) {
      // MariaDB reads floats with a different last digit.
      if (kind !== 'float' && JSON.stringify(Reflect.get(record, name)) !== read)
        throw new Error(`${JSON.stringify(values[name])} as ${name} finds ${JSON.stringify(record)}`)
    }
  }
  ctx.status = 204
}

async function orNone<T>(found: Promise<T>): Promise<T | undefined> {
  return found.catch((error: unknown) => {
    if (error instanceof RecordNotFound) return undefined
    throw error
  })
}

/** A form with an input for every attribute. */
const form = `
- const form = formFor(thing, { action: thingPath(thing), method: 'PUT' })
form(action=form.action method='post')
  != form.hiddenFields()
  each prefix in ['', 'maybe_']
    != form.text(prefix + 'string')
    != form.textarea(prefix + 'text')
    != form.number(prefix + 'int')
    != form.number(prefix + 'bigint')
    != form.number(prefix + 'float', { step: 'any' })
    != form.number(prefix + 'decimal', { step: 0.01 })
    != form.date(prefix + 'date')
    != form.time(prefix + 'time')
    != form.dateTime(prefix + 'datetime')
    != form.text(prefix + 'uuid')
    != form.json(prefix + 'json')
    != form.select(prefix + 'enum', ['low', 'high'])
  != form.checkbox('bool')
  != form.select('maybe_bool', ['true', 'false'])
`

/**
 * An application with a resource of things, on its own database.
 *
 * @param template the page of the form
 */
export async function openEverything(
  template = form,
): Promise<{ site: Site; database: Database; close(): Promise<void> }> {
  const folder = temporaryFolder()
  const settings = { url: await newDatabase(), logging: false }
  const database = new Database(
    { test: settings, models: [Thing], migrations: [CreateThings1700000000000] },
    'test',
  )
  const templates = join(folder, 'templates')
  mkdirSync(join(templates, 'things'), { recursive: true })
  writeFileSync(join(templates, 'things/edit.pug'), template)
  const app = new App({ sessionName: '_things', templates })
  app.use(transaction(database))
  app.post('/find', find)
  app.post('/search', search)
  app.get('/search', search)
  app.resource(ThingsResource)
  const site = await Site.open(app, () => database.migrate())
  return {
    site,
    database,
    async close() {
      await site.close()
      rmSync(folder, { recursive: true })
    },
  }
}
