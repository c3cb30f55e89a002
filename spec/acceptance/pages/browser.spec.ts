import type axe from 'axe-core'
import { expect } from 'chai'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContextOptions, Dialog, Page } from 'playwright-core'
import { startExampleBlog, type BlogProcess } from '../../support/applications/example-blog-process.js'
import { openExampleBlog } from '../../support/applications/example-blog.js'
import { describeInBrowser, startBrowser, visit, type Visitor } from '../../support/browser.js'
import { currentDigests, recordedDigests } from '../../support/documentation/pictures.js'

const themes = [
  { colorScheme: 'light', paper: 'rgb(250, 249, 246)' },
  { colorScheme: 'dark', paper: 'rgb(20, 24, 26)' },
] as const

/** A light screen and a dark phone, or with `KIT_SCREENS=all` three widths in both themes. */
const screens = themes.flatMap((theme, index) => {
  const widths = process.env['KIT_SCREENS'] === 'all' ? [1280, 768, 360] : [index === 0 ? 1280 : 390]
  return widths.map((width) => ({ ...theme, size: { width, height: 844 } }))
})

const longWord = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'
const longTitle = `${longWord}${longWord} and a title that goes on for longer than anybody would like`

describeInBrowser('examples/blog in a browser', () => {
  let browser: Browser
  let blog: BlogProcess
  let visitor: Visitor

  before(async () => {
    browser = await startBrowser()
    blog = await startExampleBlog('test')
  })

  after(async () => {
    await browser?.close()
    await blog?.stop()
  })

  /** Gives the specs of a describe a browser page, and asserts that the page has no errors. */
  function withVisitor(options: BrowserContextOptions = {}): void {
    before(async () => {
      visitor = await visit(browser, blog.url, options)
    })

    afterEach(() => {
      expect(visitor.troubles.splice(0)).to.deep.equal([])
    })

    after(() => visitor.page.context().close())
  }

  async function open(path: string): Promise<Page> {
    await visitor.page.goto(path)
    return visitor.page
  }

  it('looks like its pictures in docs/images, which `npm run screenshots` takes again', async () => {
    expect(await currentDigests(browser, blog)).to.deep.equal(recordedDigests())
  })

  for (const javaScriptEnabled of [true, false]) {
    describe(javaScriptEnabled ? 'with JavaScript' : 'without JavaScript', () => {
      withVisitor({ javaScriptEnabled })

      beforeEach(async () => {
        await blog.database.query('DELETE FROM posts')
      })

      it('creates a post, and shows the message once', async () => {
        const page = await open('/posts/new')
        await page.getByLabel('Title').fill('The first post')
        await page.getByLabel('Description').fill('One line\n\nand another <b>')
        await press(page, 'Save')
        expect(new URL(page.url()).pathname).to.match(/^\/posts\/[0-9a-f-]{36}$/)
        expect(await heading(page)).to.equal('The first post')
        expect(await page.locator('.record dd').first().innerText()).to.equal('One line\n\nand another <b>')
        expect(await page.getByRole('status').innerText()).to.equal('The post was created.')
        await page.reload()
        expect(await page.getByRole('status').innerText()).to.equal('')
      })

      it('shows the errors of a post, keeps the submitted values, and saves the corrected post', async () => {
        const page = await open('/posts/new')
        await page.getByLabel('Title').fill('   ')
        await page.getByLabel('Description').fill('Kept')
        await press(page, 'Save')
        expect(await heading(page)).to.equal('New post')
        expect(await page.getByRole('alert').innerText()).to.equal(
          'Nothing was saved: there is a problem\nTitle cannot be blank.',
        )
        expect(await page.locator('#post_title_error').innerText()).to.equal('Title cannot be blank.')
        expect(await page.getByLabel('Description').inputValue()).to.equal('Kept')

        await page.getByLabel('Title').fill('Corrected')
        await press(page, 'Save')
        expect(await heading(page)).to.equal('Corrected')
        expect(await page.locator('.record').innerText()).to.contain('Kept')
      })

      if (javaScriptEnabled) {
        it('keeps a post if the visitor cancels the confirmation', async () => {
          await blog.createPost({ title: 'Kept' })
          const page = await open('/posts')
          const question = answer(page, (dialog) => dialog.dismiss())
          await page.getByRole('button', { name: 'Delete' }).click()
          expect(await question).to.equal('Are you sure? This cannot be undone.')
          await page.reload()
          expect(await rows(page)).to.deep.equal(['Kept'])
        })

        it('deletes a post if the visitor confirms', async () => {
          await blog.createPost({ title: 'Kept' })
          const page = await open(await blog.createPost({ title: 'Deleted' }))
          const question = answer(page, (dialog) => dialog.accept())
          await press(page, 'Delete')
          await question
          expect(page.url()).to.equal(`${blog.url}/posts`)
          expect(await page.getByRole('status').innerText()).to.equal('The post was deleted.')
          expect(await rows(page)).to.deep.equal(['Kept'])
        })
      } else {
        // The script has no part in these pages.
        it('links from the home page to an empty list, and to the form for a new post', async () => {
          const page = await open('/')
          expect(await heading(page)).to.equal('Welcome to Blog')
          await follow(page, 'Posts')
          expect(await heading(page)).to.equal('Posts')
          expect(await page.locator('.empty').innerText()).to.equal('There is nothing here yet.')
          await follow(page, 'New post')
          expect(await heading(page)).to.equal('New post')
        })

        it('lets the browser require a title, but no optional field', async () => {
          const page = await open('/posts/new')
          await page.getByRole('button', { name: 'Save' }).click()
          expect(await focus(page)).to.equal('post_title')
          expect(page.url()).to.equal(`${blog.url}/posts/new`)
          expect(await page.locator(':required').count()).to.equal(1)
          expect(await page.locator('label[for=post_description]').innerText()).to.equal(
            'Description (optional)',
          )
        })

        it('edits a post, and shows its errors on the same form', async () => {
          const page = await open(await blog.createPost({ title: 'Befroe' }))
          await follow(page, 'Edit')
          expect(await page.getByLabel('Title').inputValue()).to.equal('Befroe')
          await page.getByLabel('Title').fill('\t ')
          await press(page, 'Save')
          expect(await heading(page)).to.equal('Edit post')
          await page.getByLabel('Title').fill('After')
          await press(page, 'Save')
          expect(await heading(page)).to.equal('After')
          expect(await page.getByRole('status').innerText()).to.equal('The post was updated.')
        })

        it('adds a comment to a post, edits the comment and returns to the post', async () => {
          const page = await open(await blog.createPost({ title: 'Discussed' }))
          await follow(page, 'Comments')
          await follow(page, 'New comment')
          await page.getByLabel('Body').fill(' \n ')
          await press(page, 'Save')
          expect(await page.locator('#comment_body_error').innerText()).to.equal('Body cannot be blank.')
          await page.getByLabel('Body').fill('Well said')
          await press(page, 'Save')
          expect(await page.getByRole('status').innerText()).to.equal('The comment was created.')
          await follow(page, 'Edit')
          await page.getByLabel('Body').fill('Very well said')
          await press(page, 'Save')
          expect(await page.getByRole('status').innerText()).to.equal('The comment was updated.')
          await follow(page, 'Comments')
          expect(await rows(page)).to.deep.equal(['Very well said'])
          await follow(page, 'Discussed')
          expect(await heading(page)).to.equal('Discussed')
        })

        it('moves through the pages of a list', async () => {
          for (let number = 1; number <= 5; number++) await blog.createPost({ title: `Number ${number}` })
          const page = await open('/posts?per_page=2')
          expect(await rows(page)).to.deep.equal(['Number 5', 'Number 4'])
          await follow(page, 'Next')
          expect(await page.locator('[aria-current=page]').last().innerText()).to.equal('2')
          expect(await rows(page)).to.deep.equal(['Number 3', 'Number 2'])
          await follow(page, 'Page 3')
          expect(await rows(page)).to.deep.equal(['Number 1'])
          await follow(page, 'Previous')
          expect(await rows(page)).to.deep.equal(['Number 3', 'Number 2'])
        })

        it('has a search field and a button of one height, and the buttons of filters in one row', async () => {
          const page = await open('/posts?search=x&title.prefix=y')
          const boxes = [
            'input[type=search]',
            '.search button',
            '.filters .actions button',
            '.filters .clear',
          ]
          const [field, search, filter, clear] = await Promise.all(
            boxes.map((one) => page.locator(one).boundingBox()),
          )
          expect(search).to.include({ y: field?.y, height: field?.height })
          const middle = (box: typeof clear) => Math.round((box?.y ?? 0) + (box?.height ?? 0) / 2)
          expect(middle(clear)).to.be.closeTo(middle(filter), 1)
        })

        it('filters, searches and sorts a list, clears the filters and goes back', async () => {
          for (const title of ['Zebra', 'Apple', 'Aardvark'])
            await blog.createPost({ title, description: 'an animal' })
          const page = await open('/posts')
          expect(await page.getByLabel('Title begins with').isVisible()).to.equal(false)
          await page.getByText('Filters').click()
          await page.getByLabel('Title begins with').fill('A')
          await page.getByLabel('Search').fill('ANIMAL')
          await press(page, 'Filter')
          expect(await rows(page)).to.deep.equal(['Aardvark', 'Apple'])
          await follow(page, 'Title')
          await follow(page, 'Title')
          expect(await page.locator('th[aria-sort]').getAttribute('aria-sort')).to.equal('descending')
          expect(await rows(page)).to.deep.equal(['Apple', 'Aardvark'])
          expect(await page.getByLabel('Title begins with').inputValue()).to.equal('A')
          await page.getByText('Filters (1)').waitFor()
          await page.getByLabel('Title begins with').fill('Nothing')
          await press(page, 'Filter')
          expect(await page.locator('.empty').innerText()).to.contain('Nothing matches these filters.')
          await loaded(page, () =>
            page.locator('.empty').getByRole('link', { name: 'Clear filters' }).click(),
          )
          expect(await page.getByLabel('Title begins with').inputValue()).to.equal('')
          expect((await rows(page))[0]).to.equal('Zebra')
          await loaded(page, async () => void (await page.goBack()))
          expect(await page.locator('.empty').innerText()).to.contain('Nothing matches')
        })

        it('deletes a post and a comment without confirmation', async () => {
          const post = await blog.createPost({ title: 'Deleted' })
          await blog.create(`${post}/comments`, { body: 'Deleted first' })
          const page = await open(`${post}/comments`)
          await press(page, 'Delete')
          expect(await page.getByRole('status').innerText()).to.equal('The comment was deleted.')
          expect(await rows(page)).to.deep.equal([])
          await follow(page, 'Deleted')
          await press(page, 'Delete')
          expect(await page.getByRole('status').innerText()).to.equal('The post was deleted.')
          expect(await rows(page)).to.deep.equal([])
        })
      }
    })
  }

  describe('in a language that is written from right to left', () => {
    withVisitor()

    it('points the arrows of pages to where they lead', async () => {
      for (const [path, selector, property, left, right] of [
        ['/posts/new', '.back', 'content', '"←\u00a0" / ""', '"→\u00a0" / ""'],
        ['/posts', '.filters summary', 'scale', 'none', '-1 1'],
      ] as const) {
        const page = await open(path)
        const value = `getComputedStyle(document.querySelector('${selector}'), '::before').${property}`
        expect(await page.evaluate(value)).to.equal(left)
        expect(await page.evaluate(`document.documentElement.dir = 'rtl', ${value}`)).to.equal(right)
      }
    })
  })

  describe('on a tablet', () => {
    withVisitor({ viewport: { width: 660, height: 800 } })

    it('shows a list of many columns with dates without scrolling sideways', async () => {
      const page = await open('/posts')
      const date = '<td><time>Oct 25, 2026, 2:30 AM GMT+1</time></td>'
      const columns = Array.from({ length: 6 }, () => '<th scope="col">Customer</th>').join('')
      const row = `<th scope="row"><a href="/">Short</a></th><td>Ada</td><td>Bob</td>${date.repeat(3)}`
      const table = `<table class="records"><thead><tr>${columns}</tr></thead><tbody><tr>${row}</tr></tbody></table>`
      await page.evaluate(`document.querySelector('main').innerHTML = '${table}'`)
      expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(660)
    })
  })

  describe('with the keyboard alone', () => {
    withVisitor()

    beforeEach(async () => {
      await blog.database.query('DELETE FROM posts')
    })

    it('shows the skip link first, which moves past the header', async () => {
      const page = await open('/posts')
      const link = page.getByRole('link', { name: 'Skip to the content' })
      expect((await link.boundingBox())?.height).to.be.at.most(1)
      expect(await tab(page)).to.equal('Skip to the content')
      expect((await link.boundingBox())?.height).to.be.at.least(40)
      await page.keyboard.press('Enter')
      expect(await tab(page)).to.equal('New post')
    })

    it('moves through a page in reading order', async () => {
      await blog.createPost({ title: 'The older one' })
      await blog.createPost({ title: 'The newer one' })
      const page = await open('/posts')
      const order: string[] = []
      for (let step = 1; step <= 15; step++) order.push(await tab(page))
      expect(order).to.deep.equal([
        'Skip to the content',
        'Blog',
        'Posts',
        'New post',
        'filter_search',
        'Search',
        'Filters',
        'Title',
        'Created at',
        'The newer one',
        'Edit',
        'Delete',
        'The older one',
        'Edit',
        'Delete',
      ])
    })

    it('moves from an error to its field, corrects the field, and deletes the post', async () => {
      const page = await open('/posts/new')
      await tabTo(page, 'post_title')
      await page.keyboard.type('  ')
      await tabTo(page, 'Save')
      await loaded(page, () => page.keyboard.press('Enter'))

      // The summary has the focus, and its links move to the fields.
      expect(await focus(page)).to.contain('Nothing was saved')
      expect(await tab(page)).to.equal('Title cannot be blank.')
      await page.keyboard.press('Enter')
      expect(await focus(page)).to.equal('post_title')
      expect(await page.locator(':focus').getAttribute('aria-describedby')).to.equal('post_title_error')
      await page.keyboard.press('Control+A')
      await page.keyboard.type('Written without a mouse')
      await loaded(page, () => page.keyboard.press('Enter'))
      expect(await heading(page)).to.equal('Written without a mouse')

      await tabTo(page, 'Delete')
      const question = answer(page, (dialog) => dialog.accept())
      await loaded(page, () => page.keyboard.press('Enter'))
      await question
      expect(await rows(page)).to.deep.equal([])
    })
  })

  describe('every page', () => {
    let broken: Awaited<ReturnType<typeof openExampleBlog>>
    let development: BlogProcess
    let post: string
    let comment: string
    withVisitor()

    before(async () => {
      // Chromium keeps axe-core for all pages, instead of receiving it for each of them.
      await visitor.page.addInitScript({ path: fileURLToPath(import.meta.resolve('axe-core/axe.min.js')) })
      broken = await openExampleBlog()
      development = await startExampleBlog('development')
      for (const table of ['comments', 'posts']) await development.database.query(`DROP TABLE ${table}`)
      await blog.database.query('DELETE FROM posts')
      const description = `${'Some words. '.repeat(40)}\n\n${longWord.repeat(3)}`
      for (let number = 1; number <= 9; number++) await blog.createPost({ title: `Post ${number}` })
      post = await blog.createPost({ title: longTitle, description })
      for (let number = 1; number <= 2; number++)
        await blog.create(`${post}/comments`, { body: `Comment ${number}` })
      comment = await blog.create(`${post}/comments`, { body: description })
    })

    after(() => Promise.all([broken?.site.close(), development?.stop()]))

    /** The pages that visitors see, and how to reach each of them. */
    const pages: Record<string, (page: Page) => Promise<unknown>> = {
      'the first page': (page) => page.goto('/'),
      'a list': (page) => page.goto('/posts?per_page=4'),
      'a page in the middle of a long list': (page) => page.goto('/posts?page=5&per_page=1'),
      'a filtered list': (page) => page.goto('/posts?title.prefix=P&created_at.gte=2026-01-01&sort=-title'),
      'a list that nothing matches': (page) => page.goto('/posts?search=nothing'),
      'a list whose filter failed': (page) => page.goto('/posts?created_at.gte=soon&title.lt=a'),
      'an empty list': (page) => page.goto('/posts?page=100'),
      'a post': (page) => page.goto(post),
      'the form for a new post': (page) => page.goto('/posts/new'),
      'a form that failed': async (page) => {
        await page.goto('/posts/new')
        await page.getByLabel('Title').fill(' ')
        await press(page, 'Save')
      },
      'the form for a post': (page) => page.goto(`${post}/edit`),
      'a page with a message': async (page) => {
        await page.goto(`${comment}/edit`)
        await press(page, 'Save')
      },
      'a list of comments': (page) => page.goto(`${post}/comments?per_page=2`),
      'the form for a new comment': (page) => page.goto(`${post}/comments/new`),
      'the form for a comment': (page) => page.goto(`${comment}/edit`),
      'the error page of 404': (page) => page.goto('/nothing'),
      'the error page of 500': async (page) => {
        await broken.database.query('ALTER TABLE posts RENAME TO hidden_posts')
        await page.goto(`${broken.site.url}/posts`)
        await broken.database.query('ALTER TABLE hidden_posts RENAME TO posts')
      },
      'the error page of development': (page) => page.goto(`${development.url}/posts?q=${longWord}`),
      'the 404 of development': (page) => page.goto(`${development.url}/nothing`),
    }

    for (const [name, show] of Object.entries(pages)) {
      it(`is accessible and fits a light screen and a dark phone: ${name}`, async () => {
        await show(visitor.page)
        for (const [index, screen] of screens.entries()) {
          await visitor.page.emulateMedia({ colorScheme: screen.colorScheme })
          await visitor.page.setViewportSize(screen.size)
          expect(await background(visitor.page)).to.equal(screen.paper)
          expect(await barriers(visitor.page, index === 0 ? undefined : visibleRules)).to.deep.equal([])
          expect(await overflow(visitor.page)).to.equal(0)
          expect(await cutDates(visitor.page)).to.deep.equal([])
        }
        expect(await smallTargets(visitor.page)).to.deep.equal([])
      })
    }
  })

  describe('the log of the server', () => {
    it('contains the failed forms, and no error', () => {
      const statuses = blog.log.map(({ status }) => status)
      expect(statuses).to.include(422)
      expect(blog.log.filter(({ level, status = 0 }) => level >= 50 || status >= 500)).to.deep.equal([])
    })
  })
})

