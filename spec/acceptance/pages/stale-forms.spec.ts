import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import {
  App,
  BaseResource,
  csrf,
  Resource,
  transaction,
  translations,
  type Context,
  type Database,
  type ValidationErrors,
} from '../../../src/index.js'
import { lettersUrl, newRecord, openLetters, Parcel, Stamp } from '../../support/applications/letters.js'
import { describeInBrowser, startBrowser, visit } from '../../support/browser.js'
import { writeLocales } from '../../support/locales.js'
import { Site } from '../../support/site.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const FORM = `
extends /layout

block title
  | Parcel

block content
  h1 Parcel
  - const form = formFor(parcel, { action: parcelPath(parcel), method: 'PUT', errors })
  form(action=form.action method='post')
    != form.hiddenFields()
    != form.errorSummary()
    != form.text('title')
    != form.date('due')
    != form.checkboxes('stamp_ids', stamps)
    != form.submit()
  != deleteButton(parcelPath(parcel))
`

/** The handlers that the generator writes. */
@Resource('/parcels', { model: Parcel, fields: ['title', 'due', 'stamp_ids'] })
class ParcelsResource extends BaseResource {
  override async edit(ctx: Context) {
    const parcel = await ctx.find(Parcel, ctx.params['parcel_id'])
    return ctx.respond({ html: () => form(ctx, parcel) })
  }

  override async update(ctx: Context) {
    const parcel = ctx.bind(await ctx.find(Parcel, ctx.params['parcel_id']))
    const errors = await ctx.save(parcel)
    if (errors) return ctx.respond(errors, { html: () => form(ctx, parcel, errors) })
    return ctx.respond({ html: () => ctx.seeOther(`/parcels/${parcel.id}/edit`), data: parcel })
  }

  override async destroy(ctx: Context) {
    const parcel = await ctx.find(Parcel, ctx.params['parcel_id'])
    await ctx.destroy(parcel)
    return ctx.respond({ html: () => ctx.seeOther('/parcels/new'), data: parcel })
  }
}

async function form(ctx: Context, parcel: Parcel, errors?: ValidationErrors) {
  const stamps = await ctx.choices(Stamp, parcel.stamp_ids)
  ctx.render('parcels/form', { parcel, stamps, errors })
}

async function openForms(): Promise<{ site: Site; database: Database }> {
  const database = await openLetters(await lettersUrl())
  for (const name of ['fragile', 'express', 'large', 'late']) await newRecord(database, Stamp, { name })
  const templates = temporaryFolder()
  mkdirSync(join(templates, 'parcels'))
  writeFileSync(join(templates, 'parcels/form.pug'), FORM.trimStart())
  const locales = await writeLocales(temporaryFolder(), {
    'parcels.de.yaml': { 'parcel.title': 'Titel', 'parcel.due': 'Fällig', 'parcel.stamp_ids': 'Aufkleber' },
  })
  const app = new App({ templates })
  app.use(csrf())
  app.use(transaction(database))
  app.use(translations(locales))
  app.resource(ParcelsResource)
  return { site: await Site.open(app), database }
}

describe('A form that is out of date', () => {
  let site: Site
  let database: Database
  let path: string

  before(async () => {
    ;({ site, database } = await openForms())
  })

  beforeEach(async () => {
    const { id } = await newRecord(database, Parcel, { title: 'first' })
    path = `/parcels/${id}`
  })

  after(() => site.close())

  function send(fields: Record<string, string>) {
    return site.post(path, { form: { _method: 'PUT', ...fields } })
  }

  it('contains the version of the record, which the button that deletes it lacks', async () => {
    const page = await site.get(`${path}/edit`)
    expect(page.text.match(/name="lock_version" value="1"/g)).to.have.length(1)
    const again = await send({ title: 'second', lock_version: '1' })
    expect(again.status).to.equal(303)
    expect((await site.get(`${path}/edit`)).text).to.contain('name="lock_version" value="2"')
  })

  it('is shown again with 409, with what was sent, the current values and the current version, and can be saved', async () => {
    await site.get(`${path}/edit`)
    await send({ title: 'second', due: '2026-05-01', lock_version: '1' })
    const stale = await send({ title: 'mine', due: 'soon', lock_version: '1' })
    expect(stale.status).to.equal(409)
    expect(stale.headers.get('etag')).to.equal(null)
    expect(stale.text)
      .to.contain('The record has been changed since you opened this page.')
      .and.to.match(/value="mine"[^]*Now: second/)
      .and.to.match(/value="soon"[^]*Now: May 1, 2026/)
      .and.to.contain('name="lock_version" value="2"')
    expect((await send({ title: 'mine', due: '2026-05-02', lock_version: '2' })).status).to.equal(303)
    const { title, due } = await database.manager.findOneByOrFail(Parcel, { id: path.slice(9) })
    expect([title, due]).to.deep.equal(['mine', '2026-05-02'])
  })

  it('shows only the errors of the version, and the other errors when it is sent again', async () => {
    await site.get(`${path}/edit`)
    const stale = await send({ title: '', lock_version: '7' })
    expect(stale.status).to.equal(409)
    expect(stale.text).to.contain('Now: first').and.not.contain('cannot be blank')
    const invalid = await send({ title: '', lock_version: '1' })
    expect(invalid.status).to.equal(422)
    expect(invalid.text).to.contain('cannot be blank').and.to.contain('name="lock_version" value="1"')
  })

  it('deletes nothing if it contains another version', async () => {
    await site.get(`${path}/edit`)
    const stale = await site.post(path, { form: { _method: 'DELETE', lock_version: '2' } })
    expect(stale.status).to.equal(409)
    expect(stale.text).to.contain('The record has been changed')
    expect((await site.post(path, { form: { _method: 'DELETE' } })).status).to.equal(303)
  })
})

describeInBrowser('Forms of one record in two tabs', () => {
  let browser: Browser
  let site: Site
  let database: Database

  before(async () => {
    ;({ site, database } = await openForms())
    browser = await startBrowser()
  })

  after(async () => {
    await browser?.close()
    await site?.close()
  })

  async function save(page: Page, name: string): Promise<void> {
    await Promise.all([page.waitForNavigation(), page.getByRole('button', { name }).click()])
  }

  it('let the second one see the values of the first one, without JavaScript', async () => {
    const { id } = await newRecord(database, Parcel, { title: 'first' })
    const { page, troubles } = await visit(browser, site.url, { javaScriptEnabled: false })
    const other = await page.context().newPage()
    for (const tab of [page, other]) await tab.goto(`/parcels/${id}/edit`)
    await page.getByLabel('Title').fill('from the first tab')
    await save(page, 'Save')
    await other.getByLabel('Title').fill('from the second tab')
    await save(other, 'Save')
    expect(await other.getByRole('alert').innerText()).to.contain('Save again to replace the current values.')
    expect(await other.locator('#parcel_title_error').innerText()).to.equal('Now: from the first tab')
    expect(await other.getByLabel('Title').inputValue()).to.equal('from the second tab')
    await save(other, 'Save')
    expect(new URL(other.url()).pathname).to.equal(`/parcels/${id}/edit`)
    expect((await database.manager.findOneByOrFail(Parcel, { id })).title).to.equal('from the second tab')
    expect(troubles).to.deep.equal([])
    await page.context().close()
  })

  it('keep a date and three labels, and show the current date in German, accessibly', async () => {
    const { id } = await newRecord(database, Parcel, { title: 'first' })
    const { page, troubles } = await visit(browser, site.url, { locale: 'de-DE' })
    const other = await page.context().newPage()
    for (const tab of [page, other]) await tab.goto(`/parcels/${id}/edit`)
    await page.getByLabel('Fällig').fill('2026-05-01')
    await page.getByLabel('late').check()
    await save(page, 'Speichern')
    await other.getByLabel('Fällig').fill('2026-12-24')
    for (const name of ['fragile', 'express', 'large']) await other.getByLabel(name).check()
    await save(other, 'Speichern')
    expect(await other.getByRole('alert').innerText()).to.contain('Der Eintrag wurde geändert, seit Sie')
    expect(await other.locator('#parcel_due_error').innerText()).to.equal('Jetzt: 01.05.2026')
    expect(await other.locator('#parcel_stamp_ids_error').innerText()).to.equal(
      'Das wurde ebenfalls geändert.',
    )
    expect(await other.getByLabel('Fällig').inputValue()).to.equal('2026-12-24')
    const ticked = other.locator('.choice:has(input:checked) label')
    expect((await ticked.allInnerTexts()).toSorted()).to.deep.equal(['express', 'fragile', 'large'])
    await other.evaluate(axe.source)
    const { violations } = await other.evaluate<axe.AxeResults>("axe.run({ resultTypes: ['violations'] })")
    expect(violations.map(({ id: rule }) => rule)).to.deep.equal([])
    await save(other, 'Speichern')
    expect((await database.manager.findOneByOrFail(Parcel, { id })).due).to.equal('2026-12-24')
    expect(troubles).to.deep.equal([])
    await page.context().close()
  })
})
