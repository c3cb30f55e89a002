// Checks the pages that `npm run docs` has built: links, requests to other hosts, search, accessibility, light and dark, phone width.
// It needs Chromium.
import { createServer } from 'node:http'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const site = fileURLToPath(new URL('site', import.meta.url))
const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
/** One page of each kind. */
const KINDS = [
  'index.html',
  'overview.html',
  'getting-started.html',
  'architecture.html',
  'reference/index.html',
]
const LOOKS = [
  ['light', 390],
  ['light', 1280],
  ['dark', 390],
  ['dark', 1280],
]
const findings = []

checkLinks()
const { url, close } = await serve()
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
})
try {
  await checkSearch()
  for (const [index, [colorScheme, width]] of LOOKS.entries())
    await checkPages({ colorScheme, viewport: { width, height: 844 } }, index)
} finally {
  await browser.close()
  close()
}
for (const finding of new Set(findings)) console.error(finding)
console.log(`${pagesOfSite().length} pages of the handbook, ${new Set(findings).size} findings`)
process.exitCode = findings.length > 0 ? 1 : 0

/** Each link leads to a page, and to an anchor of it. */
function checkLinks() {
  const pages = new Map(pagesOfSite().map((page) => [page, readFileSync(join(site, page), 'utf8')]))
  const anchors = new Map(
    [...pages].map(([page, html]) => [
      page,
      new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id)),
    ]),
  )
  for (const [page, html] of pages) {
    for (const [, attribute, link] of html.matchAll(/\s(href|src)="([^"]+)"/g)) {
      const { origin, pathname, hash } = new URL(link.replaceAll('&amp;', '&'), `http://site/${page}`)
      if (origin !== 'http://site') {
        if (attribute === 'src' && !link.startsWith('data:')) findings.push(`${page} loads ${link}`)
        continue
      }
      const file = decodeURIComponent(pathname).replace(/\/$/, '/index.html').slice(1)
      const target = pages.has(file) || !pages.has(`${file}.html`) ? file : `${file}.html`
      if (!existsSync(join(site, target)) || !statSync(join(site, target)).isFile())
        findings.push(`${page} links to ${link}, which does not exist.`)
      else if (hash && !anchors.get(target)?.has(decodeURIComponent(hash.slice(1))))
        findings.push(`${page} links to ${link}, which has no such heading.`)
    }
  }
}

async function checkSearch() {
  const page = await open('search', { viewport: { width: 1280, height: 800 } })
  for (const words of ['404', 'transaction', 'nullable']) {
    await page.goto(url)
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('searchbox').fill(words)
    const result = page.locator('.VPLocalSearchBox .result').first()
    await result
      .waitFor({ timeout: 30_000 })
      .catch(() => findings.push(`The search finds nothing for "${words}".`))
    if (await result.isVisible()) await result.click()
    await page
      .waitForURL((address) => address.pathname !== '/', { timeout: 10_000 })
      .catch(() => {
        findings.push(`The first result for "${words}" leads to no page.`)
      })
    const text = await page.locator('main').innerText()
    if (!text.toLowerCase().includes(words))
      findings.push(`The first result for "${words}" does not contain it.`)
  }
  await page.context().close()
}

/** Opens pages of each kind with all colors and widths, and each other page with one of them. */
async function checkPages(options, index) {
  const name = `${options.colorScheme}, ${options.viewport.width} pixels`
  const page = await open(name, options)
  // The pages of the reference differ by their length only, for which axe takes minutes.
  const others = pagesOfSite().filter((path) => !/^(reference|changelog|404)/.test(path))
  const paths = new Set([...KINDS, ...others.filter((_, position) => position % 4 === index)])
  for (const path of paths) {
    await page.goto(`${url}/${path}`)
    await page.evaluate(axe)
    const { violations } = await page.evaluate('axe.run()')
    for (const { id, nodes } of violations) {
      const elements = nodes.slice(0, 3).map((node) => node.html.slice(0, 120))
      findings.push(`${path} (${name}): ${id}: ${elements.join(' ')}`)
    }
    const overflow = await page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    if (overflow > 0) findings.push(`${path} (${name}) is ${overflow} pixels wider than its window.`)
  }
  await page.context().close()
}

/** A page of the browser, whose errors and requests to other hosts are findings. */
async function open(name, options) {
  const page = await (await browser.newContext(options)).newPage()
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:'))
      findings.push(`${name}: a request to ${request.url()}`)
  })
  page.on('response', (response) => {
    if (response.status() >= 400) findings.push(`${name}: ${response.url()} returned ${response.status()}`)
  })
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) findings.push(`${name}: ${message.text()}`)
  })
  page.on('pageerror', (error) => findings.push(`${name}: ${error}`))
  return page
}

function pagesOfSite() {
  return readdirSync(site, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.html'))
}

/** Serves the site, as any host of static files does. */
async function serve() {
  const types = {
    '.html': 'text/html',
    '.js': 'text/javascript',
    '.css': 'text/css',
    '.svg': 'image/svg+xml',
    '.json': 'application/json',
    '.png': 'image/png',
  }
  const server = createServer((req, res) => {
    const path = decodeURIComponent(new URL(req.url, 'http://site').pathname).replace(/\/$/, '/index.html')
    const file = join(site, path)
    if (!existsSync(file)) return res.writeHead(404).end()
    res.writeHead(200, { 'Content-Type': types[extname(file)] ?? 'application/octet-stream' })
    res.end(readFileSync(file))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() }
}
