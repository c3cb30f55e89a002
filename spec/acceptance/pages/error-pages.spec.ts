import { join } from 'node:path'
import { expect } from 'chai'
import { pino } from 'pino'
import {
  App,
  HttpError,
  RecordNotFound,
  ServiceUnavailable,
  transaction,
  translations,
  ValidationErrors,
  type AppOptions,
} from '../../../src/index.js'
import { TooManyRequests, Unauthorized } from '../../../src/auth/index.js'
import { ResourceNotImplemented } from '../../../src/errors.js'
import { blogDatabase, newPost, Post } from '../../support/applications/blog-database.js'
import { newDatabase } from '../../support/databases.js'
import { writeLocales } from '../../support/locales.js'
import { Site } from '../../support/site.js'
import { inFolder } from '../../support/temporary-folder.js'

const logger = pino({ level: 'silent' })
const secret = 'a secret of the specs, thirty-two characters and more'
const attack = '<script>alert(1)</script>'

function application(options: AppOptions = {}): App {
  const app = new App({ logger, secret, ...options })
  app.get('/403', () => {
    throw new HttpError(403, 'not yours')
  })
  app.get('/500', () => {
    throw new Error(`the password is hunter2 ${attack}`)
  })
  app.get('/503', () => {
    throw new ServiceUnavailable('The database does not respond.', 7)
  })
  app.get('/url', () => {
    throw new Error(`cannot connect to postgres://shop:${['hunter', 2].join('')}@db.example/shop`)
  })
  app.post('/500', (ctx) => {
    Object.assign(ctx.session, { user_id: 'value-of-user', basket: ['value', 'basket'].join('-of-') })
    throw new Error('failed')
  })
  app.get('/session', (ctx) => {
    Object.assign(ctx.session, { user_id: 'value-of-user' })
    ctx.body = 'kept'
  })
  app.get('/409', () => {
    throw new ValidationErrors(409).add('base', 'referenced', 'Something still refers to it.')
  })
  return app
}

