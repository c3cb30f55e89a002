import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { App, transaction, type Context, type Database } from '../../../src/index.js'
import { Site, type SpecRequest } from '../../support/site.js'
import { openTickets, Tag, Ticket } from '../../support/applications/tickets.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const unknown = '0193b6a2-7c3e-7000-8000-00000000000a'

describe('A many-to-many relation in requests and responses', () => {
  let database: Database
  let site: Site
  let tags: string[]
  let path: string

  before(async () => {
    database = await openTickets()
    const app = new App({ api: true })
    app.use(transaction(database))
    app.get('/tickets', async (ctx: Context) => {
      const { records } = await ctx.paginate(Ticket)
      return ctx.respond({ data: records })
    })
    app.post('/tickets', async (ctx: Context) => {
      const ticket = ctx.bind(new Ticket(), ['title', 'tag_ids'])
      const errors = await ctx.save(ticket)
      return errors ? ctx.respond(errors) : ctx.respond(201, { data: ticket })
    })
    app.get('/tickets/{ticket_id}', async (ctx: Context) =>
      ctx.respond({ data: await ctx.find(Ticket, ctx.params.ticket_id) }),
    )
    app.put('/tickets/{ticket_id}', async (ctx: Context) => {
      const ticket = ctx.bind(await ctx.find(Ticket, ctx.params.ticket_id), ['title', 'tag_ids'])
      const errors = await ctx.save(ticket)
      return errors ? ctx.respond(errors) : ctx.respond({ data: ticket })
    })
    site = await Site.open(app)
    tags = []
    for (const name of ['bug', 'urgent', 'docs'])
      tags.push((await database.manager.save(Object.assign(new Tag(), { name }))).id)
    tags.sort()
  })
  after(() => site.close())

  beforeEach(async () => {
    const { json } = await site.post('/tickets', {
      json: { title: 'First', tag_ids: [tags[2]] },
      accept: 'json',
    })
    path = `/tickets/${json.id}`
  })

  async function links(): Promise<unknown> {
    return (await site.get(path, { accept: 'json' })).json.tag_ids
  }

  const multipart = (...fields: [string, string][]) => {
    const form = new FormData()
    for (const [name, value] of fields) form.append(name, value)
    return { form }
  }
  const [a, b] = [() => tags[0] ?? '', () => tags[1] ?? '']

  /** The requests that set the first two tags, in every format. */
  const bodies: Record<string, () => SpecRequest> = {
    'a field that a form repeats': () => ({
      form: [
        ['tag_ids', a()],
        ['tag_ids', b()],
      ],
    }),
    'a field with brackets': () => ({
      form: [
        ['tag_ids[]', a()],
        ['tag_ids[]', b()],
      ],
    }),
    'a field with names in brackets': () => ({
      form: [
        ['tag_ids[x]', a()],
        ['tag_ids[y]', b()],
      ],
    }),
    'a field that a multipart form repeats': () => multipart(['tag_ids', a()], ['tag_ids', b()]),
    'a field with brackets in a multipart form': () => multipart(['tag_ids[]', a()], ['tag_ids[]', b()]),
    'a field with names in brackets in a multipart form': () =>
      multipart(['tag_ids[x]', a()], ['tag_ids[y]', b()]),
    'a list in JSON': () => ({ json: { tag_ids: [b(), a()] } }),
    'repeated ids': () => ({ json: { tag_ids: [a(), b(), a().toUpperCase()] } }),
    'empty values beside others': () => ({
      form: [
        ['tag_ids', ''],
        ['tag_ids', a()],
        ['tag_ids', b()],
      ],
    }),
    'empty values in JSON': () => ({ json: { tag_ids: ['', a(), b()] } }),
    'a list in XML': () => ({ xml: { ticket: { tag_ids: [a(), b()] } } }),
    'an element that XML repeats': () => ({
      xml: `<ticket><tag_ids>${a()}</tag_ids><tag_ids>${b()}</tag_ids></ticket>`,
    }),
  }

  for (const [what, body] of Object.entries(bodies)) {
    it(`reads ${what}`, async () => {
      const response = await site.put(path, { ...body(), accept: 'json', fromPage: true })
      expect(response.status).to.equal(200)
      expect(response.json.tag_ids).to.deep.equal([a(), b()])
      expect(await links()).to.deep.equal([a(), b()])
    })
  }

  const empty: Record<string, SpecRequest> = {
    'one empty value of a form': { form: { tag_ids: '' } },
    'one empty value of a multipart form': multipart(['tag_ids', '']),
    'an empty list in JSON': { json: { tag_ids: [] } },
    'an empty element in XML': { xml: '<ticket><tag_ids/></ticket>' },
    'an empty item in XML': { xml: '<ticket><tag_ids><tag_id/></tag_ids></ticket>' },
  }

  for (const [what, body] of Object.entries(empty)) {
    it(`removes all links for ${what}`, async () => {
      expect((await site.put(path, { ...body, accept: 'json' })).json.tag_ids).to.deep.equal([])
      expect(await links()).to.deep.equal([])
    })
  }

  it('keeps the links if the body does not contain them', async () => {
    for (const body of [{ json: { title: 'Second' } }, { form: { title: 'Third' } }])
      expect((await site.put(path, { ...body, accept: 'json' })).json.tag_ids).to.deep.equal([tags[2]])
    expect(await links()).to.deep.equal([tags[2]])
  })

  const wrong: Record<string, [body: SpecRequest, message: string, code: string]> = {
    null: [{ json: { tag_ids: null } }, 'Tags must be a list of valid values.', 'type.list'],
    'nil in XML': [
      { xml: '<ticket><tag_ids nil="true"/></ticket>' },
      'Tags must be a list of valid values.',
      'type.list',
    ],
    'null in a list': [{ json: { tag_ids: [null] } }, 'Tags must be a list of valid values.', 'type.list'],
    'a single id in JSON': [
      { json: { tag_ids: unknown } },
      'Tags must be a list of valid values.',
      'type.list',
    ],
    'an object in JSON': [
      { json: { tag_ids: { a: unknown } } },
      'Tags must be a list of valid values.',
      'type.list',
    ],
    'text that is not an id': [
      { form: { tag_ids: 'bug' } },
      'Tags must be a list of valid values.',
      'type.list',
    ],
    'an unknown id': [
      { json: { tag_ids: [unknown] } },
      'Tags contains a record that does not exist.',
      'references',
    ],
  }

  for (const [what, [body, message, code]] of Object.entries(wrong)) {
    it(`returns 422 for ${what}, and saves nothing`, async () => {
      const response = await site.put(path, { ...body, accept: 'json' })
      expect(response.status).to.equal(422)
      expect(response.json).to.deep.include({ errors: { tag_ids: [message] }, codes: { tag_ids: [code] } })
      expect(await links()).to.deep.equal([tags[2]])
    })
  }

  it('is a list of ids in JSON and XML, of a record and of a list', async () => {
    expect((await site.get('/tickets', { accept: 'json' })).json[0].tag_ids).to.deep.equal([tags[2]])
    for (const url of [path, '/tickets'])
      expect((await site.get(url, { accept: 'xml' })).text).to.contain(
        `<tag_ids><tag_id>${tags[2]}</tag_id></tag_ids>`,
      )
  })
})

