import { expect } from 'chai'
import { IsEnum } from 'class-validator'
import { Column, Entity } from 'typeorm'
import {
  App,
  BaseResource,
  Database,
  Model,
  Resource,
  transaction,
  type Context,
} from '../../../src/index.js'
import { newDatabase } from '../../support/databases.js'
import { Site } from '../../support/site.js'
import { openapi } from '../../../src/openapi/index.js'

enum Priority {
  None,
  Low,
  High = 5,
}

@Entity('tickets')
class Ticket extends Model {
  @Column('simple-enum', { enum: Priority })
  @IsEnum(Priority)
  priority!: Priority

  @Column('simple-enum', { enum: [1, 'two'], nullable: true })
  mixed!: 1 | 'two' | null
}

@Resource('/tickets', { model: Ticket, fields: ['priority', 'mixed'] })
class TicketsResource extends BaseResource {
  override async show(ctx: Context) {
    return ctx.respond({ data: await ctx.find(Ticket, ctx.params['ticket_id']) })
  }

  override async create(ctx: Context) {
    const ticket = ctx.bind(new Ticket())
    const errors = await ctx.save(ticket)
    return errors ? ctx.respond(errors) : ctx.respond(201, { data: ticket })
  }
}

const accept = 'json'

describe('A column with a numeric enum', () => {
  let site: Site

  before(async () => {
    const url = await newDatabase()
    const database = await new Database({ test: { url }, models: [Ticket] }, 'test').open()
    await database.synchronize()
    const app = new App({ api: true })
    app.use(transaction(database))
    app.extend(openapi('/openapi.json', { title: 'Tickets', version: '1' }))
    app.resource(TicketsResource)
    site = await Site.open(app)
  })

  after(() => site.close())

  it('is a number in responses and in bodies, which may also send it as text', async () => {
    for (const [priority, mixed] of [
      [5, 1],
      ['5', 'two'],
      ['0', null],
      [0, '1'],
    ]) {
      const { status, json, location } = await site.post('/tickets', { accept, json: { priority, mixed } })
      expect(status).to.equal(201)
      const expected = { priority: Number(priority), mixed: mixed === '1' ? 1 : mixed }
      expect(json).to.include(expected)
      expect((await site.get(location, { accept })).json).to.include(expected)
    }
    for (const priority of [2, '2', 'High', 5.5, true]) {
      const { status, json } = await site.post('/tickets', { accept, json: { priority } })
      expect([status, Object.keys(json.errors)]).to.deep.equal([422, ['priority']])
    }
  })

  it('is a number in the OpenAPI document', async () => {
    const { schemas } = (await site.get('/openapi.json')).json.components
    for (const schema of [schemas.Ticket, schemas.TicketInput]) {
      const { priority, mixed } = schema.properties
      expect(priority).to.deep.equal({ type: 'number', enum: [0, 1, 5] })
      expect(mixed).to.deep.equal({ type: ['number', 'string', 'null'], enum: [1, 'two', null] })
    }
  })
})
