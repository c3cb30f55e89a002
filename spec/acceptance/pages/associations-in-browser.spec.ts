import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { App, csrf, transaction, translations, type Context, type Database } from '../../../src/index.js'
import { describeInBrowser, startBrowser, visit, type Visitor } from '../../support/browser.js'
import { writeLocales } from '../../support/locales.js'
import { Site } from '../../support/site.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { openTickets, Tag, Ticket } from '../../support/applications/tickets.js'

const FORM = `
extends /layout

block title
  | Ticket

block content
  h1 Ticket
  - const form = formFor(ticket, { action: path, method, errors })
  form(action=form.action method='post')
    != form.hiddenFields()
    != form.errorSummary()
    != form.text('title')
    != form.checkboxes('tag_ids', tags)
    != form.file('cover')
    != form.submit()
`

describeInBrowser('A form of a many-to-many relation in a browser', () => {
  let browser: Browser
  let database: Database
  let site: Site
  let visitor: Visitor
  let upload = ''

  before(async () => {
    database = await openTickets()
    for (const name of ['bug', 'docs', 'urgent', 'later'])
      await database.manager.save(Object.assign(new Tag(), { name }))
    const templates = temporaryFolder()
    mkdirSync(join(templates, 'tickets'))
    writeFileSync(join(templates, 'tickets/form.pug'), FORM.trimStart())
    const locales = await writeLocales(temporaryFolder(), {
      'tickets.de.yaml': {
        'ticket.title': 'Titel',
        'ticket.tag_ids': 'Schlagwörter',
        'ticket.cover': 'Titelbild',
      },
    })
    const app = new App({ templates })
    app.use(csrf())
    app.use(transaction(database))
    app.use(translations(locales))
    app.get('/tickets/new', (ctx) => show(ctx, new Ticket(), '/tickets', 'POST'))
    app.post('/tickets', (ctx) => save(ctx, new Ticket(), '/tickets', 'POST'))
    app.get('/tickets/{ticket_id}/edit', async (ctx) => {
      const ticket = await ctx.find(Ticket, ctx.params['ticket_id'])
      return show(ctx, ticket, `/tickets/${ticket.id}`, 'PUT')
    })
    app.put('/tickets/{ticket_id}', async (ctx) => {
      const ticket = await ctx.find(Ticket, ctx.params['ticket_id'])
      return save(ctx, ticket, `/tickets/${ticket.id}`, 'PUT')
    })
    site = await Site.open(app)
    browser = await startBrowser()
  })
  after(async () => {
    await browser?.close()
    await site?.close()
  })

  async function show(ctx: Context, ticket: Ticket, path: string, method: string, errors?: unknown) {
    const tags = await ctx.choices(Tag, ticket.tag_ids)
    ctx.render('tickets/form', { ticket, tags, path, method, errors })
  }

  async function save(ctx: Context, ticket: Ticket, path: string, method: string) {
    const errors = await ctx.save(ctx.bind(ticket, ['title', 'tag_ids']))
    if (errors) return ctx.respond(errors, { html: () => show(ctx, ticket, path, method, errors) })
    const cover = [ctx.request.files?.['cover'] ?? []].flat()[0]
    upload = cover ? readFileSync(cover.filepath, 'utf8') : ''
    return ctx.seeOther(`/tickets/${ticket.id}/edit`)
  }

  /** The texts beside the ticked boxes. */
  async function ticked(page: Page): Promise<string[]> {
    return page.locator('.choice:has(input:checked) label').allInnerTexts()
  }

  for (const javaScriptEnabled of [true, false]) {
    it(`ticks three boxes, uploads a file, and clears the boxes (JavaScript: ${javaScriptEnabled})`, async () => {
      visitor = await visit(browser, site.url, { javaScriptEnabled })
      const { page } = visitor
      await page.goto('/tickets/new')
      await page.getByLabel('Title').fill('first')
      for (const name of ['bug', 'docs', 'urgent']) await page.getByLabel(name).check()
      await page.setInputFiles('input[type=file]', {
        name: 'cover.txt',
        mimeType: 'text/plain',
        buffer: Buffer.from('the cover'),
      })
      await page.getByRole('button', { name: 'Save' }).click()
      await page.waitForURL('**/edit')
      expect(await ticked(page)).to.deep.equal(['bug', 'docs', 'urgent'])
      expect(upload).to.equal('the cover')

      for (const name of ['bug', 'docs', 'urgent']) await page.getByLabel(name).uncheck()
      const answered = page.waitForResponse((response) => response.request().method() === 'GET')
      // The key Enter uses the button of the form, too.
      await page.getByLabel('Title').press('Enter')
      await answered
      await page.waitForLoadState()
      expect(await ticked(page)).to.deep.equal([])
      expect(visitor.troubles).to.deep.equal([])
      await page.context().close()
    })
  }

  it('comes back complete and in German when a field is not valid, and is accessible', async () => {
    visitor = await visit(browser, site.url, { locale: 'de-DE' })
    const { page } = visitor
    await page.goto('/tickets/new')
    for (const name of ['bug', 'later']) await page.getByLabel(name).check()
    await page.getByRole('button', { name: 'Speichern' }).click()
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('alert').innerText()).to.contain('Titel darf nicht leer sein.')
    expect(await page.getByRole('group').innerText()).to.match(/^Schlagwörter/)
    expect(await ticked(page)).to.deep.equal(['bug', 'later'])
    await page.evaluate(axe.source)
    const { violations } = await page.evaluate<axe.AxeResults>("axe.run({ resultTypes: ['violations'] })")
    expect(violations.map(({ id }) => id)).to.deep.equal([])
    expect(visitor.troubles).to.deep.equal([])
    await page.context().close()
  })
})