function heading(page: Page): Promise<string> {
  return page.locator('h1').innerText()
}

/** The records of the list that the page shows. */
function rows(page: Page): Promise<string[]> {
  return page.locator('.records tbody th').allInnerTexts()
}

/** Clicks a link of this name in the content, not in the header. */
function follow(page: Page, name: string): Promise<void> {
  return loaded(page, () => page.getByRole('main').getByRole('link', { name, exact: true }).click())
}

/** Clicks a button of this name. */
function press(page: Page, name: string): Promise<void> {
  return loaded(page, () => page.getByRole('button', { name, exact: true }).click())
}

/** Runs an action that loads another page, and waits for the page. */
async function loaded(page: Page, act: () => Promise<void>): Promise<void> {
  await Promise.all([page.waitForEvent('load'), act()])
}

/** Answers the next dialog, and returns its text. */
function answer(page: Page, give: (dialog: Dialog) => Promise<void>): Promise<string> {
  return new Promise((asked, fail) => {
    page.once('dialog', (dialog) => give(dialog).then(() => asked(dialog.message()), fail))
  })
}

/** The id of the focused element, or its text. */
async function focus(page: Page): Promise<string> {
  const element = page.locator(':focus')
  return (await element.getAttribute('id')) ?? (await element.innerText())
}

