import { join } from 'node:path'
import { expect } from 'chai'
import { pino } from 'pino'
import {
  App,
  HttpError,
  ServiceUnavailable,
  transaction,
  translations,
  type AppOptions,
} from '../../src/index.js'
import { blogDatabase, inFolder, newPost, Post } from '../support/blog-data.js'
import { writeLocales } from '../support/locales.js'
import { Site } from '../support/site.js'

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
    throw new ServiceUnavailable('the database does not answer', 7)
  })
  app.post('/500', (ctx) => {
    Object.assign(ctx.session, { user_id: 'value-of-user', basket: ['value', 'basket'].join('-of-') })
    throw new Error('failed')
  })
  app.get('/session', (ctx) => {
    Object.assign(ctx.session, { user_id: 'value-of-user' })
    ctx.body = 'kept'
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
      it(`say in kind words what ${status} means, with the id of the request, and nothing of the inside`, async () => {
        site = await Site.open(application({ env: 'production' }))
        const answer = await site.get(`/${status}`)
        expect(answer.status).to.equal(status)
        expect(answer.headers.get('content-type')).to.equal('text/html; charset=utf-8')
        expect(answer.headers.get('cache-control')).to.equal('no-store')
        expect(answer.headers.get('content-language')).to.equal('en-US')
        expect(answer.text)
          .to.contain(`<h1>${title}</h1>`)
          .and.to.contain(answer.headers.get('x-request-id'))
          .and.not.to.match(/hunter2|at .*\.[jt]s|stack/)
      })
    }

    it('are in the language of the visitor', () =>
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
          const answer = await site.get(path, { headers: { 'accept-language': language } })
          expect(answer.headers.get('content-language')).to.equal(language)
          return /<h1>(.*?)<\/h1>/.exec(answer.text)?.[1]
        }
        expect(await h1('/404', 'de')).to.equal('Hier ist nichts')
        expect(await h1('/403', 'fr')).to.equal('Ce n’est pas autorisé')
        expect(await h1('/500', 'de')).to.equal('Bei uns ist etwas schiefgegangen')
        expect(await h1('/503', 'es')).to.equal('Volvemos enseguida')
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

    it('show the keys that the failing request itself has put into the session', async () => {
      expect((await site.post('/500')).text)
        .to.contain('<code>user_id, basket</code>')
        .and.not.to.contain('value-of-basket')
    })

    it('show the line of the application where the error comes from', async () => {
      const folder = process.cwd()
      process.chdir(join(import.meta.dirname, '../../..'))
      try {
        const { text } = await site.get('/500')
        expect(text).to.match(
          /<code>spec\/acceptance\/error-pages\.spec\.ts:\d+<\/code>.*<span class="line meant"><span class="number">\d+<\/span> {4}throw new Error\(`the password/s,
        )
      } finally {
        process.chdir(folder)
      }
    })
  })

  describe('when migrations have not been run yet', () => {
    async function withPosts(
      options: { env: string; checksMigrations?: boolean },
      work: (database: ReturnType<typeof blogDatabase>) => Promise<void>,
    ): Promise<void> {
      await inFolder(async (folder) => {
        const database = blogDatabase(`sqlite:${folder}/blog.sqlite`)
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
      })
    }

    it('name them and the command that runs them, in development', () =>
      withPosts({ env: 'development' }, async (database) => {
        expect((await site.get('/')).text).to.equal('home')
        for (const answer of [await site.get('/posts'), await site.post('/posts')]) {
          expect(answer.status).to.equal(500)
          expect(answer.text)
            .to.contain('The database is behind the application')
            .and.to.contain('<li><code>CreateBlog1700000000000</code></li>')
            .and.to.contain('<code>npm start</code>')
        }
        await database.migrate()
        expect((await site.get('/posts')).text).to.equal('0')
      }))

    it('say so on every page until they have been run, where that is checked at the start', () =>
      withPosts({ env: 'development', checksMigrations: true }, async (database) => {
        expect((await site.get('/')).text).to.contain('The database is behind the application')
        await database.migrate()
        expect((await site.get('/')).text).to.equal('home')
      }))

    it('say nothing of it in production', () =>
      withPosts({ env: 'production' }, async () => {
        const { status, text } = await site.get('/posts')
        expect(status).to.equal(500)
        expect(text).to.contain('Something went wrong on our side').and.not.to.contain('CreateBlog')
      }))
  })
})
