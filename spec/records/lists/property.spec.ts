import { expect } from 'chai'
import * as fc from 'fast-check'
import type { CursorPagination, Database, Queryable } from '../../../src/index.js'
import { setGeneratedColumns } from '../../../src/models/model.js'
import { Article, newArticle, openArticles, states } from '../../support/applications/articles.js'
import { engine } from '../../support/engine.js'
import { type ListRequest, paginateRequest } from '../../support/records.js'

/** The number of random queries: a few with `npm test`, half as many on a server, or `KIT_LISTS`. */
const total = Number(process.env['KIT_LISTS'] ?? (engine === 'sqlite' ? 200 : 100))
/** The seed of a failed run, which is printed with the failure. */
const seed = process.env['KIT_FUZZ_SEED'] ? Number(process.env['KIT_FUZZ_SEED']) : Date.now() % 2 ** 31
/** The number of queries for the same rows. */
const queriesOfRows = 10

const filter = {
  title: ['eq', 'not', 'in', 'prefix', 'contains'],
  body: ['eq', 'not', 'in', 'prefix', 'contains', 'null'],
  state: ['eq', 'not', 'in'],
  votes: ['eq', 'not', 'in', 'lt', 'lte', 'gt', 'gte', 'null'],
  views: ['eq', 'not', 'in', 'lt', 'lte', 'gt', 'gte'],
  price: ['eq', 'lt', 'gte'],
  pinned: ['eq'],
  day: ['eq', 'not', 'lt', 'gte', 'null'],
  published_at: ['eq', 'lt', 'lte', 'gt', 'gte', 'null'],
} as const

const pages: Queryable<Article> = {
  filter,
  sort: ['title', 'state', 'votes', 'views', 'price', 'pinned', 'day', 'published_at'],
  search: ['title', 'body'],
}
const cursors: Queryable<Article> = {
  filter,
  sort: ['title', 'views', 'price', 'pinned', 'created_at'],
  search: ['title', 'body'],
  pages: 'cursor',
}

/** Letters that all collations sort alike, and in text all characters that have a meaning in patterns. */
const words = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 3 })
const texts = fc.string({ unit: fc.constantFrom(...'aAäÄ%_[*]\\!?\'"| '), maxLength: 4 })
const days = fc.constantFrom('2026-01-01', '2026-01-02', '2026-02-28')
const datetimes = fc.integer({ min: 0, max: 3 }).map((number) => new Date(1_790_000_000_000 + number))
const views = fc.constantFrom('0', '-1', '9007199254740992', '9007199254740993')
const prices = fc.constantFrom('0.00', '9.50', '10.25', '-1.00')

const rows = fc.array(
  fc.record({
    title: words,
    body: fc.option(texts),
    state: fc.constantFrom(...states),
    votes: fc.option(fc.integer({ min: -1, max: 2 })),
    views,
    price: prices,
    pinned: fc.boolean(),
    day: fc.option(days),
    published_at: fc.option(datetimes),
    created_at: datetimes,
  }),
  { maxLength: 25 },
)
type Row = Article

/** A random query, and the records that it finds. */
interface Case {
  where: object | undefined
  parameters: [name: string, value: string][]
  meets: (row: Row) => boolean
}

type Values = { [Name in keyof typeof filter]: fc.Arbitrary<string> }

const values: Values = {
  title: words,
  body: texts,
  state: fc.constantFrom(...states),
  votes: fc.integer({ min: -1, max: 2 }).map(String),
  views,
  price: prices,
  pinned: fc.constantFrom('true', 'false'),
  day: days,
  published_at: datetimes.map((date) => date.toISOString()),
}

const condition = fc.constantFrom(...(Object.keys(filter) as (keyof Values)[])).chain((name) =>
  fc.constantFrom<string>(...filter[name]).chain((operator) => {
    const given = values[name].filter((value) => !(operator === 'in' && value.includes(',')))
    const items =
      operator === 'null'
        ? fc.constantFrom(['true'], ['false'])
        : fc.array(given, { minLength: 1, maxLength: operator === 'in' ? 3 : 1 })
    return items.map((list) => ({ name, operator, list }))
  }),
)

