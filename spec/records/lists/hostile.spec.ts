import { expect } from 'chai'
import * as fc from 'fast-check'
import { MoreThan } from 'typeorm'
import { BaseResource, filter, Queryable, Resource, type Context, type Database } from '../../../src/index.js'
import {
  Article,
  articlesSite,
  newArticle,
  openArticles,
  states,
} from '../../support/applications/articles.js'
import { engine } from '../../support/engine.js'
import { anyText } from '../../support/fuzz/any-text.js'
import type { Site } from '../../support/site.js'

/** The number of requests: a few with `npm test`, half as many on a server, or `KIT_FUZZ`. */
const total = Number(process.env['KIT_FUZZ'] ?? (engine === 'sqlite' ? 400 : 200))
/** The seed of a failed run, which is printed with the failure. */
const seed = process.env['KIT_FUZZ_SEED'] ? Number(process.env['KIT_FUZZ_SEED']) : Date.now() % 2 ** 31
/** The number of requests in flight. */
const batch = 10

const declaration: Queryable<Article> = {
  filter: {
    title: ['eq', 'not', 'in', 'prefix', 'contains'],
    body: ['eq', 'in', 'prefix', 'contains', 'null'],
    state: ['eq', 'in', 'not'],
    votes: ['eq', 'in', 'lt', 'gte', 'null'],
    views: ['eq', 'gt'],
    price: ['eq', 'lt'],
    pinned: ['eq'],
    day: ['eq', 'lt'],
    hour: ['eq', 'gte'],
    published_at: ['eq', 'gte', 'null'],
    score: ['eq', 'gt'],
    writer_id: ['eq', 'in', 'null'],
    popular: filter('int', (votes) => ({ votes: MoreThan(votes) })),
    named: filter('string', (name) => [{ title: name }, { writer: { name } }]),
  },
  sort: ['title', 'views', 'price', 'pinned', 'created_at'],
  search: ['title', 'body'],
  include: ['writer', 'remarks'],
}

/** The columns that a page shows. */
function shown(records: readonly Article[]): object[] {
  return records.map(({ title, pinned, state }) => ({ title, pinned, state }))
}

@Resource('/articles', { model: Article })
class ArticlesResource extends BaseResource {
  @Queryable(declaration)
  override async list(ctx: Context) {
    const { records } = await ctx.paginate(Article, { where: [{ pinned: true }, { state: 'public' }] })
    return ctx.respond({ html: () => (ctx.body = shown(records)), data: records })
  }
}

@Resource('/feed', { model: Article })
class FeedResource extends BaseResource {
  @Queryable({ ...declaration, pages: 'cursor' })
  override async list(ctx: Context) {
    const { records } = await ctx.paginate(Article, { where: { pinned: true } })
    return ctx.respond({ html: () => (ctx.body = shown(records)), data: records })
  }
}

const hidden = ['unselected', 'excluded', 'written', 'grouped', 'masked', 'reviewer', 'reviewer_id', 'notes']
const names = [
  ...Object.keys(declaration.filter ?? {}),
  ...hidden,
  'page',
  'per_page',
  'sort',
  'search',
  'include',
  'after',
  'before',
  'id',
  'pinned',
  'where',
  'queryable',
  '__proto__',
  'constructor',
  'toString',
  'prototype',
  'filter[title]',
  'title[]',
  'title[$ne]',
  '',
  '.',
  '*',
]
const operators = [
  '',
  '.eq',
  '.not',
  '.in',
  '.prefix',
  '.contains',
  '.lt',
  '.gte',
  '.null',
  '.',
  '.like',
  '.__proto__',
  '.eq.eq',
  '.OR 1=1',
]
const texts = [
  '',
  ' ',
  '\0',
  '%',
  '_',
  '%%%',
  '\\',
  "'",
  '"',
  '`',
  ';',
  '--',
  '/*',
  ')',
  '1=1',
  "' OR '1'='1",
  '") OR 1=1 --',
  '$1',
  '?',
  ':list_0',
  ':...x',
  'secret',
  'sec',
  's',
  'a',
  'b',
  '-title',
  'title,-title',
  '-',
  ',',
  ',,,',
  '--title',
  'title desc',
  'excluded',
  '-masked',
  'writer',
  'remarks,writer',
  'reviewer',
  '0',
  '-1',
  '1e999',
  'NaN',
  '9'.repeat(40),
  '2147483648',
  '9223372036854775808',
  '1.005',
  '2026-02-30',
  '9999-12-31',
  '99:99',
  'true',
  'null',
  'undefined',
  '[]',
  '{}',
  '01890000-0000-7000-8000-000000000001',
  '\u{10ffff}',
  '\ufffe',
  '😀',
  'İ',
  'ß',
  'x'.repeat(201),
  'x '.repeat(20),
  Array.from({ length: 120 }, (_, i) => i).join(','),
  ...states,
]

