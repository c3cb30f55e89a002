import { expect } from 'chai'
import { Expose } from 'class-transformer'
import { IsEmail } from 'class-validator'
import { Column, Entity } from 'typeorm'
import {
  App,
  BaseResource,
  Database,
  Describe,
  HttpError,
  Model,
  Present,
  Resource,
  transaction,
  type Context,
} from '../../src/index.js'
import { testApplication, type RequestOptions, type TestApplication } from '../../src/testing/index.js'
import { databaseWithTables } from '../support/databases.js'
import { openapi } from '../../src/openapi/index.js'

@Entity('notes')
class Note extends Model {
  @Column('varchar')
  @Present()
  title!: string

  @Column('varchar', { nullable: true })
  color!: string | null
}

class NoteWithAuthor extends Note {
  @Expose()
  author!: string
}

class Credentials {
  @IsEmail()
  email!: string

  @Present()
  password = ''
}

/** The way in which the next response differs from the document. */
let mutation = ''

@Resource('/notes', { model: Note, fields: ['title', 'color'] })
class NotesResource extends BaseResource {
  override async list(ctx: Context) {
    const { records } = await ctx.paginate(Note)
    if (mutation === 'one') return ctx.respond({ json: records[0] })
    return ctx.respond({ data: records.map((note) => this.mutated(ctx, note)) })
  }

  override async show(ctx: Context) {
    const note = await ctx.find(Note, ctx.params['note_id'])
    if (mutation === 'listed') return ctx.respond({ json: [note] })
    if (mutation === 'page') return ctx.respond({ html: () => (ctx.body = '<p>A page</p>') })
    if (mutation === 'nothing') return void (ctx.status = 204)
    if (mutation === 'thrown') throw new HttpError(402, 'Pay first.')
    return ctx.respond({ data: this.mutated(ctx, note) })
  }

  override async create(ctx: Context) {
    const note = ctx.bind(new Note())
    if (mutation === 'filled') note.title ??= 'Untitled'
    const errors = await ctx.save(note)
    if (errors && mutation === 'own errors') return ctx.respond(422, { json: { errors: ['title'] } })
    if (errors) return ctx.respond(errors)
    if (mutation !== 'no location') ctx.set('Location', ctx.pathFor('notePath', note))
    return ctx.respond(mutation === 'status' ? 202 : 201, { data: this.mutated(ctx, note) })
  }

  private mutated(_ctx: Context, note: Note): object {
    if (mutation === 'no location') return { ...note }
    if (mutation === 'removed') return { ...note, color: undefined }
    if (mutation === 'added') return { ...note, author: 'Ada' }
    if (mutation === 'null') return { ...note, title: null }
    return note
  }
}

@Resource('/open_notes', { model: Note })
class OpenNotesResource extends BaseResource {
  @Describe({ responses: { 200: NoteWithAuthor } })
  override async show(ctx: Context) {
    const note = await ctx.find(Note, ctx.params['open_note_id'])
    if (mutation === 'text') return void (ctx.body = note.title)
    const author = mutation === 'anonymous' ? undefined : 'Ada'
    return ctx.respond({ data: Object.assign(new NoteWithAuthor(), note, { author }) })
  }

  override async update(ctx: Context) {
    const note = await ctx.find(Note, ctx.params['open_note_id'])
    const errors = await ctx.save(mutation === 'list' ? ctx.bind(note, ['title']) : ctx.bind(note))
    return errors ? ctx.respond(errors) : ctx.respond({ data: note })
  }
}

@Resource('/logins', { singular: true })
class LoginsResource extends BaseResource {
  @Describe({ body: Credentials, responses: { 204: 'empty', 422: 'problem' } })
  override async create(ctx: Context) {
    const errors = await ctx.validate(ctx.bind(new Credentials()))
    if (errors && mutation !== 'lenient') return ctx.respond(errors)
    ctx.status = 204
  }
}

