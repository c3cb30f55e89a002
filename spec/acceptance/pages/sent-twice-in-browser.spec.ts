import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { BaseResource, Resource, type App, type Context } from '../../../src/index.js'
import { Note, openKeyed, type Keyed } from '../../support/applications/keyed.js'
import { describeInBrowser, startBrowser, visit } from '../../support/browser.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const templates = {
  new: `
- const form = formFor(note, { action: notesPath(), errors })
form(method='post' action=form.action)
  != form.hiddenFields()
  != form.text('title')
  != form.submit('Save')
`,
  show: `
h1= note.title
div(role='status')!= flashMessages()
!= deleteButton(notePath(note))
`,
}

/** A point where the first request waits until the second one has arrived. */
class Meeting {
  private readonly arrivals: (() => void)[] = []
  readonly first = new Promise<void>((resolve) => this.arrivals.push(resolve))
  readonly second = new Promise<void>((resolve) => this.arrivals.push(resolve))

  arrive(): void {
    this.arrivals.shift()?.()
  }
}

describeInBrowser('A form of a new record, in a browser without JavaScript', () => {
  let keyed: Keyed
  let browser: Browser
  let page: Page
  let received: number
  let meeting: Meeting | undefined

  @Resource('/notes', { model: Note })
  class NotesResource extends BaseResource {
    override new(ctx: Context) {
      ctx.render('notes/new', { note: new Note() })
    }

    override async create(ctx: Context) {
      const note = ctx.bind(new Note())
      const errors = await ctx.save(note)
      if (errors) return ctx.respond(errors, { html: () => ctx.render('notes/new', { note, errors }) })
      await meeting?.second
      ctx.seeOther(ctx.pathFor('notePath', note), { success: `Saved ${note.title}.` })
    }

    override async show(ctx: Context) {
      ctx.render('notes/show', { note: await ctx.find(Note, ctx.params['note_id']) })
    }
  }

  before(async () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'notes'))
    for (const [name, text] of Object.entries(templates))
      writeFileSync(join(folder, 'notes', `${name}.pug`), text)
    const declare = (app: App) => void app.resource(NotesResource)
    const above = [
      async function count(ctx: Context, next: () => Promise<void>) {
        if (ctx.method === 'POST') {
          received += 1
          meeting?.arrive()
        }
        await next()
      },
    ]
    ;[keyed, browser] = await Promise.all([
      openKeyed({ templates: folder, needsToken: true, above, declare }),
      startBrowser(),
    ])
    page = (await visit(browser, keyed.site.url, { javaScriptEnabled: false })).page
    // The first page begins the session. Chromium loads a page again that it has received with other cookies.
    await page.goto('/notes/new')
  })

  beforeEach(async () => {
    received = 0
    meeting = undefined
    await keyed.database.query('DELETE FROM notes')
    await page.goto('/notes/new')
  })

  after(async () => {
    await browser?.close()
    await keyed?.site.close()
  })

  const save = () => page.getByRole('button', { name: 'Save' })
  const title = () => page.getByLabel('Title')
  const key = () => page.locator('[name=idempotency_key]').getAttribute('value')

  /** The heading and the message of the page that shows a note. */
  async function shown(): Promise<string[]> {
    await page.waitForURL(/\/notes\/[\w-]{36}$/)
    return [await page.getByRole('heading').innerText(), await page.getByRole('status').innerText()]
  }

  it('creates one record on a double click, and shows its page with the message', async () => {
    const { first } = (meeting = new Meeting())
    await title().fill('a')
    // Chromium ignores the mouse until it has painted the page.
    await save().click({ trial: true })
    const { x = 0, y = 0 } = (await save().boundingBox()) ?? {}
    // Chromium sends one request if the second click follows before the first one is on its way.
    await page.mouse.click(x + 5, y + 5)
    await first
    await page.mouse.click(x + 5, y + 5)
    // `waitForURL` rejects when the second click ends the navigation of the first one.
    await page.getByRole('status').waitFor()
    expect(await shown()).to.deep.equal(['a', 'Saved a.'])
    expect([received, await keyed.titles()]).to.deep.equal([2, ['a']])
    // The button of a saved record has no key.
    expect(await page.locator('form').count()).to.equal(1)
    expect(await page.locator('[name=idempotency_key]').count()).to.equal(0)
  })

  it('leads to the first record if the visitor goes back and sends the same again, and to another one if it was edited', async () => {
    const first = await key()
    await title().fill('a')
    await save().click()
    expect(await shown()).to.deep.equal(['a', 'Saved a.'])
    const url = page.url()
    await page.goBack()
    expect([await key(), await title().inputValue()]).to.deep.equal([first, 'a'])
    await save().click()
    expect([...(await shown()), page.url()]).to.deep.equal(['a', 'Saved a.', url])
    expect([received, await keyed.titles()]).to.deep.equal([2, ['a']])

    await page.goBack()
    expect(await key()).to.equal(first)
    await title().fill('b')
    await save().click()
    expect(await shown()).to.deep.equal(['b', 'Saved b.'])
    expect(await keyed.titles()).to.deep.equal(['a', 'b'])
  })

  it('has another key each time, also after an error, and the page is not shared between visitors', async () => {
    const keys = [await key()]
    await save().click()
    expect(await page.locator('#note_title_error').innerText()).to.equal('Title cannot be blank.')
    keys.push(await key())
    const response = await page.goto('/notes/new')
    expect(response?.headers()['cache-control']).to.equal('private, no-cache')
    keys.push(await key())
    expect(new Set(keys).size).to.equal(3)
    for (const one of keys) expect(one).to.match(/^[\w-]{22}$/)
  })
})