describe('Error pages', () => {
  let site: Site

  afterEach(() => site.close())

  describe('in production', () => {
    const titles: [status: number, title: string][] = [
      [404, 'There is nothing here'],
      [403, 'That is not allowed'],
      [500, 'Something went wrong on our side'],
      [503, 'We will be right back'],
    ]
    for (const [status, title] of titles) {
      it(`explain ${status} to visitors, with the id of the request, and no details of the application`, async () => {
        site = await Site.open(application({ env: 'production' }))
        const response = await site.get(`/${status}`)
        expect(response.status).to.equal(status)
        expect(response.headers.get('content-type')).to.equal('text/html; charset=utf-8')
        expect(response.headers.get('cache-control')).to.equal('no-store')
        expect(response.headers.get('content-language')).to.equal('en-US')
        expect(response.text)
          .to.contain(`<h1>${title}</h1>`)
          .and.to.contain(response.headers.get('x-request-id'))
          .and.not.to.match(/hunter2|at .*\.[jt]s|stack/)
      })
    }

    it('use the language of the visitor', () =>
      inFolder(async (folder) => {
        const texts = {
          'a.en-us.yaml': { a: 'b' },
          'a.de.yaml': { a: 'b' },
          'a.fr.yaml': { a: 'b' },
          'a.es.yaml': { a: 'b' },
        }
        await writeLocales(folder, texts)
        const app = application({ env: 'production' })
        app.use(translations(folder))
        site = await Site.open(app)
        const h1 = async (path: string, language: string) => {
          const response = await site.get(path, { headers: { 'accept-language': language } })
          expect(response.headers.get('content-language')).to.equal(language)
          return /<h1>(.*?)<\/h1>/.exec(response.text)?.[1]
        }
        expect(await h1('/404', 'de')).to.equal('Hier ist nichts')
        expect(await h1('/403', 'fr')).to.equal('Ce n’est pas autorisé')
        expect(await h1('/500', 'de')).to.equal('Bei uns ist etwas schiefgegangen')
        expect(await h1('/503', 'es')).to.equal('Volvemos enseguida')
      }))
  })

  describe('in production, next to their title,', () => {
    const everyLanguage = { 'en-us': 'en-US', de: 'de', fr: 'fr', es: 'es' }
    class OutOfStock extends HttpError {}
    class PaymentFailed extends HttpError {}

    async function withPages(work: () => Promise<void>): Promise<void> {
      await inFolder(async (folder) => {
        for (const language of Object.keys(everyLanguage))
          await writeLocales(folder, {
            [`a.${language}.yaml`]: { 'error.detail.PaymentFailed': `paid ${language}` },
          })
        const app = application({ env: 'production' })
        app.use(translations(folder))
        app.get('/own/{status}', (ctx) => {
          throw new HttpError(Number(ctx.params['status']), 'The subscription has ended.')
        })
        app.get('/thrown', (ctx) => ctx.throw(409, 'Somebody was faster.'))
        app.get('/subclass', () => {
          throw new OutOfStock(409, 'Sold out.')
        })
        app.get('/translated', () => {
          throw new PaymentFailed(402, 'payment failed')
        })
        app.get('/record', () => {
          throw new RecordNotFound('Post')
        })
        app.get('/referred', () => {
          throw new ValidationErrors(409).add('base', 'referenced', 'Der Artikel wird noch gebraucht.')
        })
        app.get('/default', () => {
          throw new ResourceNotImplemented()
        })
        app.get('/tx', (ctx) => ctx.tx)
        app.get('/limited/{seconds}', (ctx) => {
          throw new TooManyRequests(Number(ctx.params['seconds']))
        })
        app.get('/private', () => {
          throw new Unauthorized('Bearer')
        })
        app.get('/bare', (ctx) => void (ctx.status = 418))
        site = await Site.open(app)
        await work()
      })
    }

    const page = (path: string, language: string) =>
      site.get(path, { headers: { 'accept-language': language } }).then(({ text }) => text)
    const detail = (text: string) => /<div class="facts">(?:<p>([^<]*)<\/p>)?<p>[^<]*<code>/.exec(text)?.[1]

    it('show the message of the application, or its translation', () =>
      withPages(async () => {
        expect(detail(await page('/own/402', 'de'))).to.equal('The subscription has ended.')
        expect(detail(await page('/thrown', 'de'))).to.equal('Somebody was faster.')
        expect(detail(await page('/subclass', 'de'))).to.equal('Sold out.')
        expect(detail(await page('/translated', 'de'))).to.equal('paid de')
      }))

    it('show the time until a limit is reset', () =>
      withPages(async () => {
        const again = (seconds: number, language: string) =>
          page(`/limited/${seconds}`, language).then(detail)
        expect(await again(1, 'de')).to.equal('Bitte versuchen Sie es in einer Sekunde noch einmal.')
        expect(await again(90, 'de')).to.equal('Bitte versuchen Sie es in 90 Sekunden noch einmal.')
        expect(await again(90, 'fr')).to.equal('Veuillez réessayer dans 90 secondes.')
        expect(await again(90, 'es')).to.equal('Vuelve a intentarlo dentro de 90 segundos.')
        expect(await again(90, 'en')).to.equal('Please try again in 90 seconds.')
      }))

    it('show the errors of a record', () =>
      withPages(async () => {
        expect(detail(await page('/referred', 'de'))).to.equal('Der Artikel wird noch gebraucht.')
      }))

    it('hide messages that the framework writes for developers', () =>
      withPages(async () => {
        for (const path of ['/record', '/nope', '/default', '/tx', '/500', '/503', '/bare', '/private'])
          expect(detail(await page(path, 'de')), path).to.equal(undefined)
      }))

    it('have texts in every language for every status', () =>
      withPages(async () => {
        const words = async (status: number, language: string) =>
          /<h1>([^<]+)<\/h1><p class="lead">([^<]+)<\/p>/
            .exec(await page(`/own/${status}`, language))
            ?.slice(1)
        for (const status of [400, 402, 408, 418, 451, 499, 500, 501, 502, 504, 599]) {
          const all = []
          for (const language of Object.values(everyLanguage))
            all.push(...((await words(status, language)) ?? []))
          expect(new Set(all).size, String(status)).to.equal(8)
        }
      }))
  })

  describe('in development', () => {
    beforeEach(async () => (site = await Site.open(application({ env: 'development' }))))

    it('show the error, the routes, and the keys of the session without their values', async () => {
      await site.get('/session')
      const { text } = await site.get('/500?page=2')
      expect(text)
        .to.contain('<h1>Error</h1>')
        .and.to.contain('hunter2')
        .and.to.contain('<td>GET</td><td><code>/503</code></td>')
        .and.to.contain('<code>user_id</code>')
        .and.to.contain('&quot;page&quot;: &quot;2&quot;')
        .and.not.to.contain('value-of-user')
        .and.not.to.contain(attack)
    })

    it('filter the name and the password in a URL, also in JSON', async () => {
      for (const accept of ['html', 'json'])
        expect((await site.get('/url', { accept })).text)
          .to.contain('postgres://[FILTERED]@db.example/shop')
          .and.not.to.contain('hunter2')
    })

    it('show the errors of a record', async () => {
      const { text } = await site.get('/409')
      expect(text)
        .to.contain(
          '<pre class="error-message">Another record prevents this change.\nbase: Something still refers to it.</pre>',
        )
        .and.not.to.contain('<h2>Where</h2>')
    })

    it('show the session keys that the failing request itself has set', async () => {
      expect((await site.post('/500')).text)
        .to.contain('<code>user_id, basket</code>')
        .and.not.to.contain('value-of-basket')
    })

    it('show the line of the application that caused the error', async () => {
      const folder = process.cwd()
      process.chdir(join(import.meta.dirname, '../../../..'))
      try {
        const { text } = await site.get('/500')
        expect(text).to.match(
          /<code>spec\/acceptance\/pages\/error-pages\.spec\.ts:\d+<\/code>.*<span class="line meant"><span class="number">\d+<\/span> {4}throw new Error\(`the password/s,
        )
      } finally {
        process.chdir(folder)
      }
    })
  })

  describe('when migrations are pending', () => {
    async function withPosts(
      options: { env: string; checksMigrations?: boolean },
      work: (database: ReturnType<typeof blogDatabase>) => Promise<void>,
    ): Promise<void> {
      const database = blogDatabase(await newDatabase())
      const app = new App({ env: options.env, logger, secret })
      app.use(transaction(database, { checksMigrations: options.checksMigrations ?? false }))
      app.get('/', (ctx) => void (ctx.body = 'home'))
      app.get('/posts', async (ctx) => void (ctx.body = String(await ctx.tx.count(Post))))
      app.post('/posts', async (ctx) => {
        const errors = await ctx.save(newPost('one'))
        ctx.body = String(errors)
      })
      site = await Site.open(app)
      await work(database)
      await database.close()
    }

    it('name them and the command that runs them, in development', () =>
      withPosts({ env: 'development' }, async (database) => {
        expect((await site.get('/')).text).to.equal('home')
        for (const response of [await site.get('/posts'), await site.post('/posts')]) {
          expect(response.status).to.equal(500)
          expect(response.text)
            .to.contain('Migrations are pending')
            .and.to.contain('<li><code>CreateBlog1700000000000</code></li>')
            .and.to.contain('<code>npx kit db migrate</code>')
        }
        await database.migrate()
        expect((await site.get('/posts')).text).to.equal('0')
      }))

    it('appear for every path until the migrations have been run, if the application checks them at start', () =>
      withPosts({ env: 'development', checksMigrations: true }, async (database) => {
        expect((await site.get('/')).text).to.contain('Migrations are pending')
        await database.migrate()
        expect((await site.get('/')).text).to.equal('home')
      }))

    it('do not mention them in production', () =>
      withPosts({ env: 'production' }, async () => {
        const { status, text } = await site.get('/posts')
        expect(status).to.equal(500)
        expect(text).to.contain('Something went wrong on our side').and.not.to.contain('CreateBlog')
      }))
  })
})
