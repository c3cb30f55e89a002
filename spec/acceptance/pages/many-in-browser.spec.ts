import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import type axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import type { Database } from '../../../src/index.js'
import { insertParts, Part, partsApp, partsDatabase } from '../../support/applications/parts.js'
import { describeInBrowser, startBrowser, visit } from '../../support/browser.js'
import { root } from '../../support/kit.js'
import { Site } from '../../support/site.js'

const stylesheet = join(root, 'scaffolds/application/web/public/application.css')
const phone = { locale: 'de-DE', viewport: { width: 375, height: 800 } }

describeInBrowser('The pages for many records, on a phone in German', () => {
  let browser: Browser
  let database: Database
  let site: Site
  before(async () => {
    browser = await startBrowser()
    database = await partsDatabase()
    site = await Site.open(partsApp(database, { hasCsrf: true }))
  })
  after(async () => {
    await browser.close()
    await site.close()
    await database.close()
  })
  beforeEach(async () => {
    await database.manager.deleteAll(Part)
    const old = { state: 'active' } as const
    await insertParts(database, [
      { name: 'Mutter', price: '12.50' },
      { name: 'Öse' },
      { name: 'Bolzen' },
      old,
    ])
  })

  const upload = async (page: Page, text: string): Promise<void> => {
    const buffer = Buffer.from(text)
    await page.locator('#file').setInputFiles({ name: 'teile.csv', mimeType: 'text/csv', buffer })
    await page.locator('form.import button.primary').click()
  }
  const states = async (): Promise<string[]> =>
    (await database.manager.find(Part, { order: { sku: 'ASC' } })).map(({ sku, state }) => `${sku} ${state}`)

  it('filter, export, import, correct, archive and delete without JavaScript', async () => {
    const { page, troubles } = await visit(browser, site.url, { ...phone, javaScriptEnabled: false })
    await page.goto('/parts')
    await page.locator('form[method="get"] summary').click()
    await page.locator('select[name="state"]').selectOption('draft')
    await page.locator('form[method="get"] button').first().click()
    expect(await page.locator('tbody tr').count()).to.equal(3)

    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.locator('a[href*=".csv"]').click(),
    ])
    expect(download.suggestedFilename()).to.equal('parts.csv')
    const text = readFileSync(await download.path(), 'utf8')
    const [heading = '', ...lines] = text.trim().split('\r\n')
    expect(heading).to.match(/^\uFEFF?id;sku;name;price;/)
    expect(lines).to.have.length(3)
    expect(text).to.contain(';Mutter;12,50;')

    await page.locator('a[href="/parts/import"]').click()
    await upload(page, text.replace(';12,50;', ';teuer;').replace(';Öse;', ';;'))
    expect(await page.locator('.flash.danger').innerText()).to.contain('2')
    const wrong = await page.locator('table').first().locator('tbody tr').allInnerTexts()
    expect(wrong).to.have.length(2)
    expect(wrong.join()).to.contain('price').and.contain('name')
    expect((await database.manager.find(Part)).map(({ name }) => name)).to.include('Öse')
    await upload(page, text.replace(';12,50;', ';13,75;').replace(';Öse;', ';Öse, groß;'))
    expect(new URL(page.url()).pathname).to.equal('/parts')
    const parts = await database.manager.find(Part, { order: { sku: 'ASC' } })
    expect(Number(parts[0]?.price)).to.equal(13.75)
    expect(parts[1]?.name).to.equal('Öse, groß')

    for (const index of [0, 1, 2]) await page.locator('tbody input[name="ids"]').nth(index).check()
    const ticked = await page.locator('tbody tr').allInnerTexts()
    await page.locator('form.bulk button[formaction*="archive"]').click()
    expect((await states()).filter((state) => state.endsWith('archived'))).to.have.length(3)
    expect(ticked).to.have.length(4)
    await page.locator('form.bulk input[name="all"]').check()
    await page.locator('form.bulk button[formaction*="destroy"]').click()
    expect(await states()).to.deep.equal([])
    expect(await page.locator('form.bulk').count()).to.equal(0)
    expect(troubles).to.deep.equal([])
  })

  it('have nothing that hinders anybody, with JavaScript', async () => {
    const { page, troubles } = await visit(browser, site.url, phone)
    // The pages of generated applications have this stylesheet.
    await page.route('**/kit.css', (route) => route.fulfill({ path: stylesheet, contentType: 'text/css' }))
    await page.addInitScript({ path: fileURLToPath(import.meta.resolve('axe-core/axe.min.js')) })
    const expectNoBarriers = async () => {
      const { violations } = await page.evaluate<axe.AxeResults>(`axe.run({ resultTypes: ['violations'] })`)
      const found = violations.map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join()}`,
      )
      expect(found, page.url()).to.deep.equal([])
      const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
      expect(await page.evaluate<number>(overflow), page.url()).to.equal(0)
      const pictures = process.env['KIT_PICTURES']
      if (pictures) await page.screenshot({ path: join(pictures, `${Date.now()}.png`), fullPage: true })
    }
    await page.goto('/parts')
    await expectNoBarriers()
    await page.goto('/parts/import')
    await expectNoBarriers()
    await upload(page, 'sku;name;price\na;;teuer\n')
    expect(await page.locator('.flash.danger').evaluate((element) => element.matches(':focus'))).to.equal(
      true,
    )
    await expectNoBarriers()
    await page.goto('/parts')
    await page.locator('tbody input[name="ids"]').first().focus()
    await page.keyboard.press('Space')
    expect(await page.locator('tbody input[name="ids"]').first().isChecked()).to.equal(true)
    expect(troubles).to.deep.equal([])
  })
})
