import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { pino } from 'pino'
import { IsEmail, IsIn, IsOptional, MinDate } from 'class-validator'
import { Column, Entity, Table } from 'typeorm'
import type { MigrationInterface, QueryRunner } from 'typeorm'
import {
  App,
  BadRequest,
  BaseResource,
  column,
  csrf,
  Database,
  Model,
  Present,
  primaryKey,
  Resource,
  timestamps,
  transaction,
  translations,
  type Context,
} from '../../../src/index.js'
import { newDatabase } from '../../support/databases.js'
import { writeLocales } from '../../support/locales.js'
import { Site } from '../../support/site.js'
import { inFolder } from '../../support/temporary-folder.js'

@Entity('posts')
class Post extends Model {
  @Present()
  @Column('varchar', { unique: true })
  title!: string

  @IsOptional()
  @IsEmail()
  @Column('varchar', { nullable: true })
  description!: string | null

  @IsOptional()
  @IsIn(['draft', 'public', 'gone'])
  @Column('varchar', { nullable: true })
  state!: string | null

  @Column('int', { nullable: true })
  stars!: number | null

  @IsOptional()
  @MinDate(new Date('2020-01-01T00:00:00Z'))
  @Column({ type: Date, nullable: true })
  published_at!: Date | null
}

class CreatePosts1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    await runner.createTable(
      new Table({
        name: 'posts',
        columns: [
          primaryKey(runner),
          column(runner, 'title', 'string', { isUnique: true }),
          column(runner, 'description', 'string', { isNullable: true }),
          column(runner, 'state', 'string', { isNullable: true }),
          column(runner, 'stars', 'int', { isNullable: true }),
          column(runner, 'published_at', 'datetime', { isNullable: true }),
          ...timestamps(runner),
        ],
      }),
    )
  }
  async down(runner: QueryRunner) {
    await runner.dropTable('posts')
  }
}

@Resource('/posts')
class PostsResource extends BaseResource {
  override async list(ctx: Context) {
    const { records: posts, pagination, query } = await ctx.paginate(Post)
    return ctx.respond({ html: () => ctx.render('posts/index', { posts, pagination, query }), json: posts })
  }
  override async new(ctx: Context) {
    return ctx.respond({ html: () => ctx.render('posts/new', { post: new Post() }) })
  }
  override async create(ctx: Context) {
    const post = ctx.bind(new Post())
    const errors = await ctx.save(post)
    if (errors) return ctx.respond(errors, { html: () => ctx.render('posts/new', { post, errors }) })
    return ctx.respond(201, {
      html: () => ctx.seeOther('/posts', { success: ctx.t('post.created.success') }),
      json: post,
    })
  }
  override async edit(ctx: Context) {
    return ctx.respond({ html: () => ctx.render('posts/edit', { post: new Post() }) })
  }
}

const german = { 'accept-language': 'de-AT, en;q=0.5' }

