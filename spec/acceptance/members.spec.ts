import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import type { Database } from '../../src/index.js'
import { mails } from '../../src/mail/index.js'
import { loadExample } from '../support/applications/example.js'
import { describeInBrowser, startBrowser, visit, type Visitor } from '../support/browser.js'
import { Site } from '../support/site.js'

const password = 'correct horse battery staple'

describeInBrowser('examples/members with two browsers', () => {
  let browser: Browser
  let site: Site
  let database: Database
  let ada: Visitor
  let bob: Visitor
  let count = 0

  before(async () => {
    const example = await loadExample('members')
    database = example.database
    site = await Site.open(example.app, () => database.migrate())
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
