import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { pino } from 'pino'
import { Column, Entity } from 'typeorm'
import { App, html, Model, type AppOptions } from '../../src/index.js'
import { captureLog } from '../../src/testing/index.js'
import { Site } from '../support/site.js'
import { inFolder } from '../support/temporary-folder.js'

declare module '../../src/index.js' {
  interface State {
    account?: { name: string }
  }
}

/** Opens an application whose templates are these. */
async function withSite(
  templates: Record<string, string>,
  { declare, ...options }: AppOptions & { declare?: (app: App) => void },
  work: (site: Site, folder: string) => Promise<void>,
): Promise<void> {
  await inFolder(async (folder) => {
    for (const [name, text] of Object.entries(templates)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), text)
    }
    const app = new App({ templates: folder, logger: pino({ level: 'silent' }), ...options })
    declare?.(app)
    const site = await Site.open(app)
    try {
      await work(site, folder)
    } finally {
      await site.close()
    }
  })
}

describe('The variables of a template', () => {
  const label = { 'a.pug': "= label('post.title')" }

  it('are the helpers of the framework', () =>
    withSite(label, { declare: (app) => app.get('/', (ctx) => ctx.render('a')) }, async (site) => {
      expect((await site.get('/')).text).to.equal('Title')
    }))

  it("are the application's helpers, which receive the context and override those of the framework", () =>
    withSite(
      { 'a.pug': "= label('post.title')\n!= price(5, 'EUR')" },
      {
        helpers: {
          label: (ctx, id) => `${ctx.path} ${id}`,
          price: (_ctx, amount: number, currency: string) => html`<b>${amount} ${currency}</b>`,
        },
        declare: (app) => app.get('/here', (ctx) => ctx.render('a')),
      },
      async (site) => {
        expect((await site.get('/here')).text).to.equal('/here post.title<b>5 EUR</b>')
      },
    ))

  it('are the members of ctx.state, which override helpers', () =>
    withSite(
      { 'a.pug': '= account.name + label' },
      {
        helpers: { account: () => 'helper' },
        declare: (app) => {
          app.use((ctx, next) => {
            ctx.state.account = { name: 'Ada' }
            ctx.state['label'] = '!'
            return next()
          })
          app.get('/', (ctx) => ctx.render('a'))
        },
      },
      async (site) => {
        expect((await site.get('/')).text).to.equal('Ada!')
      },
    ))

  it('are the locals of the page, which override everything else', () =>
    withSite(
      { 'a.pug': '= t' },
      {
        helpers: { t: () => 'helper' },
        declare: (app) =>
          app.get('/', (ctx) => {
            ctx.state['t'] = 'state'
            ctx.render('a', { t: 'local' })
          }),
      },
      async (site) => {
        expect((await site.get('/')).text).to.equal('local')
      },
    ))

  it('include ctx.state on error pages, except for paths that nothing serves', () =>
    withSite(
      { 'error.pug': "= account ? account.name : 'nobody'\n= status" },
      {
        env: 'production',
        secret: 'x'.repeat(32),
        declare: (app) => {
          app.use((ctx, next) => {
            ctx.state.account = { name: 'Ada' }
            return next()
          })
          app.get('/fail', () => {
            throw new Error('a mistake')
          })
        },
      },
      async (site) => {
        expect((await site.get('/fail')).text).to.equal('Ada500')
        expect((await site.get('/nope')).text).to.equal('nobody404')
      },
    ))
})

describe('ctx.renderToString(view, locals)', () => {
  it('returns the text of a template, and does not change the response', () =>
    withSite(
      { 'mails/welcome.pug': "p= t('kit.save') + ' ' + name + ' ' + itemPath({ item_id: '1' })" },
      {
        declare: (app) => {
          app.get('/items/{item_id}', () => {}, { name: 'itemPath' })
          app.get('/', (ctx) => {
            const mail = ctx.renderToString('mails/welcome', { name: '<Ada>' })
            ctx.body = { mail, isPage: ctx.response.header['content-language'] !== undefined }
          })
        },
      },
      async (site) => {
        expect((await site.get('/')).json).to.deep.equal({
          mail: '<p>Save &lt;Ada&gt; /items/1</p>',
          isPage: false,
        })
      },
    ))
})