describe('An application in several languages', () => {
  async function withSite(work: (site: Site) => Promise<void>): Promise<void> {
    await inFolder(async (folder) => {
      await writeLocales(join(folder, 'locales'), {
        'posts.en-us.yaml': { 'post.created.success': 'Post was created.' },
        'posts.de.yaml': {
          'post.created.success': 'Der Beitrag wurde angelegt.',
          'post.title': 'Überschrift',
          'post.published_at': 'Erscheint am',
          posts: 'Beiträge',
        },
      })
      const database = new Database(
        {
          test: { url: await newDatabase() },
          models: [Post],
          migrations: [CreatePosts1700000000000],
        },
        'test',
      )
      await database.open()
      await database.migrate()
      const templates = join(import.meta.dirname, '../../../../examples/blog/templates')
      const app = new App({ templates, logger: pino({ level: 'silent' }) })
      app.use(transaction(database))
      app.use(translations(join(folder, 'locales')))
      app.resource(PostsResource)
      const site = await Site.open(app)
      try {
        await work(site)
      } finally {
        await site.close()
      }
    })
  }

  it('shows its pages, buttons and paginator in the language of the visitor', () =>
    withSite(async (site) => {
      for (let number = 1; number <= 21; number++)
        await site.post('/posts', { json: { title: `Nr. ${number}` } })
      const { text, headers } = await site.get('/posts', { headers: german })
      expect(headers.get('content-language')).to.equal('de')
      expect(headers.get('vary')?.split(', ')).to.have.members(['Accept', 'Accept-Language', 'Cookie'])
      expect(text)
        .to.contain('<html lang="de">')
        .and.to.contain('Überschrift')
        .and.to.contain('Bearbeiten')
        .and.to.contain('Löschen')
        .and.to.contain('Das lässt sich nicht rückgängig machen.')
        .and.to.contain('>Beiträge</a>')
        .and.to.contain('aria-label="Seite 2"')
        .and.to.contain('Weiter')
        .and.not.to.contain('Delete')
    }))

  it('keeps a flash message in the language of the request that wrote it', () =>
    withSite(async (site) => {
      await site.post('/posts', { form: { title: 'Hallo' }, headers: german })
      const { text } = await site.get('/posts', { headers: { 'accept-language': 'en' } })
      expect(text).to.contain('Der Beitrag wurde angelegt.').and.to.contain('Delete')
    }))

  it('shows errors in the language of the visitor, with the field names of the form', () =>
    withSite(async (site) => {
      const form = {
        title: ' ',
        description: 'x',
        state: 'x',
        stars: 'many',
        published_at: '2019-01-01T00:00',
      }
      const { status, text } = await site.post('/posts', { form, headers: german })
      expect(status).to.equal(422)
      expect(text)
        .to.contain('Es wurde nichts gespeichert: Es gibt 5 Probleme')
        .and.to.contain('Überschrift darf nicht leer sein.')
        .and.to.contain('Description muss eine E-Mail-Adresse sein.')
      const response = await site.post('/posts', {
        json: { ...form, published_at: '2019-01-01T00:00:00Z' },
        accept: 'application/json',
        headers: german,
      })
      expect(response.headers.get('content-language')).to.equal('de')
      expect(response.json.errors).to.deep.equal({
        stars: ['Stars muss eine ganze Zahl sein, die nicht zu groß ist.'],
        title: ['Überschrift darf nicht leer sein.'],
        description: ['Description muss eine E-Mail-Adresse sein.'],
        state: ['State muss einer dieser Werte sein: draft, public oder gone.'],
        published_at: ['Erscheint am darf nicht vor dem 01.01.2020 liegen.'],
      })
    }))

  it('translates errors of the database into the language of the visitor', () =>
    withSite(async (site) => {
      await site.post('/posts', { json: { title: 'Hallo' } })
      const again = (headers: Record<string, string>) =>
        site.post('/posts', { json: { title: 'Hallo' }, accept: 'application/json', headers })
      expect((await again(german)).json.errors).to.deep.equal({
        title: ['Überschrift ist bereits vergeben.'],
      })
      expect((await again({})).json.errors).to.deep.equal({ title: ['Title has already been taken.'] })
    }))

  it('does not translate records, or problem documents without texts for people', () =>
    withSite(async (site) => {
      const request = { accept: 'application/json', headers: german }
      for (const path of ['/posts', '/posts/1', '/nope']) {
        const { headers } = await site.get(path, request)
        expect(headers.get('content-language'), path).to.equal(null)
      }
    }))

  it('serves two browsers in different languages at the same time', () =>
    withSite(async (site) => {
      const responses = await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          site.post('/posts', {
            form: { title: '' },
            headers: index % 2 ? german : { 'accept-language': 'en' },
          }),
        ),
      )
      for (const [index, { text }] of responses.entries()) {
        const [own, other] = ['Title cannot be blank.', 'Überschrift darf nicht leer sein.'].toSorted(() =>
          index % 2 ? -1 : 1,
        )
        expect(text).to.contain(own).and.not.to.contain(other)
      }
    }))

  it('changes the language with the form of docs/languages.md', () =>
    inFolder(async (folder) => {
      await writeLocales(join(folder, 'locales'), {
        'a.en-us.yaml': { a: 'one' },
        'a.de.yaml': { a: 'eins' },
      })
      await writeLocales(join(folder, 'templates'), { 'home.pug': await fenced('pug') })
      const app = new App({ templates: join(folder, 'templates'), logger: pino({ level: 'silent' }) })
      app.use(csrf())
      app.use(translations(join(folder, 'locales')))
      app.get('/', (ctx) => ctx.render('home'))
      // The code of the documentation runs as it is written, without its type.
      const code = (await fenced('ts', 'app.post')).replace(/ as \{.*\}/, '')
      // oxlint-disable-next-line no-implied-eval
      new Function('app', 'BadRequest', code)(app, BadRequest)
      const site = await Site.open(app)
      expect((await site.get('/')).headers.get('content-language')).to.equal('en-US')
      expect((await site.post('/language', { form: { lang: 'de' } })).status).to.equal(303)
      expect((await site.get('/')).headers.get('content-language')).to.equal('de')
      const odd = [
        ['lang', 'xx'],
        ['lang', 'de;\n'],
        ['lang[a]', 'de'],
        ['lang', 'ü'],
        ['other', 'de'],
      ]
      for (const [name = '', value = ''] of odd)
        expect((await site.post('/language', { form: { [name]: value } })).status, name + value).to.equal(400)
      expect((await site.post('/language', { form: { lang: 'de' }, fromPage: false })).status).to.equal(403)
      await site.close()
    }))
})

/** An example of docs/languages.md: the first one in the language that contains the text. */
async function fenced(kind: string, text = ''): Promise<string> {
  const page = await readFile(join(import.meta.dirname, '../../../../docs/languages.md'), 'utf8')
  const examples = [...page.matchAll(/^```(\w+)\n(.*?)^```/gms)]
  return examples.find(([, its, code]) => its === kind && code?.includes(text))?.[2] ?? ''
}
