import { existsSync } from 'node:fs'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'

const path = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'
const advice = 'Set CHROMIUM_PATH, or apt-get install chromium.'

/** Chromium as a container can run it, and without the requests that it would make for itself. */
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** What Chromium says of requests that it has given up itself: for another page, or because the machine's network changed. */
const givenUp = ['net::ERR_ABORTED', 'net::ERR_NETWORK_CHANGED']

/**
 * Declares specs that need a browser. Where there is none they are left out, and one line says so; with
 * `KIT_REQUIRE_ALL` in the environment they fail. One that fails is tried once more, for Chromium gives up what it has
 * asked for when an interface of the machine's network comes or goes.
 */
export function describeInBrowser(title: string, specs: () => void): void {
  const declare = function (this: Mocha.Suite): void {
    this.retries(1)
    specs()
  }
  if (existsSync(path) || process.env['KIT_REQUIRE_ALL']) describe(title, declare)
  else console.log(`Left out: the browser specs, because there is no Chromium. ${advice}`)
}

/** Starts Chromium, headless. */
export async function startBrowser(): Promise<Browser> {
  if (!existsSync(path)) throw new Error(`There is no Chromium at ${path}. ${advice}`)
  return chromium.launch({ executablePath: path, args: flags })
}

/** A visitor: one page of a browser with cookies of its own, and all that went wrong while it was used. */
export interface Visitor {
  page: Page
  /** Errors on the console, exceptions, requests that failed, and files that a page needs and that are not there. */
  troubles: string[]
}

/** Opens a page whose paths count from `url`. */
export async function visit(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Visitor> {
  const context = await browser.newContext({ baseURL: url, locale: 'en-US', ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(5000)
  const troubles: string[] = []
  page.on('console', (message) => {
    // Chromium says this of error pages, too. What matters of it is what `response` below keeps.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      troubles.push(message.text())
  })
  page.on('pageerror', (error) => troubles.push(String(error)))
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? ''
    if (!givenUp.includes(reason)) troubles.push(`${request.method()} ${request.url()}: ${reason}`)
  })
  page.on('response', (response) => {
    // A page may well be an error page. What a page is made of must be there.
    if (response.status() >= 400 && !response.request().isNavigationRequest())
      troubles.push(`${response.url()}: ${response.status()}`)
  })
  return { page, troubles }
}
