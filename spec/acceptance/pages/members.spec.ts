import axe from 'axe-core'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import type { Database } from '../../../src/index.js'
import { mails } from '../../../src/mail/index.js'
import { openExampleMembers } from '../../support/applications/example-members.js'
import { describeInBrowser, startBrowser, visit, type Visitor } from '../../support/browser.js'
import type { Site } from '../../support/site.js'

const password = 'correct horse battery staple'

describeInBrowser('examples/members with two browsers', () => {
  let browser: Browser
  let site: Site
  let database: Database
  let ada: Visitor
  let bob: Visitor
  let count = 0

  before(async () => {
    ;({ site, database } = await openExampleMembers())
    browser = await startBrowser()
    ;[ada, bob] = [await visit(browser, site.url), await visit(browser, site.url)]
  })

  beforeEach(async () => {
    mails.clear()
    for (const table of ['rate_limits', 'sessions', 'posts', 'users'])
      await database.query(`DELETE FROM ${table}`)
    // Two new pages would cost more than most of these specs.
    for (const { page } of [ada, bob]) await page.context().clearCookies()
  })

  after(async () => {
    await browser?.close()
    await site?.close()
  })

  /** Signs the browser up without its form, which costs a tenth. The first spec uses the form. */
  async function signUp({ page }: Visitor): Promise<string> {
    count += 1
    const email = `member${count}@example.com`
    await send(page, '/registration', { email, password })
    return email
  }

  /** Sends JSON with the cookies of the browser, which keeps those of the response. */
  async function send(page: Page, path: string, data: object): Promise<void> {
    const headers = { Accept: 'application/json' }
    const response = await page.context().request.post(path, { data, headers })
    expect(response.ok(), await response.text()).to.equal(true)
  }

  async function signIn({ page }: Visitor, email: string, given = password): Promise<void> {
    await page.goto('/session/new')
    await fill(page, 'Sign in', { 'Email address': email, Password: given })
  }

  /** Sends a wrong password without a browser, which costs a hundredth. */
  async function attemptSignIn(email: string): Promise<void> {
    const { status } = await site.post('/session', { form: { email, password: 'wrong' } })
    expect(status).to.equal(422)
  }

  it('returns to the requested page after the sign-up', async () => {
    await ada.page.goto('/posts/new')
    expect(new URL(ada.page.url()).pathname).to.equal('/session/new')
    await ada.page.getByRole('main').getByRole('link', { name: 'No account yet? Sign up' }).click()
    await fill(ada.page, 'Sign up', { 'Email address': 'new@example.com', Password: password })
    expect(new URL(ada.page.url()).pathname).to.equal('/posts/new')
  })

  it('gives the browser another session at the sign-in, so that a planted cookie is worthless', async () => {
    const email = await signUp(ada)
    await bob.page.goto('/session/new')
    const planted = await bob.page.context().cookies()
    await signIn(bob, email)
    expect(await header(bob)).to.include(email)
    const attacker = await visit(browser, site.url)
    await attacker.page.context().addCookies(planted)
    await attacker.page.goto('/')
    expect(await header(attacker)).to.not.include(email)
    await attacker.page.context().close()
  })

  it('shows a post to its owner alone', async () => {
    await signUp(ada)
    await signUp(bob)
    await ada.page.goto('/posts/new')
    await ada.page.getByLabel('Title').fill("Ada's post")
    await ada.page.getByRole('button', { name: 'Save' }).click()
    const path = new URL(ada.page.url()).pathname
    expect((await bob.page.goto(path))?.status()).to.equal(404)
    await bob.page.goto('/posts')
    expect(await bob.page.getByRole('main').innerText()).to.not.include("Ada's post")
  })

  describe('without JavaScript', () => {
    let tabs: Page[]
    let page: Page
    let other: Page

    before(async () => {
      const visitor = await visit(browser, site.url, { javaScriptEnabled: false })
      page = visitor.page
      other = await page.context().newPage()
      tabs = [page, other]
    })

    beforeEach(async () => {
      await page.context().clearCookies()
      count += 1
      await send(page, '/registration', { email: `member${count}@example.com`, password })
    })

    after(() => page?.context().close())

    async function titles(): Promise<string[]> {
      const rows: { title: string }[] = await database.query('SELECT title FROM posts ORDER BY title')
      return rows.map(({ title }) => title)
    }

    const title = (tab: Page) => tab.getByLabel('Title')
    const hidden = (name: string) => page.locator(`main form [name=${name}]`).getAttribute('value')

    async function save(tab: Page): Promise<void> {
      const answered = tab.waitForEvent('response', (response) => response.request().method() === 'POST')
      await Promise.all([
        tab.waitForEvent('load'),
        answered,
        tab.getByRole('button', { name: 'Save' }).click(),
      ])
    }

    /** Creates a post by its form, and returns its path. */
    async function newPost(text: string): Promise<string> {
      await page.goto('/posts/new')
      await title(page).fill(text)
      await save(page)
      return new URL(page.url()).pathname
    }

    it('loads a new form with a new key if the visitor goes back, so that sending it makes a second post', async () => {
      await page.goto('/posts/new')
      const keys = [await hidden('idempotency_key')]
      for (const text of ['first', 'second']) {
        await title(page).fill(text)
        await save(page)
        await page.goBack()
        keys.push(await hidden('idempotency_key'))
        // Chromium fills in what the visitor has typed.
        expect(await title(page).inputValue()).to.equal(text)
      }
      expect(new Set(keys).size).to.equal(3)
      expect(await titles()).to.deep.equal(['first', 'second'])
    })

    it('shows a form that is out of date again, which can be saved', async () => {
      const path = await newPost('first')
      for (const tab of tabs) await tab.goto(`${path}/edit`)
      await title(page).fill('from the first tab')
      await page.getByLabel('Body').fill('body of the first tab')
      await save(page)
      expect(await page.getByRole('status').innerText()).to.contain('updated')
      await title(other).fill('from the second tab')
      const answered = other.waitForResponse((response) => response.request().method() === 'POST')
      await save(other)
      expect((await answered).status()).to.equal(409)
      expect(await other.getByRole('alert').innerText()).to.contain(
        'Save again to replace the current values.',
      )
      expect(await other.locator('#post_title_error').innerText()).to.equal('Now: from the first tab')
      expect(await other.locator('#post_body_error').innerText()).to.equal('Now: body of the first tab')
      expect(await title(other).inputValue()).to.equal('from the second tab')
      expect(await titles()).to.deep.equal(['from the first tab'])
      await save(other)
      expect(new URL(other.url()).pathname).to.equal(path)
      expect(await titles()).to.deep.equal(['from the second tab'])
    })

    it('has the current version in the form that the visitor goes back to', async () => {
      const path = await newPost('first')
      await page.goto(`${path}/edit`)
      await title(page).fill('second')
      await save(page)
      await page.goBack()
      expect(await hidden('lock_version')).to.equal('2')
      expect(await title(page).inputValue()).to.equal('second')
      await title(page).fill('third')
      await save(page)
      expect(new URL(page.url()).pathname).to.equal(path)
      expect(await titles()).to.deep.equal(['third'])
    })
  })

  it('has an account page that is accessible at three widths in two themes', async () => {
    const { page } = ada
    await signUp(ada)
    await page.goto('/account/edit')
    await page.evaluate(axe.source)
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme })
      for (const width of [360, 768, 1280]) {
        await page.setViewportSize({ width, height: 800 })
        const { violations } = await page.evaluate<axe.AxeResults>("axe.run({ resultTypes: ['violations'] })")
        expect(violations, `${colorScheme}, ${width} pixels`).to.deep.equal([])
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.equal(0)
      }
    }
  })

  it('ends the other session when the password changes', async () => {
    const email = await signUp(ada)
    await send(bob.page, '/session', { email, password })
    await ada.page.goto('/account/edit')
    const form = ada.page.locator('form', { has: ada.page.getByLabel('New password') })
    await form.getByLabel('Current password').fill(password)
    await form.getByLabel('New password').fill('another long password')
    await form.getByRole('button').click()
    expect(await ada.page.getByRole('main').innerText()).to.include('All other sessions have ended.')
    await bob.page.goto('/posts')
    expect(new URL(bob.page.url()).pathname).to.equal('/session/new')
    expect(mails.last).to.include({ name: 'password_changed', to: email })
  })

  it('does not show a page of the account by the back button after the sign-out', async () => {
    const email = await signUp(ada)
    await ada.page.goto('/account/edit')
    await ada.page.getByRole('button', { name: 'Sign out' }).click()
    // A click does not wait for the page that it leads to.
    await ada.page.waitForURL(({ pathname }) => pathname !== '/account/edit')
    await ada.page.goBack()
    expect(new URL(ada.page.url()).pathname).to.equal('/session/new')
    expect(await ada.page.locator('body').innerText()).to.not.include(email)
  })

  it('resets the password by the link in the mail', async () => {
    const email = await signUp(ada)
    await bob.page.goto('/password_reset/new')
    await fill(bob.page, 'Send link', { 'Email address': email })
    const path = /http:\/\/[^/]+(\/password_reset\/open\/\S+)/.exec(mails.last?.text ?? '')?.[1] ?? ''
    await bob.page.goto(path)
    expect(new URL(bob.page.url()).pathname).to.equal('/password_reset/edit')
    await fill(bob.page, 'Save password', { 'New password': 'another long password' })
    await signIn(bob, email, 'another long password')
    expect(await header(bob)).to.include(email)
  })

  it('rejects a wrong password ten times, and then the right one', async () => {
    const email = await signUp(ada)
    await site.get('/session/new')
    for (let attempt = 1; attempt <= 9; attempt += 1) await attemptSignIn(email)
    await signIn(bob, email, 'wrong')
    expect(await bob.page.getByRole('alert').innerText()).to.include(
      'The email address or the password is wrong.',
    )
    await signIn(bob, email)
    expect(await bob.page.locator('body').innerText()).to.include('429')
  })
})

async function fill(page: Page, button: string, values: Record<string, string>): Promise<void> {
  const main = page.getByRole('main')
  for (const [label, value] of Object.entries(values))
    await main.getByLabel(label, { exact: true }).fill(value)
  await main.getByRole('button', { name: button }).click()
}

function header({ page }: Visitor): Promise<string> {
  return page.getByRole('banner').innerText()
}
