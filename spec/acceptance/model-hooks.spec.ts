import { expect } from 'chai'
import { Column, Entity, type EntityManager } from 'typeorm'
import {
  App,
  Database,
  Model,
  Present,
  transaction,
  type Context,
  type ValidationErrors,
} from '../../src/index.js'
import { newDatabase } from '../support/engine.js'
import { Site } from '../support/site.js'

@Entity('headlines')
class Headline extends Model {
  @Column('varchar')
  @Present()
  title!: string

  @Column('int')
  place!: number

  override async validateCreate(errors: ValidationErrors, tx: EntityManager): Promise<void> {
    // As most would write it: nothing is asked of the fields before.
    if (await tx.existsBy(Headline, { title: this.title })) errors.add('title', 'taken', 'Title is taken.')
    if (await tx.existsBy(Headline, { place: this.place })) errors.add('place', 'taken', 'Place is taken.')
  }
}

describe("A model's hook that asks the database", () => {
  let site: Site
  const create = (json: object) => site.post('/headlines', { json, accept: 'application/json' })

  before(async () => {
    const database = new Database(
      { test: { url: await newDatabase(), logging: false }, models: [Headline] },
      'test',
    )
    const app = new App({ api: true })
    app.use(transaction(database))
    app.post('/headlines', async (ctx: Context) => {
      const headline = ctx.bind(new Headline())
      const errors = await ctx.save(headline)
      return ctx.respond(errors?.status ?? 201, { json: errors ?? headline })
    })
    site = await Site.open(app)
    await database.synchronize()
  })
  after(() => site.close())

  it('is asked of a record that is valid otherwise', async () => {
    expect((await create({ title: 'one', place: 1 })).status).to.equal(201)
    const second = await create({ title: 'one', place: 1 })
    expect([second.status, second.json.errors]).to.deep.equal([
      422,
      { title: ['Title is taken.'], place: ['Place is taken.'] },
    ])
  })

  for (const title of [undefined, null, '', ['one'], { a: 1 }]) {
    it(`is not asked where a rule is broken, which is 422: the title ${JSON.stringify(title)}`, async () => {
      const answer = await create({ title, place: 2 })
      expect(answer.status, answer.text).to.equal(422)
      expect(answer.json.errors).to.have.all.keys('title')
    })
  }

  it('is not asked where a field could not be read', async () => {
    const answer = await create({ title: 'two', place: 'second' })
    expect([answer.status, answer.json.errors]).to.deep.equal([
      422,
      { place: ['Place must be a whole number that is not too large.'] },
    ])
  })
})