/** Presses the tabulator key until an element shows that it has the focus. */
async function tab(page: Page): Promise<string> {
  await page.keyboard.press('Tab')
  const outline = await page.evaluate<string>('getComputedStyle(document.activeElement).outline')
  const name = await focus(page)
  expect(outline, `the outline of ${name}`).to.match(/rgb\(15, 107, 92\) solid [23]px/)
  return name
}

/** Presses the tabulator key until `name` has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const passed: string[] = []
  while (passed.at(-1) !== name) {
    passed.push(await tab(page))
    if (passed.length > 20) throw new Error(`${name} is not among ${passed.join(', ')}`)
  }
}

function background(page: Page): Promise<string> {
  return page.evaluate('getComputedStyle(document.body).backgroundColor')
}

/** How many pixels the page is wider than the screen. */
function overflow(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - innerWidth')
}

/** The dates of a list that are cut off. */
function cutDates(page: Page): Promise<string[]> {
  return page.evaluate(
    `[...document.querySelectorAll('td:has(time)')].filter((td) => td.scrollWidth > td.clientWidth).map((td) => td.innerText)`,
  )
}

/** The rules for colors, sizes, and names that a style sheet could hide. All others depend on the document only. */
const visibleRules = [
  'color-contrast',
  'link-in-text-block',
  'scrollable-region-focusable',
  'target-size',
  'button-name',
  'label',
  'link-name',
]

/** The violations that axe-core finds, with all rules or with some: the rule, and the element. */
async function barriers(page: Page, rules?: string[]): Promise<string[]> {
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) }
  const { violations } = await page.evaluate<axe.AxeResults>(`axe.run(${JSON.stringify(options)})`)
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`)
}

/** Links, buttons and fields that are too small to touch: lower than 44 pixels, or 24 within text (WCAG 2.2). */
async function smallTargets(page: Page): Promise<string[]> {
  const targets = await page.evaluate<Array<{ name: string; width: number; height: number; least: number }>>(`
    [...document.querySelectorAll('a, button, input:not([type=hidden]), select, textarea')].map((target) => {
      const { width, height } = target.getBoundingClientRect()
      return { name: target.innerText || target.id, width, height, least: target.closest('[role=alert]') ? 24 : 44 }
    })`)
  return targets
    .filter(({ width, height, least }) => height > 1 && (height < least || width < 24))
    .map(({ name, width, height }) => `${name}: ${width} x ${height}`)
}
