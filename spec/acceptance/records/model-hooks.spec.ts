import { expect } from 'chai'
import { Column, Entity, type EntityManager } from 'typeorm'
import {
  App,
  Database,
  Model,
  Present,
  transaction,
  translations,
  BaseResource,
  Resource,
  ValidationErrors,
  type Context,
} from '../../../src/index.js'
import { newDatabase } from '../../support/databases.js'
import { writeLocales } from '../../support/locales.js'
import { Site } from '../../support/site.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

@Entity('headlines')
class Headline extends Model {
  @Column('varchar')
  @Present()
  title!: string

  @Column('int')
  place!: number

  override async validateCreate(errors: ValidationErrors, tx: EntityManager): Promise<void> {
    // As most people would write it: the hook does not check the fields first.
    if (await tx.existsBy(Headline, { title: this.title })) errors.add('title', 'taken', 'Title is taken.')
    if (await tx.existsBy(Headline, { place: this.place })) errors.add('place', 'taken', 'Place is taken.')
  }
}

@Entity('articles')
class Article extends Model {
  @Column('varchar')
  title!: string

  override validateCreate(errors: ValidationErrors): void {
    errors
      .add('title', 'taken', 'Title is taken.')
      .add('title', 'early', 'It is too early.')
      .add('place', 'full', 'The place is full.')
      .add('place', 'late', 'It is too late.')
      .add('place', 'taken')
      .add('base', 'strange')
  }

  override validateUpdate(errors: ValidationErrors): void {
    errors.add('title', 'taken', 'Title is taken.').add('place', 'full', 'The place is full.')
  }
}

describe("An error that a model's hook adds", () => {
  let site: Site
  let database: Database

  before(async () => {
    const folder = await writeLocales(temporaryFolder(), {
      'texts.en-us.yaml': { 'validation.early': 'Not yet.' },
      'texts.de.yaml': {
        'validation.article.title.taken': '{{attribute}}: gibt es schon.',
        'validation.full': '{{attribute}} ist voll.',
        'article.title': 'Überschrift',
      },
    })
    database = new Database({ test: { url: await newDatabase(), logging: false }, models: [Article] }, 'test')
    const app = new App({ api: true })
    app.use(transaction(database))
    app.use(translations(folder))
    app.post('/articles', async (ctx: Context) => {
      const errors = await ctx.save(ctx.bind(new Article()))
      return ctx.respond(errors?.status ?? 201, { json: errors, xml: errors })
    })
    app.put('/articles/{id}', async (ctx: Context) => {
      const article = await ctx.find(Article, ctx.params['id'])
      const errors = await ctx.save(ctx.bind(article))
      return ctx.respond(errors?.status ?? 200, { json: errors })
    })
    site = await Site.open(app)
    await database.synchronize()
  })
  after(() => site.close())

  const create = (language: string, accept: string) =>
    site.post('/articles', { json: { title: 'one' }, accept, headers: { 'Accept-Language': language } })

  it('is translated: for the field, by the application, as given, and by the framework, in this order', async () => {
    const { status, json, headers } = await create('de', 'application/json')
    expect([status, headers.get('Content-Language')]).to.deep.equal([422, 'de'])
    expect(json).to.deep.include({
      detail: 'Der Eintrag ist ungültig.',
      errors: {
        title: ['Überschrift: gibt es schon.', 'Not yet.'],
        place: ['Place ist voll.', 'It is too late.', 'Place ist bereits vergeben.'],
        base: ['Article ist ungültig.'],
      },
      codes: { title: ['taken', 'early'], place: ['full', 'late', 'taken'], base: ['strange'] },
    })
  })

  it('is translated in the same order if it is added to a record that is updated', async () => {
    const article = Object.assign(new Article(), { title: 'one' })
    await database.manager.insert(Article, article)
    const { status, json } = await site.put(`/articles/${article.id}`, {
      json: { title: 'two' },
      accept: 'application/json',
      headers: { 'Accept-Language': 'de' },
    })
    expect([status, json.errors]).to.deep.equal([
      422,
      { title: ['Überschrift: gibt es schon.'], place: ['Place ist voll.'] },
    ])
  })

  it('has the given message if the application has no translation', async () => {
    const { json } = await create('en', 'application/json')
    expect(json).to.deep.include({
      detail: 'The record is not valid.',
      errors: {
        title: ['Title is taken.', 'Not yet.'],
        place: ['The place is full.', 'It is too late.', 'Place has already been taken.'],
        base: ['Article is not valid.'],
      },
    })
  })

  it('is in XML, with the codes', async () => {
    const { text } = await create('de', 'application/xml')
    expect(text).to.contain(
      '<codes><title><code>taken</code><code>early</code></title>' +
        '<place><code>full</code><code>late</code><code>taken</code></place><base><code>strange</code></base></codes>',
    )
  })
})

