import { expect } from 'chai'
import { Like } from 'typeorm'
import type { Database } from '../../../src/database/database.js'
import type { PageOptions, PageQuery } from '../../../src/records/lists/pagination.js'
import { newPost, openBlogDatabase, Post } from '../../support/applications/blog-database.js'
import { failure } from '../../support/failure.js'
import { paginate } from '../../support/records.js'

describe('paginate(tx, model, query, options)', () => {
  let database: Database
  before(async () => {
    database = await openBlogDatabase()
    for (let number = 1; number <= 45; number += 1) {
      await database.manager.save(Object.assign(newPost(`post ${number}`), { description: `${number % 2}` }))
    }
  })
  after(() => database.close())

  const page = (query: PageQuery, options?: PageOptions<Post>) =>
    paginate(database.manager, Post, query, options)

  it('returns the first 20 records by default, newest first', async () => {
    const { records, pagination } = await page({})
    expect(records.map(({ title }) => title)).to.deep.equal(
      Array.from({ length: 20 }, (_, index) => `post ${45 - index}`),
    )
    expect(pagination).to.include({ page: 1, perPage: 20, total: 45, pages: 3, previous: undefined, next: 2 })
  })

  it('returns perPage records, even if the client may not ask for as many', async () => {
    expect((await page({}, { perPage: 40, maxPerPage: 30 })).records).to.have.length(40)
    expect((await page({ per_page: '50' }, { perPage: 2, maxPerPage: 30 })).records).to.have.length(30)
  })

  for (const perPage of [0, -5, 1.5, NaN])
    it(`rejects perPage: ${perPage}`, async () => {
      expect(String(await failure(page({}, { perPage })))).to.contain(
        `The \`perPage\` of ctx.paginate() is ${perPage}. Use a whole number from 1.`,
      )
    })

  it('ends with a page that is not full', async () => {
    const { records, pagination } = await page({ page: '3' })
    expect(records.map(({ title }) => title)).to.deep.equal([
      'post 5',
      'post 4',
      'post 3',
      'post 2',
      'post 1',
    ])
    expect(pagination).to.include({ page: 3, previous: 2, next: undefined })
  })

  it('returns an empty page beyond the last one, however far', async () => {
    for (const far of ['4', '99999999999999999999', '9'.repeat(400)]) {
      const { records, pagination } = await page({ page: far })
      expect(records).to.deep.equal([])
      expect(pagination).to.include({ total: 45, pages: 3, previous: 3, next: undefined })
    }
  })

  for (const unreadable of ['0', '-1', '1.5', '2abc', ' 2', '1e300', '0x2', '', '+2', '２', 'NaN']) {
    it(`ignores page=${JSON.stringify(unreadable)}`, async () => {
      const { pagination } = await page({ page: unreadable, per_page: unreadable })
      expect(pagination).to.include({ page: 1, perPage: 20 })
    })
  }

  it('uses the last value of a repeated parameter', async () => {
    const { pagination } = await page({ page: ['1', '2'], per_page: ['5', '10'] })
    expect(pagination).to.include({ page: 2, perPage: 10 })
    expect((await page({ page: ['2', 'x'] })).pagination.page).to.equal(1)
    expect((await page({ page: [] })).pagination.page).to.equal(1)
  })

  it('returns at most 100 records, or as many as the options allow', async () => {
    expect((await page({ per_page: '1000' })).pagination.perPage).to.equal(100)
    expect((await page({ per_page: '1000' }, { maxPerPage: 30 })).pagination.perPage).to.equal(30)
    expect((await page({}, { perPage: 7 })).records).to.have.length(7)
  })

  it('counts and lists the records that the options choose, in their order', async () => {
    const { records, pagination } = await page(
      { per_page: '2' },
      { where: { title: Like('post 4%') }, order: { description: 'ASC', title: 'ASC' } },
    )
    expect(records.map(({ title }) => title)).to.deep.equal(['post 4', 'post 40'])
    expect(pagination.total).to.equal(7)
  })

  it('lists every record once, even if many have the same sort key', async () => {
    const order = { description: 'ASC' } as const
    const pages = await Promise.all(
      ['1', '2', '3', '4', '5'].map((n) => page({ page: n, per_page: '9' }, { order })),
    )
    expect(new Set(pages.flatMap(({ records }) => records.map(({ id }) => id))).size).to.equal(45)
  })

  it('counts no records with `total: false`, and still finds whether there is a next page', async () => {
    const first = await page({}, { total: false })
    expect(first.records).to.have.length(20)
    expect(first.pagination).to.include({ page: 1, next: 2, previous: undefined, isTotalKnown: false })
    const last = await page({ page: '3' }, { total: false })
    expect(last.records).to.have.length(5)
    expect(last.pagination).to.include({ page: 3, next: undefined, previous: 2 })
    const beyond = await page({ page: '9'.repeat(400) }, { total: false })
    expect(beyond.records).to.deep.equal([])
    expect(beyond.pagination.next).to.equal(undefined)
  })

  it('returns one page if there are no records', async () => {
    const { records, pagination } = await page({}, { where: { title: 'none' } })
    expect(records).to.deep.equal([])
    expect(pagination).to.include({ total: 0, pages: 1, next: undefined })
  })
})
