import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import {
  App,
  BaseResource,
  csrf,
  Resource,
  transaction,
  translations,
  ValidationErrors,
  type Context,
  type Database,
} from '../../../src/index.js'
import { openTickets, Ticket } from '../../support/applications/tickets.js'
import { describeInBrowser, startBrowser, visit } from '../../support/browser.js'
import { root } from '../../support/kit.js'
import { Site } from '../../support/site.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const FORM = `
extends /layout

block content
  - const form = formFor(ticket, { action: '/tickets', errors })
  form(action=form.action method='post')
    != form.hiddenFields()
    != form.errorSummary()
    != form.text('title')
    != form.file('cover', { multiple: true })
    != form.submit()
  script(src='/application.js')
`

const limit = 2048
const tooLarge = 'Cover is too large. All files of a form together can be up to 2 KiB.'

@Resource('/tickets', { model: Ticket, fields: ['title'] })
class TicketsResource extends BaseResource {
  override async new(ctx: Context) {
    return ctx.respond({ html: () => ctx.render('tickets/new', { ticket: new Ticket() }) })
  }

  override async create(ctx: Context) {
    const ticket = ctx.bind(new Ticket())
    const form = (errors: ValidationErrors) => () => ctx.render('tickets/new', { ticket, errors })
    if (ticket.title === 'checked first' && !ctx.request.files?.['cover']) {
      const errors = new ValidationErrors().add('cover', 'unsupported', 'Choose a cover.')
      return ctx.respond(errors, { html: form(errors) })
    }
    // A handler that does not look at the files.
    if (ticket.title === 'unsaved') return ctx.respond({ html: () => ctx.seeOther('/'), data: null })
    if (ticket.title === 'unbound') await ctx.save(Object.assign(new Ticket(), { title: 'hidden' }))
    else {
      const errors = await ctx.save(ticket)
      if (errors) return ctx.respond(errors, { html: form(errors) })
    }
    return ctx.respond(201, { html: () => ctx.seeOther('/tickets/new'), data: ticket })
  }
}

describe('A form whose files are too large', () => {
  let database: Database
  let site: Site

  before(async () => {
    database = await openTickets()
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'templates/tickets'), { recursive: true })
    mkdirSync(join(folder, 'public'))
    writeFileSync(join(folder, 'templates/tickets/new.pug'), FORM.trimStart())
    const script = readFileSync(join(root, 'scaffolds/application/web/public/application.js'), 'utf8')
    writeFileSync(join(folder, 'public/application.js'), script)
    const app = new App({ templates: join(folder, 'templates'), filesLimit: limit })
    app.use(csrf())
    app.use(transaction(database))
    app.use(translations(temporaryFolder()))
    app.resource(TicketsResource)
    app.post('/echo', (ctx) => {
      ctx.body = 'the handler ran'
    })
    app.static('/', join(folder, 'public'))
    site = await Site.open(app)
    await site.get('/tickets/new')
  })
  after(() => site?.close())

  /** Sends a form with files of these sizes. */
  function send(title: string, sizes: readonly number[], path = '/tickets', accept = 'text/html') {
    const form = new FormData()
    form.append('title', title)
    for (const size of sizes) form.append('cover', new File(['x'.repeat(size)], 'cover.txt'))
    return site.post(path, { form, accept })
  }

  const titles = async () => (await database.manager.find(Ticket)).map(({ title }) => title)

  for (const sizes of [[limit + 1], [limit, 1], [10, limit], [10 * limit]])
    it(`comes back with the error at its field, and keeps the other fields (${sizes.join(' + ')} bytes)`, async () => {
      const response = await send('Kept', sizes)
      expect(response.status).to.equal(422)
      expect(response.text)
        .to.contain(`<a href="#ticket_cover">${tooLarge}</a>`)
        .and.to.contain(`<p class="error" id="ticket_cover_error">${tooLarge}</p>`)
        .and.to.contain('name="title" type="text" value="Kept"')
      expect(await titles()).to.deep.equal([])
    })

  it('has this error instead of others of the field', async () => {
    const { status, text } = await send('checked first', [limit + 1])
    expect(status).to.equal(422)
    expect(text).to.contain(tooLarge).and.not.to.contain('Choose a cover.')
  })

  it('has the errors of the other fields, too', async () => {
    expect((await send(' ', [limit + 1])).text)
      .to.contain(tooLarge)
      .and.to.contain('Title cannot be blank.')
  })

  const rejected: [what: string, ...Parameters<typeof send>][] = [
    ['ten times the limit is exceeded', 'x', [10 * limit + 1]],
    ['the client wants no page', 'x', [limit + 1], '/tickets', 'application/json'],
    ['the route belongs to no form', 'x', [limit + 1], '/echo'],
    ['the handler responds without the error', 'unsaved', [limit + 1]],
    ['the handler saves something else', 'unbound', [limit + 1]],
  ]
  for (const [what, ...request] of rejected)
    it(`is rejected with 413, and saves nothing, if ${what}`, async () => {
      const response = await send(...request)
      expect(response.status).to.equal(413)
      expect(response.text).not.to.contain('the handler ran')
      expect(await titles()).to.deep.equal([])
    })

  describeInBrowser('in a browser', () => {
    let browser: Browser
    before(async () => {
      browser = await startBrowser()
    })
    after(() => browser?.close())

    async function choose(javaScriptEnabled: boolean, size: number): Promise<Page> {
      const { page } = await visit(browser, site.url, { javaScriptEnabled })
      await page.goto('/tickets/new')
      expect(await page.locator('#ticket_cover_hint').innerText()).to.equal(
        'All files together can be up to 2 KiB.',
      )
      await page.getByLabel('Title').fill('A lamp')
      const buffer = Buffer.alloc(size)
      await page.getByLabel('Cover').setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer })
      return page
    }

    it('is not sent with JavaScript', async () => {
      const page = await choose(true, limit + 1)
      const messageOf = () => page.evaluate(`document.querySelector('#ticket_cover').validationMessage`)
      expect(await messageOf()).to.equal(tooLarge)
      const buffer = Buffer.alloc(limit)
      await page.getByLabel('Cover').setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer })
      expect(await messageOf()).to.equal('')
    })

    it('comes back without JavaScript', async () => {
      const page = await choose(false, limit + 1)
      await page.getByRole('button', { name: 'Save' }).click()
      expect(await page.locator('#ticket_cover_error').innerText()).to.equal(tooLarge)
      expect(await page.getByLabel('Title').inputValue()).to.equal('A lamp')
    })
  })
})
