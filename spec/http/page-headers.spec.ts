import { expect } from 'chai'
import { Pagination } from '../../src/records/lists/pagination.js'
import { linkHeader, setPageHeaders } from '../../src/http/page-headers.js'
import type { Context } from '../../src/index.js'

describe('linkHeader(pagination, urlForPage)', () => {
  it('names the first, the previous, the next and the last page', () => {
    expect(linkHeader(new Pagination(2, 20, 45), url)).to.equal(
      '</posts?page=1>; rel="first", </posts?page=1>; rel="prev", </posts?page=3>; rel="next", </posts?page=3>; rel="last"',
    )
  })

  it('omits the last page if nothing was counted', () => {
    expect(linkHeader(new Pagination(2, 20, 41, false), url)).to.equal(
      '</posts?page=1>; rel="first", </posts?page=1>; rel="prev", </posts?page=3>; rel="next"',
    )
  })

  it('omits pages that do not exist', () => {
    expect(linkHeader(new Pagination(1, 20, 5), url)).to.equal(
      '</posts?page=1>; rel="first", </posts?page=1>; rel="last"',
    )
  })
})

describe('setPageHeaders(ctx, pagination)', () => {
  it('keeps the link to the next page if all links are too long for a header', () => {
    const headers: Record<string, string> = {}
    const ctx = {
      set: (name: string, value: string) => (headers[name] = value),
      pageUrl: () => `/${'x'.repeat(2000)}`,
    }
    setPageHeaders(ctx as unknown as Context, new Pagination(2, 20, 60))
    expect(headers['Link']).to.match(/^<\/x{2000}>; rel="next"$/)
  })
})

function url({ page }: Record<string, string | undefined>): string {
  return `/posts?page=${page}`
}