describe('testApplication(app, database, { contract: true })', () => {
  let tested: TestApplication
  let database: Database
  let note: Note
  let item: string

  before(async () => {
    const open = (url: string) => new Database({ test: { url, logging: false }, models: [Note] }, 'test')
    const url = await databaseWithTables('contract', async (created) => {
      const database = await open(created).open()
      await database.synchronize()
      await database.close()
    })
    database = open(url)
    const app = new App({ api: true, env: 'spec' })
    app.use(transaction(database))
    app.extend(openapi('/openapi.json', { title: 'Notes', version: '1' }))
    app.resource(NotesResource)
    app.resource(OpenNotesResource)
    app.resource(LoginsResource)
    tested = testApplication(app, database, { contract: true })
    await tested.hooks.beforeAll()
    note = await tested.factory.make(Note)
    item = `/notes/${note.id}`
  })

  after(() => tested.hooks.afterAll())

  afterEach(() => {
    mutation = ''
  })

  /** The message with which a request is rejected; empty if it passes. */
  async function message(
    how: string,
    method: string,
    path: string,
    options: RequestOptions = {},
  ): Promise<string> {
    mutation = how
    try {
      await tested.client.request(method, path, options)
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }

  it('accepts responses that are as the document states, and errors of the framework', async () => {
    expect(await message('', 'GET', '/notes')).to.equal('')
    expect(await message('', 'GET', item)).to.equal('')
    expect(await message('', 'GET', '/notes/unknown')).to.equal('')
    expect(await message('', 'POST', '/notes', { json: { title: 'A' } })).to.equal('')
    expect(await message('', 'POST', '/notes', { json: {} })).to.equal('')
    expect(
      await message('', 'POST', '/notes', { body: '{', headers: { 'content-type': 'application/json' } }),
    ).to.equal('')
    expect(await message('', 'POST', '/notes', { xml: { note: { title: 'A' } }, accept: 'xml' })).to.equal('')
    expect(await message('', 'GET', '/other')).to.equal('')
  })

  for (const [how, method, expected] of [
    [
      'removed',
      'GET',
      'showNote returned 200 with a body that differs from /openapi.json: /color is missing, but Note requires it. Return it, or describe the response.',
    ],
    [
      'added',
      'GET',
      'showNote returned 200 with a body that differs from /openapi.json: /author is not in Note. Exclude it, or describe the response.',
    ],
    [
      'null',
      'GET',
      'showNote returned 200 with a body that differs from /openapi.json: /title must be string in Note. Correct the value, the model, or describe the response.',
    ],
    [
      'listed',
      'GET',
      'showNote returned 200 with a body that differs from /openapi.json: the body must be one Note. Correct the handler, or describe the response.',
    ],
    [
      'nothing',
      'GET',
      "showNote returned 204, which /openapi.json does not list. Correct the handler, or describe the response: responses: { 204: 'empty' }.",
    ],
    [
      'thrown',
      'GET',
      "showNote returned 402, which /openapi.json does not list. Correct the handler, or describe the response: responses: { 402: 'problem' }.",
    ],
    [
      'status',
      'POST',
      'createNote returned 202, which /openapi.json does not list. Correct the handler, or describe the response: responses: { 202: Note }.',
    ],
    [
      'no location',
      'POST',
      'createNote returned 201 without the Location header, which /openapi.json requires. Set it, or describe the response.',
    ],
  ] as const) {
    it(`rejects a request whose response is mutated: ${how}`, async () => {
      const path = method === 'GET' ? item : '/notes'
      expect(await message(how, method, path, method === 'POST' ? { json: { title: 'A' } } : {})).to.equal(
        expected,
      )
    })
  }

  it('names the record of a list by its position', async () => {
    expect(await message('added', 'GET', '/notes')).to.include(': /0/author is not in Note.')
  })

  it('names the model when a list is not a list', async () => {
    expect(await message('one', 'GET', '/notes')).to.equal(
      'listNotes returned 200 with a body that differs from /openapi.json: the body must be a list of Note. Correct the handler, or describe ' +
        'the response.',
    )
  })

  it('compares a response with the class that describes it', async () => {
    const path = `/open_notes/${note.id}`
    expect(await message('', 'GET', path)).to.equal('')
    expect(await message('anonymous', 'GET', path)).to.include(
      '/author is missing, but NoteWithAuthor requires',
    )
    expect(await message('text', 'GET', path)).to.equal('')
  })

  it('requires the properties of a body whose class has no initial value', async () => {
    const json = { email: 'ada@example.com', password: 'secret' }
    expect(await message('', 'POST', '/logins', { json })).to.equal('')
    expect(await message('', 'POST', '/logins', { json: {} })).to.equal('')
    expect(await message('lenient', 'POST', '/logins', { json: { email: json.email } })).to.equal('')
    expect(await message('lenient', 'POST', '/logins', { json: {} })).to.include('without /email')
  })

  it('rejects errors that are not problem details', async () => {
    expect(await message('own errors', 'POST', '/notes', { json: {} })).to.equal(
      'createNote returned 422 with application/json, for which /openapi.json lists application/problem+json, application/problem+xml. Respond ' +
        'with the errors of ctx.save, or describe the response.',
    )
  })

  it('rejects a success without a property that the document requires', async () => {
    expect(await message('filled', 'POST', '/notes', { json: {} })).to.equal(
      'createNote returned 201 for a body without /title, which NoteInput of /openapi.json requires. Give title an initial value in the ' +
        'model, allow null, or reject the request.',
    )
  })

  it('rejects ctx.bind with a list in a resource without fields', async () => {
    const path = `/open_notes/${note.id}`
    expect(await message('', 'PATCH', path, { json: { title: 'B' } })).to.equal('')
    expect(await message('list', 'PATCH', path, { json: { title: 'B' } })).to.equal(
      'updateOpenNote calls ctx.bind with a list, but OpenNotesResource has no fields, so the document lists every attribute. Move ' +
        'the list to the "fields" option of @Resource.',
    )
  })

  it('needs no document that the application serves', async () => {
    const app = new App({ api: true, env: 'spec' })
    app.use(transaction(database))
    app.resource(NotesResource)
    const { client, hooks } = testApplication(app, database, { contract: true })
    await hooks.beforeAll()
    mutation = 'added'
    const rejected = await client.get(item).catch(String)
    mutation = ''
    expect((await client.get(item)).status).to.equal(200)
    await client.close()
    expect(rejected).to.equal(
      'ContractError: showNote returned 200 with a body that differs from the OpenAPI document (`kit openapi`): /author is not in Note. ' +
        'Exclude it, or describe the response.',
    )
  })

  it('rejects a 406 of a page, and accepts one for a format that the document lacks', async () => {
    const app = new App({ env: 'spec', secret: 'x'.repeat(64) })
    app.use(transaction(database))
    app.resource(NotesResource)
    const { client, hooks } = testApplication(app, database, { contract: true })
    await hooks.beforeAll()
    mutation = 'page'
    const messages = await Promise.all(
      ['json', 'xml', 'application/json;q=0.9, text/csv', 'text/csv'].map((accept) =>
        client.get(item, { accept }).then(({ status }) => String(status), String),
      ),
    )
    const page = await client.get(item, { accept: 'html' })
    await client.close()
    const rejected = (type: string) =>
      `ContractError: showNote returned 406 for ${type}, which the OpenAPI document (\`kit openapi\`) lists. Offer it, or ` +
      'describe the responses.'
    expect(messages).to.deep.equal([
      rejected('application/json'),
      rejected('application/xml'),
      rejected('application/json'),
      '406',
    ])
    expect([page.status, page.text]).to.deep.equal([200, '<p>A page</p>'])
  })

  it('skips a request with { contract: false }', async () => {
    expect(await message('added', 'GET', item, { contract: false })).to.equal('')
  })
})