const wheres = fc.constantFrom<[object | undefined, (row: Row) => boolean]>(
  [undefined, () => true],
  [undefined, () => true],
  [{ pinned: true }, ({ pinned }) => pinned],
  [{ state: 'draft', votes: 1 }, ({ state, votes }) => state === 'draft' && votes === 1],
  [[{ pinned: true }, { state: 'public' }], ({ pinned, state }) => pinned || state === 'public'],
)

const cases: fc.Arbitrary<Case> = fc
  .record({
    conditions: fc.array(condition, { maxLength: 3 }),
    search: fc.oneof(fc.constant(''), fc.constant(''), texts),
    where: wheres,
  })
  .map(({ conditions, search, where: [where, isChosen] }) => {
    const given = conditions.map((one) => ({ ...one, list: one.list.filter((item) => item !== '') }))
    const searched = search.split(/\s+/).filter(Boolean)
    // The last value of a repeated parameter counts.
    const last = new Map(given.map((one) => [`${one.name}.${one.operator}`, one]))
    const used = [...last.values()].filter(({ list }) => list.length > 0)
    return {
      where,
      parameters: [
        ...[...last].map(([name, { list }]): [string, string] => [name, list.join(',')]),
        ['search', search],
      ],
      meets: (row) =>
        isChosen(row) &&
        used.every(({ name, operator, list }) => compares(row[name], operator, list)) &&
        searched.every((word) => [row.title, row.body].some((text) => text !== null && includes(text, word))),
    }
  })

function compares(value: unknown, operator: string, list: readonly string[]): boolean {
  const [first = ''] = list
  if (operator === 'null') return (value === null) === (first === 'true')
  if (operator === 'not') return value === null || order(value, first) !== 0
  if (value === null) return false
  switch (operator) {
    case 'eq':
      return order(value, first) === 0
    case 'in':
      return list.some((item) => order(value, item) === 0)
    case 'prefix':
      return String(value).startsWith(first)
    case 'contains':
      return includes(String(value), first)
    case 'lt':
      return order(value, first) < 0
    case 'lte':
      return order(value, first) <= 0
    case 'gt':
      return order(value, first) > 0
    default:
      return order(value, first) >= 0
  }
}

/** Whether a text contains another one in any case: on SQLite of ASCII letters. */
function includes(text: string, part: string): boolean {
  const lower = (one: string) =>
    engine === 'sqlite' ? one.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()) : one.toLowerCase()
  return lower(text).includes(lower(part))
}

/** Compares a value with another one, or with a text that contains one. */
function order(value: unknown, other: unknown): number {
  const [a, b] = [comparable(value), comparable(other)]
  return a < b ? -1 : a > b ? 1 : 0
}

function comparable(value: unknown): bigint | number | string {
  if (value instanceof Date) return value.getTime()
  if (typeof value === 'boolean') return String(value)
  const text = String(value)
  if (/^-?\d+$/.test(text)) return BigInt(text)
  if (/^-?\d+\.\d+$/.test(text)) return Number(text)
  return /^\d{4}-.*Z$/.test(text) ? Date.parse(text) : text
}

type Key = [name: keyof Article, isDescending: boolean]

/** Sorts like a list: NULL as the engine does it, an enum in its declared order, and at last by the id. */
function sorted(found: readonly Row[], keys: readonly Key[]): Row[] {
  const nullFirst = engine === 'postgres' ? 1 : -1
  const all: Key[] = [...keys, ['id', keys.at(-1)?.[1] ?? true]]
  return found.toSorted((one, other) => {
    for (const [name, isDescending] of all) {
      const [a, b] = [one[name], other[name]]
      const compared =
        a === null || b === null
          ? (Number(a === null) - Number(b === null)) * nullFirst
          : name === 'state'
            ? states.indexOf(one.state) - states.indexOf(other.state)
            : order(a, b)
      if (compared !== 0) return isDescending ? -compared : compared
    }
    return 0
  })
}

