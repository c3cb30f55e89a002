import { Validator } from '@seriousme/openapi-schema-validator'
import { expect } from 'chai'
import { Type } from 'class-transformer'
import { IsOptional } from 'class-validator'
import { App, BaseResource, Describe, Queryable, Resource, Route, type Context } from '../../src/index.js'
import { buildDocument, documentsOf, type OpenApiDocument } from '../../src/openapi/document.js'
import { documentedApplication, Message, TagsResource } from '../support/applications/documented.js'
import { Letter } from '../support/applications/letters.js'
import { loadExample } from '../support/applications/example.js'
import { loadExampleMembers } from '../support/applications/example-members.js'
import { Site } from '../support/site.js'
import { openapi } from '../../src/openapi/index.js'

/** The document of an application at a path. */
function documentOf({ declarations }: App, path = '/openapi.json'): OpenApiDocument {
  const all = documentsOf(declarations, { title: 'Application', version: '1' })
  const declared = all.find((one) => one.path === path)
  if (!declared) throw new Error(`${path} is not one of ${all.map((one) => one.path).join(', ')}.`)
  return buildDocument(declarations, declared).document
}

// oxlint-disable-next-line no-explicit-any
type Any = any

describe('The OpenAPI document', () => {
  let site: Site
  let document: OpenApiDocument
  let schemas: Record<string, Any>

  before(async () => {
    const { app } = await documentedApplication()
    site = await Site.open(app)
    const response = await site.get('/openapi.json')
    expect(response.status, response.text).to.equal(200)
    document = response.json
    schemas = document.components.schemas
  })

  after(() => site.close())

  const operation = (method: string, path: string): Any => document.paths[path]?.[method]

  it('is valid by the schema of OpenAPI 3.1', async () => {
    for (const path of ['/openapi.json', '/v2/openapi.json']) {
      const { json } = await site.get(path)
      const { valid, errors } = await new Validator().validate(json)
      expect(valid, JSON.stringify(errors)).to.equal(true)
    }
  })

  it('of both examples is valid', async () => {
    for (const { app } of [await loadExample('blog'), await loadExampleMembers()]) {
      const { valid, errors } = await new Validator().validate(documentOf(app) as Any)
      expect(valid, JSON.stringify(errors)).to.equal(true)
    }
  })

  it('has the tags and the conditions of a model with a version', () => {
    @Resource('/letters', { model: Letter, fields: ['title'], requireMatch: true })
    class LettersResource extends BaseResource {
      @Route('POST', '/{letter_id}/seal', { responses: { 200: Letter } })
      seal() {}
      override create() {}
      override show() {}
      override update() {}
    }
    const app = new App({ api: true })
    app.extend(openapi('/openapi.json', { title: 'Letters', version: '1' }))
    app.resource(LettersResource)
    const { paths, components } = documentOf(app) as Any
    const item = paths['/letters/{letter_id}']
    const statusesOf = ({ responses }: Any) => Object.keys(responses)
    expect(statusesOf(item.get)).to.deep.equal(['200', '404', 'default'])
    expect(statusesOf(item.put)).to.deep.equal(['200', '404', '409', '412', '422', '428', 'default'])
    expect(statusesOf(paths['/letters'].post)).to.deep.equal(['201', '409', '422', 'default'])
    const seal = paths['/letters/{letter_id}/seal'].post
    expect(statusesOf(seal)).to.include('412').and.not.include('428')
    for (const one of [item.get.responses[200], item.put.responses[200], seal.responses[200]])
      expect(one.headers).to.have.property('ETag')
    expect(item.put.responses[409]).to.not.have.property('headers')
    expect(item.put.parameters.map(({ name }: Any) => name)).to.deep.equal(['letter_id', 'If-Match'])
    expect(item.get.parameters.map(({ name }: Any) => name)).to.deep.equal(['letter_id'])
    const { Letter: shown, LetterChanges: changes, LetterInput: input, Problem: problem } = components.schemas
    expect(shown.required).to.include('lock_version')
    expect(changes.properties).to.have.keys('title', 'lock_version')
    expect(changes.properties.lock_version.type).to.deep.equal(['integer', 'null'])
    expect(input.properties).to.have.keys('title')
    expect(problem.properties.type.type).to.equal('string')
  })

  it('has the page parameters and headers of every handler with @Queryable that returns a list', () => {
    @Resource('/letters', { model: Letter })
    class LettersResource extends BaseResource {
      @Route('GET', '/drafts', { responses: { 200: [Letter] } })
      @Queryable({})
      drafts() {}

      @Route('GET', '/recent', { responses: { 200: [Letter] } })
      recent() {}
    }
    const app = new App({ api: true })
    app.resource(LettersResource)
    const { paths } = documentOf(app) as Any
    const drafts = paths['/letters/drafts'].get
    expect(drafts.parameters.map(({ name }: Any) => name)).to.deep.equal(['page', 'per_page'])
    expect(drafts.responses[200].headers).to.have.keys('Link', 'X-Total-Count')
    const recent = paths['/letters/recent'].get
    expect(recent).to.not.have.property('parameters')
    expect(recent.responses[200]).to.not.have.property('headers')
  })

  it('has the security and the limits of accounts', async () => {
    const { app } = await loadExampleMembers()
    const { paths, components } = documentOf(app) as Any
    const list = paths['/posts'].get
    expect(list.security).to.deep.equal([{ session: [] }])
    expect(list.responses[401].headers['WWW-Authenticate'].required).to.equal(true)
    expect(components.securitySchemes).to.deep.equal({
      session: { type: 'apiKey', in: 'cookie', name: '_members_session' },
    })
    const signIn = paths['/session'].post
    expect(signIn.security).to.deep.equal([])
    expect(Object.keys(signIn.responses)).to.deep.equal(['200', '401', '404', '429', 'default'])
    expect(signIn.responses[429].headers).to.have.property('Retry-After')
    expect(signIn.responses[200].headers).to.have.keys('RateLimit', 'RateLimit-Policy')
    const reset = paths['/password_reset']
    expect(Object.keys(reset.post.responses)).to.deep.equal(['200', '404', '429', 'default'])
    expect(Object.keys(reset.put.responses)).to.deep.equal(['200', '404', '422', 'default'])
    expect(components.schemas.NewPasswordBody.required).to.deep.equal(['password'])
    expect(Object.keys(paths).filter((path) => path.includes('/open/'))).to.deep.equal([])
    expect(JSON.stringify(components.schemas)).to.not.include('password_hash')
  })

  it('has the same text each time, with a validator for caches', async () => {
    const first = await site.get('/openapi.json')
    const etag = first.headers.get('etag') ?? ''
    expect(etag).to.match(/^"[\w-]+"$/)
    const second = await site.get('/openapi.json', { headers: { 'if-none-match': etag } })
    expect([second.status, second.text]).to.deep.equal([304, ''])
  })

  it('lists the routes of its scope that are described, or that a model describes', () => {
    expect(Object.keys(document.paths)).to.deep.equal([
      '/early/{name}',
      '/things',
      '/things/{thing_id}',
      '/shelves',
      '/shelves/names',
      '/shelves/{shelf_id}',
      '/shelves/{shelf_id}/cover',
      '/shelves/{shelf_id}/books',
      '/shelves/{shelf_id}/books/{book_id}',
      '/shelves/{shelf_id}/books/{book_id}/chapters',
      '/shelves/{shelf_id}/books/{book_id}/chapters/{chapter_id}',
      '/tags',
      '/tags/{tag_id}',
      '/setting',
      '/messages',
      '/fail',
      '/limited/tags',
      '/limited/tags/{tag_id}',
      '/signs',
      '/signs/{sign_id}',
    ])
    expect(Object.keys(document.paths['/setting'] ?? {})).to.deep.equal(['post', 'get', 'put', 'patch'])
  })

  it('leaves the routes of an inner scope to its own document', async () => {
    const { json } = await site.get('/v2/openapi.json')
    expect(Object.keys(json.paths)).to.deep.equal(['/v2/tags', '/v2/tags/{tag_id}'])
    const tenant = await site.get('/tenant.json', { headers: { host: 'acme.example.com' } })
    expect(Object.keys(tenant.json.paths)).to.deep.equal(['/labels', '/labels/{label_id}'])
    expect(document.paths['/signs']?.['get']?.['servers']).to.deep.equal([{ url: '//api.example.com' }])
  })

  it('names operations by their own routes', () => {
    const ids = Object.values(document.paths).flatMap((item) =>
      Object.values(item).map((one) => String(one['operationId'])),
    )
    expect(ids.filter((id) => /Book|Chapter|Setting|Message|names|cover|early/i.test(id))).to.deep.equal([
      'early',
      'namesShelves',
      'coverShelf',
      'listShelfBooks',
      'createShelfBook',
      'showShelfBook',
      'patchShelfBook',
      'updateShelfBook',
      'destroyShelfBook',
      'listShelfBookChapters',
      'createShelfBookChapter',
      'showShelfBookChapter',
      'putShelfBookChapter',
      'updateShelfBookChapter',
      'destroyShelfBookChapter',
      'createSetting',
      'showSetting',
      'putSetting',
      'updateSetting',
      'sendMessage',
    ])
    expect(operation('get', '/shelves/{shelf_id}/books').summary).to.equal('Lists shelf books')
    expect(operation('post', '/things').summary).to.equal('Creates a thing')
    expect(operation('get', '/setting').summary).to.equal('Shows the setting')
    expect(operation('get', '/shelves/{shelf_id}/books').tags).to.deep.equal(['shelf books'])
  })

  it('contains what JSON shows of a record, and nothing hidden', () => {
    const shelf = schemas['Shelf']
    expect(Object.keys(shelf.properties)).to.have.members([
      'id',
      'created_at',
      'updated_at',
      'name',
      'floor',
      'size',
      'label',
      'books',
    ])
    expect(shelf.required).to.not.include('books')
    expect(shelf.properties.books.items).to.deep.equal({ $ref: '#/components/schemas/ShelfBooks' })
    expect(Object.keys(schemas['ShelfBooks'].properties)).to.have.members(['id', 'title'])
    expect(shelf.properties.size.properties.width).to.deep.equal({
      type: ['integer', 'null'],
      format: 'int32',
    })
    expect(shelf.properties.label).to.deep.equal({ type: 'string' })
    expect(schemas['Book'].properties.notes).to.deep.equal({})
    expect(schemas['Book'].properties.shelf).to.deep.equal({
      anyOf: [{ $ref: '#/components/schemas/Shelf' }, { type: 'null' }],
    })
    expect(JSON.stringify(document)).to.not.match(/secret|"code"/)
  })

  it('has a schema for each kind of attribute', () => {
    const { properties } = schemas['Thing']
    const of = (kind: string) => [properties[kind], properties[`maybe_${kind}`]]
    expect(of('string')).to.deep.equal([{ type: 'string' }, { type: ['string', 'null'] }])
    expect(of('int')[0]).to.deep.equal({ type: 'integer', format: 'int32' })
    expect(of('decimal')[0]).to.deep.equal({ type: 'string', pattern: '^-?\\d+(\\.\\d{1,2})?$' })
    expect(of('enum')).to.deep.equal([
      { type: 'string', enum: ['low', 'high'] },
      { type: ['string', 'null'], enum: ['low', 'high', null] },
    ])
    expect(of('json')).to.deep.equal([{}, {}])
    expect(of('datetime')[0]).to.deep.equal({ type: 'string', format: 'date-time' })
  })

  it('has the fields, rules and limits of a body', () => {
    const input = schemas['ShelfBookInput']
    expect(input.required).to.deep.equal(['title', 'contact', 'form'])
    expect(input.properties).to.deep.equal({
      title: { type: 'string', minLength: 2, maxLength: 20 },
      contact: { type: 'string', format: 'email' },
      form: { type: 'string', enum: ['paper', 'audio'] },
      price: { type: ['string', 'null'], pattern: '^-?\\d{1,4}(\\.\\d{1,2})?$' },
      notes: { type: ['string', 'null'] },
      tag_ids: {
        type: 'array',
        items: { type: 'string', format: 'uuid', xml: { name: 'tag_id' } },
        uniqueItems: true,
        xml: { name: 'tag_ids', wrapped: true },
      },
    })
    expect(schemas['ShelfBookChanges']).to.not.have.property('required')
    const { properties, required } = schemas['ShelfInput']
    expect(required).to.deep.equal(['name', 'floor'])
    expect(properties.name).to.deep.equal({ type: 'string', maxLength: 40, pattern: '\\S' })
    expect(properties.floor).to.deep.equal({ type: 'integer', format: 'int32', minimum: 1, maximum: 9 })
    expect(schemas['MessageBody'].required).to.deep.equal(['text', 'priority'])
  })

  it('has the parameters of a list', () => {
    const parameters: Any[] = operation('get', '/shelves').parameters
    expect(parameters.map(({ name }) => name)).to.deep.equal(
      [
        'name',
        'name.eq',
        'name.prefix',
        'name.contains',
        'name.null',
        'floor',
        'floor.gte',
        'floor.lt',
        'created_at.gte',
        'tall',
        'kind',
        'search',
        'sort',
        'include',
        'tab',
        'page',
        'per_page',
      ].toSorted(
        (a, b) =>
          parameters.findIndex((one) => one.name === a) - parameters.findIndex((one) => one.name === b),
      ),
    )
    expect(parameters.find(({ name }) => name === 'sort')).to.deep.include({
      style: 'form',
      explode: false,
      schema: {
        type: 'array',
        items: { type: 'string', enum: ['created_at', '-created_at', 'name', '-name'] },
        maxItems: 5,
        uniqueItems: true,
      },
    })
    const cursors: Any[] = operation('get', '/shelves/{shelf_id}/books').parameters
    expect(cursors.map(({ name }) => name))
      .to.include.members(['after', 'before'])
      .and.to.not.include('page')
  })

  it('has the statuses of each operation', () => {
    const statuses = (method: string, path: string) => Object.keys(operation(method, path).responses)
    expect(statuses('get', '/things')).to.deep.equal(['200', 'default'])
    expect(statuses('get', '/shelves')).to.deep.equal(['200', '400', 'default'])
    expect(statuses('post', '/things')).to.deep.equal(['201', '409', '422', 'default'])
    expect(statuses('get', '/things/{thing_id}')).to.deep.equal(['200', '404', 'default'])
    expect(statuses('put', '/shelves/{shelf_id}/books/{book_id}')).to.deep.equal([
      '200',
      '403',
      '404',
      '409',
      '422',
      'default',
    ])
    expect(statuses('delete', '/shelves/{shelf_id}/books/{book_id}/chapters/{chapter_id}')).to.include('403')
    expect(operation('post', '/things').responses[201].headers.Location.required).to.equal(true)
  })

  it('contains what middleware adds to its routes', () => {
    const limited = operation('get', '/limited/tags')
    expect(limited.responses[200].headers['X-Limit']).to.deep.equal({
      description: 'The limit',
      required: true,
      schema: { type: 'string' },
    })
    expect(limited.responses[429].description).to.equal('Too many')
    expect(limited.security).to.deep.equal([{ key: [] }])
    expect(operation('get', '/tags').security).to.deep.equal([])
    expect(document.components.securitySchemes).to.deep.equal({
      key: { type: 'apiKey', in: 'header', name: 'X-Key' },
    })
  })

  it('describes files, media types and nested classes', () => {
    const { content } = operation('post', '/shelves/{shelf_id}/cover').requestBody
    expect(Object.keys(content)).to.deep.equal(['multipart/form-data'])
    expect(content['multipart/form-data'].schema.properties.cover).to.include({ format: 'binary' })
    expect(operation('get', '/shelves/names').responses[200].content).to.have.keys('text/csv')
    expect(schemas['Receipt'].properties.lines.items).to.deep.equal({ $ref: '#/components/schemas/Line' })
  })

  it('allows null for an optional date that @Type converts', () => {
    class Meeting {
      @IsOptional()
      @Type(() => Date)
      ends?: Date | null
    }
    function meet() {}
    const app = new App({ api: true })
    app.get('/meeting', meet, { responses: { 200: Meeting } })
    const { Meeting: meeting } = (documentOf(app) as Any).components.schemas
    expect(meeting.properties.ends).to.deep.equal({ type: ['string', 'null'], format: 'date-time' })
  })
})