describe('A form of a many-to-many relation with more than 1,000 choices', () => {
  let site: Site
  let tag: Tag

  before(async () => {
    const database = await openTickets()
    const numbers = Array.from({ length: 1001 }, (_, index) => index)
    const tags = numbers.map((number) => Object.assign(new Tag(), { name: `Tag ${number}` }))
    ;[tag] = (await database.manager.save(tags)) as [Tag]
    const templates = temporaryFolder()
    mkdirSync(join(templates, 'tickets'))
    writeFileSync(
      join(templates, 'tickets/form.pug'),
      "- const form = formFor(ticket, { action: '/tickets', errors })\n!= form.checkboxes('tag_ids', tags)\n",
    )
    const app = new App({ templates })
    app.use(transaction(database))
    app.post('/tickets', async (ctx: Context) => {
      const ticket = ctx.bind(new Ticket(), ['title', 'tag_ids'])
      const errors = await ctx.save(ticket)
      const html = async () =>
        ctx.render('tickets/form', { ticket, errors, tags: await ctx.choices(Tag, ticket.tag_ids) })
      return errors ? ctx.respond(errors, { html }) : ctx.respond(201, { data: ticket })
    })
    site = await Site.open(app)
  })
  after(() => site.close())

  /** The text fields and boxes: their values, whether they are ticked, and whether they are marked as wrong. */
  async function fieldsAfter(...ids: string[]): Promise<string[]> {
    const form = ['', ...ids].map((id): [string, string] => ['tag_ids', id])
    const { status, text } = await site.post('/tickets', { form })
    expect(status).to.equal(422)
    return [...text.matchAll(/<input type="(?:text|checkbox)"[^>]*>/g)].map(([input]) =>
      input.replaceAll(/^<input type=| id="\w+" name="tag_ids"|>$/g, ''),
    )
  }

  it('shows what was entered as another id again, and marks it if it is wrong', async () => {
    const { id } = tag
    expect(await fieldsAfter(id)).to.deep.equal([`"checkbox" value="${id}" checked`, '"text" value=""'])
    const wrong = 'aria-invalid="true"'
    expect(await fieldsAfter('no id')).to.deep.equal([`"text" value="no id" ${wrong}`])
    expect(await fieldsAfter(id, 'no id')).to.deep.equal([
      `"text" value="${id}" ${wrong}`,
      `"text" value="no id" ${wrong}`,
    ])
    expect((await site.post('/tickets', { form: { title: 'A', tag_ids: unknown } })).text).to.contain(
      `value="${unknown}" ${wrong}`,
    )
  })
})