describe('An error of a template', () => {
  const failing = (template: string, options: AppOptions = {}) => {
    const files = { 'layout.pug': 'main\n  block content', 'posts/show.pug': template }
    return (work: (page: string, folder: string) => void) =>
      withSite(
        files,
        {
          ...options,
          declare: (app) => {
            app.get('/posts/{post_id}', () => {}, { name: 'postPath' })
            app.get('/', (ctx) => ctx.render('posts/show', { post: undefined }))
          },
        },
        async (site, folder) => {
          const { json, status } = await site.get('/', { accept: 'json' })
          expect(status).to.equal(500)
          work(json.detail, folder)
        },
      )
  }

  it('names the path helper that does not exist, the similar one, and the line', () =>
    failing('extends /layout\n\nblock content\n  a(href=psotPath({ post_id: 1 })) Post', {
      env: 'development',
    })((detail) => {
      expect(detail).to.match(
        /^\S*posts\/show\.pug, line 4: No route has the name "psotPath"\. Did you mean "postPath"\?$/,
      )
    }))

  it('names a path helper that ends in another way', () =>
    failing('extends /layout\n\nblock content\n  a(href=postsPaths()) Posts', { env: 'development' })(
      (detail) => {
        expect(detail).to.include('line 4: No route has the name "postsPaths".')
      },
    ))

  it('has the line of the template', () =>
    failing('extends /layout\n\nblock content\n  p Text\n  = post.title', { env: 'development' })(
      (detail) => {
        expect(detail).to.match(
          /^\S*posts\/show\.pug, line 5: Cannot read properties of undefined \(reading 'title'\)$/,
        )
      },
    ))

  it('has the line if pug cannot read the template', () =>
    failing('extends /layout\n\nblock content\n  p(', { env: 'development' })((detail) => {
      expect(detail).to.match(/^\S*posts\/show\.pug, line 4: /)
    }))

  it('shows the lines of the template on the page of development', async () => {
    await withSite(
      { 'show.pug': 'p one\np two\n= post.title\np four' },
      {
        env: 'development',
        declare: (app) => app.get('/', (ctx) => ctx.render('show', { post: undefined })),
      },
      async (site, folder) => {
        const previous = process.cwd()
        process.chdir(folder)
        try {
          const { text } = await site.get('/')
          expect(text)
            .to.contain('<code>show.pug:3</code>')
            .and.to.contain('p four')
            .and.to.contain('line meant')
          expect(text).to.contain('show.pug, line 3: Cannot read properties of undefined')
        } finally {
          process.chdir(previous)
        }
      },
    )
  })
})

describe('A misspelling in a template', () => {
  abstract class Text extends Model {
    @Column('varchar')
    title!: string
  }

  @Entity('articles')
  class Article extends Text {
    @Column('varchar', { nullable: true })
    summary?: string

    get heading() {
      return this.title
    }
  }

  const files = {
    'layout.pug': "title= t('kit.saev')\nmain\n  block content",
    'a.pug': `extends /layout

block content
  each article in articles
    if article.titel
      p never
    else
      h1(title=article.sumary) #{article.title}
    p= display(article.headin) + t('article.titel.of')
    p= article.heading + article.summary + options.missing
    p= articles.map((it) => it.id).length + article.toString()
  p= t('kit.save')`,
  }

  /** The log of two requests for the page. */
  async function warnings(env: string): Promise<unknown[]> {
    process.env['SESSION_SECRET'] = 'x'.repeat(64)
    const log = captureLog()
    const articles = [Object.assign(new Article(), { title: 'One' }), new Article()]
    const declare = (app: App) => app.get('/', (ctx) => ctx.render('a', { articles, options: {} }))
    await withSite(files, { env, declare, logger: log.logger }, async (site) => {
      const { text } = await site.get('/')
      expect(text).to.contain('<h1>One</h1>').and.to.contain('article.titel.of')
      await site.get('/')
    })
    return log.lines
      .filter(({ level }) => level === 40)
      .map(({ msg }) => String(msg).replace(/^\S*\/a\.pug/, 'a.pug'))
  }

  it('is a warning in development, once, with the place and the right word', async () => {
    expect(await warnings('development')).to.deep.equal([
      "The page a calls t('kit.saev'), but no file in locales has this id. Did you mean t('kit.save')?",
      'a.pug, line 5: Article has no attribute "titel". Did you mean article.title?',
      'a.pug, line 8: Article has no attribute "sumary". Did you mean article.summary?',
      'a.pug, line 9: Article has no attribute "headin".',
      "The page a calls t('article.titel.of'), but no file in locales has this id.",
    ])
  })

  after(() => delete process.env['SESSION_SECRET'])

  for (const env of ['test', 'production'])
    it(`is none in the environment ${env}`, async () => {
      expect(await warnings(env)).to.deep.equal([])
    })
})