const keysOf = ({ sort = [] }: Queryable<Article>) =>
  fc.uniqueArray(fc.tuple(fc.constantFrom(...(sort as (keyof Article)[])), fc.boolean()), {
    maxLength: 3,
    selector: ([name]) => name,
  })

describe(`Pages of ${total} random queries (KIT_FUZZ_SEED=${seed})`, function () {
  this.timeout(60_000 + total * 500)
  let database: Database
  before(async () => {
    database = await openArticles()
  })
  after(() => database.close())

  const query = fc.record({
    one: cases,
    pageKeys: keysOf(pages),
    cursorKeys: keysOf(cursors),
    size: fc.integer({ min: 1, max: 7 }),
  })

  it('contain each record that meets them once and in order, by number and by cursor', async () => {
    const property = fc.asyncProperty(
      rows,
      fc.array(query, { minLength: queriesOfRows, maxLength: queriesOfRows }),
      async (values, queries) => {
        const all = await fill(values)
        for (const { one, pageKeys, cursorKeys, size } of queries) {
          const found = all.filter(one.meets)
          expect(await walk(one, pages, pageKeys, size, byNumber)).to.deep.equal(
            idsOf(sorted(found, pageKeys)),
          )
          expect(await walk(one, cursors, cursorKeys, size, byCursor)).to.deep.equal(
            idsOf(sorted(found, cursorKeys)),
          )
        }
      },
    )
    await fc.assert(property, { seed, numRuns: Math.ceil(total / queriesOfRows), endOnFailure: true })
  })

  /** Replaces all rows, and returns them as they are read. */
  async function fill(values: Partial<Article>[]): Promise<Row[]> {
    await database.manager.createQueryBuilder().delete().from(Article).execute()
    const articles = values.map((one) => newArticle(one))
    for (const article of articles) setGeneratedColumns(article)
    if (articles.length > 0) await database.manager.insert(Article, articles as object[])
    const found = await database.manager.find(Article)
    // SQLite reads a decimal as a number.
    return found.map((article) => Object.assign(article, { price: Number(article.price).toFixed(2) }))
  }

  /** The ids of all pages. */
  async function walk(
    { where, parameters }: Case,
    queryable: Queryable<Article>,
    keys: readonly Key[],
    size: number,
    nextOf: (page: Awaited<ReturnType<typeof pageOf>>) => Record<string, string> | undefined,
  ): Promise<string[]> {
    const sort = keys.map(([name, isDescending]) => `${isDescending ? '-' : ''}${name}`).join(',')
    const ids: string[] = []
    let position: Record<string, string> | undefined = {}
    for (let count = 0; position && count < 50; count++) {
      const page = await pageOf(
        queryable,
        [...parameters, ['sort', sort]],
        { per_page: `${size}`, ...position },
        where,
      )
      ids.push(...idsOf(page.records))
      position = nextOf(page)
    }
    return ids
  }

  function pageOf(
    queryable: Queryable<Article>,
    parameters: [string, string][],
    position: Record<string, string>,
    where: object | undefined,
  ) {
    const request: ListRequest = {
      query: position,
      querystring: String(new URLSearchParams([...parameters, ...Object.entries(position)])),
      params: {},
      translate: () => undefined,
      prefersHtml: () => false,
    }
    return paginateRequest(database.manager, Article, { queryable, ...(where && { where }) }, request)
  }
})

function byNumber({
  pagination,
}: {
  pagination: { next: number | undefined }
}): { page: string } | undefined {
  return pagination.next === undefined ? undefined : { page: String(pagination.next) }
}

function byCursor({ pagination }: { pagination: object }): { after: string } | undefined {
  const { next } = (pagination as CursorPagination).cursors
  return next === undefined ? undefined : { after: next }
}

function idsOf(records: readonly Article[]): string[] {
  return records.map(({ id }) => id)
}