describe('A mistake in the OpenAPI document', () => {
  /** The message with which an application does not start. */
  async function mistake(declare: (app: App) => unknown): Promise<string> {
    const app = new App({ api: true, env: 'test' })
    app.extend(openapi('/openapi.json', { title: 'A', version: '1' }))
    try {
      declare(app)
      await app.start()
    } catch (error) {
      return String(error)
    }
    return ''
  }

  it('is a second operation of one id', async () => {
    function hello(ctx: Context) {
      ctx.body = 'hello'
    }
    const responses = { 200: 'text/plain' } as const
    expect(
      await mistake((app) => {
        app.get('/a', hello, { responses })
        app.get('/b', hello, { responses })
      }),
    ).to.equal(
      'DeclarationError: Two operations of the document /openapi.json have the id "hello": GET /a (hello) and GET /b (hello). Set ' +
        'the "operationId" option of one of them, or extend the group or host of each with openapi().',
    )
    expect(
      await mistake((app) => {
        app.get('/a', hello, { responses })
        app.get('/b', hello, { responses, operationId: 'helloAgain' })
      }),
    ).to.equal('')
  })

  it('is a second class of one name', async () => {
    const other = { Message: class Message {} }.Message
    const send = (ctx: Context) => void (ctx.body = 'sent')
    const message = await mistake((app) => {
      app.get('/a', send, { operationId: 'a', responses: { 200: Message } })
      app.get('/b', send, { operationId: 'b', responses: { 200: other } })
    })
    expect(message).to.include('Two schemas of the document /openapi.json are named "Message"')
  })

  it('is a handler without a name', async () => {
    const responses = { 200: 'text/plain' } as const
    expect(await mistake((app) => app.get('/a', () => '', { responses }))).to.include(
      'GET /a has no name in the OpenAPI document',
    )
    expect(await mistake((app) => app.get('/a', () => '', { responses, operationId: 'a' }))).to.equal('')
  })

  it('is a class without attributes', async () => {
    const empty = class Empty {}
    function show() {}
    expect(await mistake((app) => app.get('/a', show, { responses: { 200: empty } }))).to.include(
      'Empty, which show describes, has no attributes.',
    )
    const options = { body: empty, responses: { 201: 'empty' } } as const
    expect(await mistake((app) => app.post('/a', show, options))).to.include(
      'Empty, which show describes, has no attributes.',
    )
  })

  it('is a second document of one scope', async () => {
    expect(
      await mistake((app) => app.extend(openapi('/other.json', { title: 'A', version: '1' }))),
    ).to.include('The OpenAPI documents /openapi.json and /other.json describe the same routes.')
  })

  it('is @Describe with options where there is none of the seven handlers', async () => {
    expect(() => {
      // @ts-expect-error -- only false describes a class
      @Describe({ summary: 'A' })
      class Described extends TagsResource {}
      return Described
    }).to.throw('Described has @Describe with options, which only the seven handlers can have.')
    expect(() => {
      class Routed extends BaseResource {
        @Describe({ summary: 'A' })
        @Route('GET', '/b')
        one() {}
      }
      return Routed
    }).to.throw('Routed.one has @Describe with options, which only the seven handlers can have.')
    expect(() => {
      class Unrouted extends BaseResource {
        @Describe({ summary: 'A' })
        one() {}
      }
      return Unrouted
    }).to.throw('Unrouted.one has @Describe with options, which only the seven handlers can have.')
    @Resource('/a')
    class Filed extends BaseResource {
      @Describe({ files: ['cover'] })
      override show() {}
    }
    expect(await mistake((app) => app.resource(Filed))).to.include('Filed.show has files, but GET requests')
  })

  it('does not stop the start in production', async () => {
    const app = new App({ api: true, env: 'production' })
    app.extend(openapi('/openapi.json', { title: 'A', version: '1' }))
    app.get('/a', () => '', { responses: { 200: 'text/plain' } })
    await app.start()
  })
})
