import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { startExampleBlog, type BlogProcess } from '../applications/example-blog-process.js'
import { startBrowser, visit } from '../browser.js'

const folder = join(import.meta.dirname, '../../../../docs/images')
const digestFile = join(folder, 'digests.json')

/** Opens the page of a picture in README.md or docs/, as a visitor does. */
type Open = (page: Page, blog: BlogProcess) => Promise<unknown>

/** The pages that have a picture, by the name of its files. */
export const pictures: Record<string, Open> = {
  posts: async (page, blog) => {
    await blog.createPost({ title: 'Ship it on Friday', description: 'With a rollback plan.' })
    await blog.createPost({ title: 'Notes from the meetup', description: 'Slides are online.' })
    await page.goto('/posts/new')
    await page.getByLabel('Title').fill('Hello, world')
    await page.getByLabel('Description').fill('The first post of this blog.')
    await page.getByRole('button').first().click()
    await page.getByRole('navigation').getByRole('link').first().click()
  },
  'invalid-post': async (page) => {
    await page.goto('/posts/new')
    await page.getByLabel('Title').fill(' ')
    await page.getByLabel('Description').fill('A post without a title.')
    await page.getByRole('button').first().click()
  },
}

/** Takes each picture with the light and the dark color scheme, and records which pages they show. */
export async function takePictures(): Promise<void> {
  const browser = await startBrowser()
  const blog = await startExampleBlog('test')
  const digests: Record<string, string> = {}
  try {
    await eachPicture(browser, blog, async (name, page) => {
      // The digest comes first, because the screenshot changes the page.
      digests[name] = await digestOf(page)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`), fullPage: true })
      }
    })
  } finally {
    await browser.close()
    await blog.stop()
  }
  writeFileSync(digestFile, `${JSON.stringify(digests, null, 2)}\n`)
}

/** The digests of the pages as the example shows them now. */
export async function currentDigests(browser: Browser, blog: BlogProcess): Promise<Record<string, string>> {
  const digests: Record<string, string> = {}
  await eachPicture(browser, blog, async (name, page) => {
    digests[name] = await digestOf(page)
  })
  return digests
}

/** The digests of the pages as they were when their pictures were taken. */
export function recordedDigests(): Record<string, string> {
  return JSON.parse(readFileSync(digestFile, 'utf8'))
}

async function eachPicture(
  browser: Browser,
  blog: BlogProcess,
  use: (name: string, page: Page) => Promise<void>,
): Promise<void> {
  for (const [name, open] of Object.entries(pictures)) {
    await blog.database.query('DELETE FROM posts')
    const { page } = await visit(browser, blog.url, {
      viewport: { width: 840, height: 500 },
      deviceScaleFactor: 1.5,
    })
    await open(page, blog)
    await use(name, page)
    await page.context().close()
  }
}

/** A digest of a page and its style sheet, without the ids, tokens and times that differ each time. */
async function digestOf(page: Page): Promise<string> {
  const html = (await page.content())
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    .replaceAll(/(name="authenticity_token" value=)"[^"]*"/g, '$1"TOKEN"')
    .replaceAll(/<time [^>]*>[^<]*<\/time>/g, 'TIME')
  const css = await page.evaluate<string>("fetch('/application.css').then((response) => response.text())")
  return createHash('sha256').update(html).update(css).digest('hex')
}
