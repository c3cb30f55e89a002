import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { openExampleMembers } from '../applications/example-members.js'
import { startExampleBlog, type BlogProcess } from '../applications/example-blog-process.js'
import { startBrowser, visit } from '../browser.js'
import { root } from '../kit.js'
import { withFewColors } from './png.js'

const folder = join(root, 'docs/images')
const digestFile = join(folder, 'digests.json')

/** Opens the page of a picture in README.md or docs/, as a visitor does. */
type Open = (page: Page, blog: BlogProcess) => Promise<unknown>

/** A picture, and the width of the window that it shows. */
interface Picture {
  width?: number
  open: Open
}

const password = 'correct horse battery staple'

/** The pages of examples/blog that have a picture, by the name of its files. README.md shows those of recordings.ts. */
export const pictures: Record<string, Picture> = {
  'invalid-post': {
    open: async (page) => {
      await page.goto('/posts/new')
      await page.getByLabel('Title').fill(' ')
      await page.getByLabel('Description').fill('A post without a title.')
      await page.getByRole('button').first().click()
    },
  },
  post: {
    open: async (page, blog) => {
      await page.goto(
        await blog.createPost({ title: 'Hello, world', description: 'The first post of this blog.' }),
      )
    },
  },
  comments: {
    open: async (page, blog) => {
      const path = await blog.createPost({ title: 'Hello, world' })
      await blog.create(`${path}/comments`, { body: 'When is the next one?' })
      await blog.create(`${path}/comments`, { body: 'Welcome!' })
      await page.goto(`${path}/comments`)
    },
  },
  filters: {
    width: 960,
    open: async (page, blog) => {
      await createPosts(blog)
      await page.goto('/posts?title.prefix=Me&created_at.gte=2026-01-01T00:00')
    },
  },
  phone: {
    width: 390,
    open: async (page, blog) => {
      await createPosts(blog)
      await page.goto('/posts')
    },
  },
}

/** The pages of examples/members that have a picture. */
const memberPictures: Record<string, (page: Page) => Promise<unknown>> = {
  'sign-in': async (page) => {
    await page.goto('/session/new')
    await page.getByLabel('Email address').fill('ada@example.com')
    await page.getByLabel('Password').fill('not my password')
    await page.getByRole('main').getByRole('button').click()
  },
  account: async (page) => {
    const data = { email: 'ada@example.com', password }
    await page.context().request.post('/registration', { data, headers: { Accept: 'application/json' } })
    await page.goto('/account/edit')
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
      await takePicture(name, page)
    })
    await takeMemberPictures(browser)
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

/** Takes the picture of a page, or of its beginning, with the light and the dark color scheme. */
export async function takePicture(
  name: string,
  page: Page,
  { height }: { height?: number } = {},
): Promise<void> {
  if (height) await page.setViewportSize({ width: 840, height })
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    const png = await page.screenshot({ fullPage: !height })
    writeFileSync(join(folder, `${name}-${colorScheme}.png`), withFewColors(png))
  }
}

/** Opens a page in a window of this width, for a picture. */
export async function openForPicture(browser: Browser, url: string, width = 840): Promise<Page> {
  const { page } = await visit(browser, url, { viewport: { width, height: 400 }, deviceScaleFactor: 1.5 })
  return page
}

async function takeMemberPictures(browser: Browser): Promise<void> {
  const { site } = await openExampleMembers()
  try {
    for (const [name, open] of Object.entries(memberPictures)) {
      const page = await openForPicture(browser, site.url)
      await open(page)
      await takePicture(name, page)
      await page.context().close()
    }
  } finally {
    await site.close()
  }
}

async function eachPicture(
  browser: Browser,
  blog: BlogProcess,
  use: (name: string, page: Page) => Promise<void>,
): Promise<void> {
  for (const [name, { width, open }] of Object.entries(pictures)) {
    await blog.database.query('DELETE FROM posts')
    const page = await openForPicture(browser, blog.url, width)
    await open(page, blog)
    await use(name, page)
    await page.context().close()
  }
}

async function createPosts(blog: BlogProcess): Promise<void> {
  await blog.createPost({ title: 'Release notes', description: 'Version 2 is out.' })
  await blog.createPost({ title: 'Meetup', description: 'Slides are online.' })
}

/** Replaces the page with the text of a terminal, in the colors of the application. */
export async function showTerminal(page: Page, lines: string[]): Promise<void> {
  await page.evaluate<void, string>((text) => {
    const { document } = globalThis as unknown as {
      document: { body: { innerHTML: string; firstElementChild: { textContent: string } } }
    }
    document.body.innerHTML =
      '<pre style="margin: 0; padding: 20px; font-size: 17px; line-height: 1.6; border-radius: 0"></pre>'
    document.body.firstElementChild.textContent = text
  }, lines.join('\n'))
}

/** A digest of a page and its style sheet, without the ids, tokens and times that differ each time. */
async function digestOf(page: Page): Promise<string> {
  const html = (await page.content())
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/(name="authenticity_token" value=)"[^"]*"/g, '$1"TOKEN"')
    .replaceAll(/<time [^>]*>[^<]*<\/time>/g, 'TIME')
  const css = await page.evaluate<string>("fetch('/application.css').then((response) => response.text())")
  return createHash('sha256').update(html).update(css).digest('hex')
}
