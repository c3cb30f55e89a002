import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import type axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { authActions } from '../../../src/generator/auth-generator.js'
import { generate } from '../../../src/generator/files/files.js'
import { resourceActions } from '../../../src/generator/resource-generator.js'
import { teamActions } from '../../../src/generator/team-generator.js'
import { Application } from '../../support/applications/generated.js'
import { describeInBrowser, startBrowser, visit, type Visitor } from '../../support/browser.js'
import { freePort } from '../../support/servers/free-port.js'
import { environment, kitFile } from '../../support/kit.js'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'

const password = 'correct horse battery staple'
const widths = [360, 768, 1280]

describeInBrowser('The pages of a team, in a browser', () => {
  let app: Application
  let browser: Browser
  let server: ChildProcess
  let url: string
  let ada: Visitor
  let bob: Visitor
  let berlin: string

  before(async function () {
    // It waits for programs, which end.
    this.timeout(0)
    app = Application.web()
    generate(app.folder, authActions(app.folder, 'user'))
    generate(
      app.folder,
      teamActions(app.folder, 'branch', { roles: 'owner,manager,clerk,viewer', write: 'clerk' }),
    )
    generate(app.folder, resourceActions(app.folder, 'customer', { attributes: ['name'], owner: 'branch' }))
    expect(app.compile()).to.deep.equal({ status: 0, output: '' })
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    const env = environment({ GO_ENV: 'development', PORT: String(port), LOG_LEVEL: 'error', BASE_URL: url })
    server = spawn(process.execPath, [kitFile, 'start'], { cwd: app.folder, env, stdio: 'ignore' })
    browser = await startBrowser()
    ;[ada, bob] = await Promise.all([open(), open()])
    await untilUp()
  })

  after(async () => {
    await browser.close()
    const ended = once(server, 'exit')
    server.kill('SIGTERM')
    await ended
    app.remove()
  })

  async function open(): Promise<Visitor> {
    const visitor = await visit(browser, url)
    await visitor.page.addInitScript({ path: fileURLToPath(import.meta.resolve('axe-core/axe.min.js')) })
    return visitor
  }

  async function untilUp(): Promise<void> {
    const isUp = await fetch(`${url}/up`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isUp) return
    await delay(100)
    return untilUp()
  }

  /** Fills the form of the page, and sends it. */
  async function send(page: Page, values: Record<string, string>): Promise<void> {
    for (const [name, value] of Object.entries(values)) {
      const field = page.locator(`main [name="${name}"]`)
      if ((await field.evaluate(({ tagName }) => tagName)) === 'SELECT') await field.selectOption(value)
      else await field.fill(value)
    }
    await page.locator('main button[type=submit]').first().click()
  }

  async function createBranch(page: Page, name: string): Promise<string> {
    await page.goto('/branches/new')
    await send(page, { name })
    return new URL(page.url()).pathname
  }

  /** Expects that nothing on a page hinders anybody, on a phone and on a desktop. */
  async function expectNoBarriers(page: Page): Promise<void> {
    for (const width of widths) {
      await page.setViewportSize({ width, height: 800 })
      const { violations } = await page.evaluate<axe.AxeResults>(`axe.run({ resultTypes: ['violations'] })`)
      const found = violations.map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`,
      )
      expect(found, `${page.url()} at ${width} px`).to.deep.equal([])
      const overflow = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      expect(overflow, `${page.url()} at ${width} px`).to.equal(0)
    }
  }

  it('are as easy to use as those for the account', async () => {
    const { page } = ada
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme })
      for (const path of ['/session/new', '/registration/new', '/nowhere']) {
        await page.goto(path)
        await expectNoBarriers(page)
      }
    }
  })

  it('let somebody create a branch and invite others', async () => {
    const { page } = ada
    await page.goto('/registration/new')
    await send(page, { email: 'ada@example.com', password })
    await page.goto('/account/edit')
    await expectNoBarriers(page)
    const tops = await page.locator('.site-header > *').evaluateAll((all) => all.map((one) => one.offsetTop))
    expect(Math.max(...tops) - Math.min(...tops), 'the header has one row').to.be.below(10)
    await page.goto('/branches')
    await expectNoBarriers(page)
    berlin = await createBranch(page, 'Berlin')
    await expectNoBarriers(page)
    await page.getByRole('link', { name: 'Members' }).click()
    await expectNoBarriers(page)
    await page.getByRole('link', { name: 'Invite somebody' }).click()
    await expectNoBarriers(page)
    await send(page, { email: 'bob-with-a-long-address@subsidiary.example.com', role: 'viewer' })
    expect(await page.locator('main').innerText()).to.include('The invitation is on its way to bob-with')
    await expectNoBarriers(page)
  })

  it('let the invited open the link, choose a password and see the branch', async () => {
    const { page } = bob
    await page.goto('/kit/mails')
    await page.locator('a[href^="/kit/mails/"]').first().click()
    const link = /\/invitation\/open\/[\w-]+/.exec(await page.content())?.[0] ?? 'no link'
    await page.goto(link)
    expect(new URL(page.url()).pathname).to.equal('/invitation')
    await expectNoBarriers(page)
    await send(page, { password })
    expect(new URL(page.url()).pathname).to.equal(berlin)
    expect(await page.locator('h1').innerText()).to.equal('Berlin')
    expect(await page.getByRole('link', { name: 'Edit' }).count()).to.equal(0)
    await page.goto(`${berlin}/customers`)
    expect(await page.getByRole('link', { name: 'New customer' }).count()).to.equal(0)
    await expectNoBarriers(page)
  })

  it('save the forms of two tabs into their own branches', async () => {
    const { page } = ada
    const hamburg = await createBranch(page, 'Hamburg')
    const other = await page.context().newPage()
    await page.goto(`${berlin}/customers/new`)
    await other.goto(`${hamburg}/customers/new`)
    await send(page, { name: 'Of Berlin' })
    await send(other, { name: 'Of Hamburg' })
    for (const [branch, own, foreign] of [
      [berlin, 'Of Berlin', 'Of Hamburg'],
      [hamburg, 'Of Hamburg', 'Of Berlin'],
    ] as const) {
      await page.goto(`${branch}/customers`)
      const text = await page.locator('main').innerText()
      expect(text).to.include(own).and.not.include(foreign)
    }
    await page.locator('header summary').click()
    await page.locator('header').getByRole('link', { name: 'Berlin' }).click()
    expect(new URL(page.url()).pathname).to.equal(berlin)
    await page.locator('header summary').click()
    await expectNoBarriers(page)
    await other.close()
  })

  it('are gone with the next click of somebody who was removed', async () => {
    const { page } = ada
    await bob.page.goto(berlin)
    await page.goto(`${berlin}/memberships`)
    await page.getByRole('link', { name: 'Change the role' }).first().click()
    await expectNoBarriers(page)
    await page.goto(`${berlin}/memberships`)
    page.once('dialog', (dialog) => void dialog.accept())
    await page.getByRole('button', { name: 'Remove' }).click()
    await page.waitForURL(`**${berlin}/memberships`)
    await bob.page.getByRole('link', { name: 'Members' }).click()
    expect(await bob.page.locator('body').innerText()).to.include('404')
    await bob.page.goto('/branches')
    expect(await bob.page.locator('main').innerText()).to.include('You are not a member of a branch yet.')
  })

  it('cause no trouble', () => {
    expect([...ada.troubles, ...bob.troubles]).to.deep.equal([])
  })
})
