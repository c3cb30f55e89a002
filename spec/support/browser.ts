import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { chromiumAdvice, chromiumPath, hasChromium } from './chromium.js'

/** Chromium with options for containers, and without requests of its own. */
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Chromium's messages for requests that it has aborted itself: for another page, or because the machine's network changed. */
const givenUp = ['net::ERR_ABORTED', 'net::ERR_NETWORK_CHANGED']

/**
 * Declares specs that need a browser. If there is none they are left out, and setup.ts prints one line for all of them;
 * with `KIT_REQUIRE_ALL` in the environment they fail. A failing spec is tried twice, because Chromium aborts requests
 * when a network interface of the machine appears or disappears.
 */
export function describeInBrowser(title: string, specs: () => void): void {
  const declare = function (this: Mocha.Suite): void {
    this.retries(1)
    specs()
  }
  if (hasChromium || process.env['KIT_REQUIRE_ALL']) describe(title, declare)
}

/** Starts Chromium, headless. */
export async function startBrowser(): Promise<Browser> {
  if (!hasChromium) throw new Error(`Chromium is not installed at ${chromiumPath}. ${chromiumAdvice}`)
  return chromium.launch({ executablePath: chromiumPath, args: flags })
}

/** A visitor: one page of a browser with cookies of its own, and all errors that occurred while it was used. */
export interface Visitor {
  page: Page
  /** Errors on the console, exceptions, failed requests, and missing files that a page needs. */
  troubles: string[]
}

/** Opens a page whose paths are relative to `url`. */
export async function visit(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Visitor> {
  const context = await browser.newContext({ baseURL: url, locale: 'en-US', ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  const troubles: string[] = []
  page.on('console', (message) => {
    // Chromium reports this for error pages, too. The handler of `response` below records the relevant ones.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      troubles.push(message.text())
  })
  page.on('pageerror', (error) => troubles.push(String(error)))
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? ''
    if (!givenUp.includes(reason)) troubles.push(`${request.method()} ${request.url()}: ${reason}`)
  })
  page.on('response', (response) => {
    // A document may be an error page. The files that it needs must exist.
    if (response.status() >= 400 && !response.request().isNavigationRequest())
      troubles.push(`${response.url()}: ${response.status()}`)
  })
  return { page, troubles }
}