describe('An error that a handler adds', () => {
  let site: Site
  const app = new App({ env: 'test' })

  class SignIn {
    @Present()
    email = ''
  }

  before(async () => {
    const folder = await writeLocales(temporaryFolder(), {
      'texts.de.yaml': {
        'validation.article.title.taken': '{{attribute}}: gibt es schon.',
        'validation.wrong': 'Das ist falsch.',
        'article.title': 'Überschrift',
      },
    })
    app.use(translations(folder))
    const errors = () => new ValidationErrors().add('title', 'taken', 'Taken.').add('title', 'unknown')
    @Resource('/articles', { model: Article })
    class ArticlesResource extends BaseResource {
      override create(ctx: Context) {
        return ctx.respond(errors(), { html: () => (ctx.body = 'html') })
      }

      override update(): never {
        throw errors()
      }
    }
    app.resource(ArticlesResource)
    app.post('/session', async (ctx: Context) => {
      const failed = (await ctx.validate(ctx.bind(new SignIn()))) ?? new ValidationErrors()
      return ctx.respond(failed.add('email', 'wrong', 'Wrong.').add('email', 'taken'))
    })
    site = await Site.open(app)
  })
  after(() => site.close())

  const headers = { 'Accept-Language': 'de' }

  for (const method of ['post', 'put'] as const) {
    it(`is translated in the same order if the handler ${method === 'put' ? 'throws it' : 'responds with it'}`, async () => {
      const path = method === 'put' ? '/articles/1' : '/articles'
      const response = await site[method](path, { json: {}, accept: 'json', headers })
      expect([response.status, response.headers.get('Content-Language')]).to.deep.equal([422, 'de'])
      expect(response.json).to.deep.include({
        errors: { title: ['Überschrift: gibt es schon.', 'Überschrift ist ungültig.'] },
        codes: { title: ['taken', 'unknown'] },
      })
    })
  }

  it('is translated beside those of validation, without the texts of a model', async () => {
    const { json } = await site.post('/session', { json: {}, accept: 'json', headers })
    expect(json.errors).to.deep.equal({
      email: ['Email darf nicht leer sein.', 'Das ist falsch.', 'Email ist bereits vergeben.'],
    })
  })
})

describe("A model's hook that queries the database", () => {
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

  it('runs for a record that is otherwise valid', async () => {
    expect((await create({ title: 'one', place: 1 })).status).to.equal(201)
    const second = await create({ title: 'one', place: 1 })
    expect([second.status, second.json.errors]).to.deep.equal([
      422,
      { title: ['Title is taken.'], place: ['Place is taken.'] },
    ])
  })

  for (const title of [undefined, null, '', ['one'], { a: 1 }]) {
    it(`does not run if a rule is broken, which returns 422: the title ${JSON.stringify(title)}`, async () => {
      const response = await create({ title, place: 2 })
      expect(response.status, response.text).to.equal(422)
      expect(response.json.errors).to.have.all.keys('title')
    })
  }

  it('does not run if a field could not be read', async () => {
    const response = await create({ title: 'two', place: 'second' })
    expect([response.status, response.json.errors]).to.deep.equal([
      422,
      { place: ['Place must be a whole number that is not too large.'] },
    ])
  })
})
