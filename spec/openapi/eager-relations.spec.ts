import { expect } from 'chai'
import { Column, Entity, JoinColumn, JoinTable, ManyToMany, ManyToOne, type Relation } from 'typeorm'
import {
  App,
  BaseResource,
  Database,
  Model,
  Queryable,
  Resource,
  transaction,
  type Context,
} from '../../src/index.js'
import { buildDocument, documentsOf } from '../../src/openapi/document.js'
import { testApplication, type TestApplication } from '../../src/testing/index.js'
import { databaseWithTables } from '../support/databases.js'

@Entity('cities')
class City extends Model {
  @Column('varchar') name!: string
}

@Entity('makers')
class Maker extends Model {
  @Column('varchar') name!: string

  @Column('uuid', { nullable: true }) city_id!: string | null

  @ManyToOne(() => City, { eager: true })
  @JoinColumn({ name: 'city_id' })
  city?: Relation<City> | null
}

@Entity('tools')
class Tool extends Model {
  @Column('varchar') name!: string

  @Column('uuid', { nullable: true }) maker_id!: string | null

  @ManyToOne(() => Maker, { eager: true })
  @JoinColumn({ name: 'maker_id' })
  maker?: Relation<Maker> | null

  @ManyToMany(() => City, { eager: true })
  @JoinTable({ name: 'tools_cities' })
  cities?: Relation<City>[]
}

@Resource('/tools', { model: Tool, fields: ['name', 'maker_id'] })
class ToolsResource extends BaseResource {
  @Queryable<Tool>({ include: { maker: ['name'] } })
  override async list(ctx: Context) {
    return ctx.respond({ data: (await ctx.paginate(Tool)).records })
  }

  override async show(ctx: Context) {
    return ctx.respond({ data: await ctx.find(Tool, ctx.params['tool_id']) })
  }

  override async create(ctx: Context) {
    const tool = ctx.bind(new Tool())
    const errors = await ctx.save(tool)
    return errors ? ctx.respond(errors) : ctx.respond(201, { data: tool })
  }
}

describe('Eager relations in the OpenAPI document', () => {
  let tested: TestApplication
  let app: App

  before(async () => {
    const models = [City, Maker, Tool]
    const open = (url: string) => new Database({ test: { url, logging: false }, models }, 'test')
    const url = await databaseWithTables('eager', async (created) => {
      const database = await open(created).open()
      await database.synchronize()
      await database.close()
    })
    const database = open(url)
    app = new App({ api: true, env: 'spec' })
    app.use(transaction(database))
    app.resource(ToolsResource)
    tested = testApplication(app, database, { contract: true })
    await tested.hooks.beforeAll()
  })

  after(() => tested.hooks.afterAll())

  it('are in the responses of a record, of a list and of a create, as the contract requires', async () => {
    const { client, factory } = tested
    const city = await factory.make(City)
    const maker = await factory.make(Maker, { city_id: city.id })
    const created = await client.post('/tools', { json: { name: 'Saw', maker_id: maker.id } })
    expect(created.status).to.equal(201)
    const { json } = await client.get(created.location)
    expect([json.maker.name, json.maker.city.name, json.cities]).to.deep.equal([maker.name, city.name, []])
    await client.post('/tools', { json: { name: 'Axe' } })
    expect((await client.get('/tools')).json).to.have.length(2)
    expect((await client.get('/tools?include=maker')).status).to.equal(200)
  })

  it('are optional, and have the schemas of their models', () => {
    const [declared] = documentsOf(app.declarations, { title: 'A', version: '1' })
    const { schemas } = buildDocument(app.declarations, declared!).document.components
    const properties = schemas['Tool']?.['properties'] as Record<string, object>
    expect(schemas['Tool']?.['required']).to.not.include.members(['maker', 'cities'])
    expect(properties['maker']).to.deep.equal({
      anyOf: [
        { $ref: '#/components/schemas/ToolMaker' },
        { $ref: '#/components/schemas/Maker' },
        { type: 'null' },
      ],
    })
    expect(properties['cities']).to.deep.include({
      type: 'array',
      items: { $ref: '#/components/schemas/City' },
    })
    expect(schemas['Maker']).to.have.nested.property(
      'properties.city.anyOf[0].$ref',
      '#/components/schemas/City',
    )
  })
})