const parameter = fc.tuple(
  fc.constantFrom(...names),
  fc.constantFrom(...operators),
  fc.oneof(fc.constantFrom(...texts), anyText(20)),
  fc.boolean(),
)
const queries = fc.array(parameter, { maxLength: 8 }).map((parameters) =>
  parameters
    .map(([name, operator, text, isRaw]) => {
      const value = text.isWellFormed() ? encodeURIComponent(text) : '%ed%a0%80'
      // Malformed encodings, too.
      return `${encodeURIComponent(name + operator)}=${isRaw ? value.replace(/%(?=[0-3])/, '%%') : value}`
    })
    .join('&'),
)
const requests = fc.tuple(
  fc.constantFrom('/articles', '/feed'),
  queries,
  fc.constantFrom('html', 'json', 'json', 'xml', '*/*'),
)

describe(`${total} queries that no client would send (KIT_FUZZ_SEED=${seed})`, function () {
  this.timeout(300_000 + total * 60)
  let database: Database
  let site: Site

  before(async () => {
    database = await openArticles()
    site = await articlesSite(database, ArticlesResource, FeedResource)
    for (let number = 0; number < 12; number++) {
      const secrets = Object.fromEntries(hidden.slice(0, 5).map((name) => [name, `secret ${number}`]))
      const article = newArticle({
        title: ['a', 'b', 'secret'][number % 3] ?? '',
        pinned: number % 2 === 0,
        state: number % 4 === 1 ? 'public' : 'draft',
        votes: number,
        ...secrets,
      })
      await database.manager.save(article)
    }
  })
  after(() => site.close())

  it('get 200 or 400, and never a row outside of where, nor a hidden value', async () => {
    const property = fc.asyncProperty(
      fc.array(requests, { minLength: batch, maxLength: batch }),
      async (made) => {
        await Promise.all(
          made.map(async ([path, query, accept]) => {
            const { status, text, headers } = await site.get(`${path}?${query}`, { accept })
            const request = `${path}?${query} as ${accept}`
            expect([200, 400], `${request}: ${text.slice(0, 300)}`).to.include(status)
            expect(text, request).not.to.match(/secret \d/)
            if (status !== 200 || !headers.get('Content-Type')?.includes('json')) return
            for (const { pinned, state } of JSON.parse(text))
              expect(pinned || (path === '/articles' && state === 'public'), request).to.equal(true)
          }),
        )
      },
    )
    await fc.assert(property, { seed, numRuns: Math.ceil(total / batch), endOnFailure: true })
  })

  it('get no hint whether a hidden column exists', async () => {
    for (const name of [...hidden, 'secret']) {
      const unknown = name.replaceAll(/[a-z]/g, 'z')
      for (const query of [
        '?.eq=secret',
        '?.prefix=s',
        '?=1',
        '?.null=true',
        'sort=?',
        'sort=-?',
        'include=?',
      ]) {
        const [one, other] = [
          await site.get(`/articles?${query.replace('?', name)}`, { accept: 'json' }),
          await site.get(`/articles?${query.replace('?', unknown)}`, { accept: 'json' }),
        ]
        expect(one.status, query).to.equal(400)
        const told = ({ text }: typeof one) =>
          text
            .replaceAll(name, '?')
            .replaceAll(unknown, '?')
            .replace(/"request_id":"[^"]+"/, '')
            .replaceAll(/(_near)| Did you mean [^?]*\?/g, '')
        expect(told(one), `${query} ${name}`).to.equal(told(other))
      }
    }
  })
})
