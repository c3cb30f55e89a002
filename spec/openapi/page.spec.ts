import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { App, csrf, type Context } from '../../src/index.js'
import { describeInBrowser, startBrowser, visit } from '../support/browser.js'
import { Site } from '../support/site.js'
import { openapi } from '../../src/openapi/index.js'

function hello(ctx: Context) {
  return ctx.respond({ json: { name: 'Ada' } })
}

function send(ctx: Context) {
  return ctx.respond(201, { json: { sent: true } })
}

describeInBrowser('The page of an OpenAPI document', () => {
  let browser: Browser

  before(async () => {
    browser = await startBrowser()
  })

  after(() => browser.close())

  for (const api of [false, true]) {
    it(`shows the document and sends requests, in ${api ? 'an API' : 'a web'} application`, async () => {
      const app = new App({ api })
      if (!api) app.use(csrf())
      app.extend(openapi('/openapi.json', { title: 'Greetings', version: '1', page: '/docs' }))
      app.get('/hello', hello, { summary: 'Greets', responses: { 200: 'application/json' } })
      app.post('/messages', send, { body: false, responses: { 201: 'application/json' } })
      const site = await Site.open(app)
      const { page, troubles } = await visit(browser, site.url)
      const hosts = new Set<string>()
      page.on('request', (request) => {
        if (request.url().startsWith('http')) hosts.add(new URL(request.url()).host)
      })
      await page.goto('/docs')
      await page.getByRole('heading', { name: /Greetings/ }).waitFor()
      await page.getByText('Greets').click()
      await page.getByRole('button', { name: 'Try it out' }).click()
      await page.getByRole('button', { name: 'Execute' }).click()
      await page.locator('.live-responses-table').getByText('"Ada"').first().waitFor()
      expect(troubles).to.deep.equal([])
      expect([...hosts]).to.deep.equal([new URL(site.url).host])
      for (const name of ['package.json', 'constructor', '__proto__'])
        expect((await site.get(`/docs/${name}`)).status, name).to.equal(404)
      await page.context().close()
      await site.close()
    })
  }
})
