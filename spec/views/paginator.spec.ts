import { expect } from 'chai'
import { Pagination } from '../../src/records/lists/pagination.js'
import { pageWindow, paginator } from '../../src/views/paginator.js'
import { viewContext } from '../support/view-context.js'

const show = (page: number, total: number, currentUrl = '/posts') =>
  String(paginator(viewContext({ currentUrl }), new Pagination(page, 10, total)))

const links = (html: string) => [...html.matchAll(/<a [^>]*>[^<]*<\/a>/g)].map(([link]) => link)

describe('pageWindow', () => {
  const rows: Array<[page: number, pages: number, shown: Array<number | 'gap'>]> = [
    [1, 1, [1]],
    [1, 2, [1, 2]],
    [2, 3, [1, 2, 3]],
    [1, 12, [1, 2, 'gap', 12]],
    [4, 12, [1, 2, 3, 4, 5, 'gap', 12]],
    [5, 12, [1, 'gap', 4, 5, 6, 'gap', 12]],
    [9, 12, [1, 'gap', 8, 9, 10, 11, 12]],
    [12, 12, [1, 'gap', 11, 12]],
    [99, 12, [1, 'gap', 12]],
  ]
  for (const [page, pages, shown] of rows) {
    it(`shows ${shown.join(' ')} on page ${page} of ${pages}`, () => {
      expect(pageWindow(page, pages)).to.deep.equal(shown)
    })
  }
})

describe('paginator', () => {
  it('shows nothing for a single page', () => {
    expect(show(1, 0)).to.equal('')
    expect(show(1, 10)).to.equal('')
  })

  it('links to the other pages and marks the current page', () => {
    expect(links(show(2, 30))).to.deep.equal([
      '<a href="?page=1" class="prev" rel="prev">Previous</a>',
      '<a href="?page=1" aria-label="Page 1">1</a>',
      '<a href="?page=2" aria-label="Page 2" aria-current="page">2</a>',
      '<a href="?page=3" aria-label="Page 3">3</a>',
      '<a href="?page=3" class="next" rel="next">Next</a>',
    ])
  })

  it('has a name for screen readers', () => {
    expect(show(1, 20)).to.match(/^<nav class="pagination" aria-label="Pages">/)
  })

  it('has no link before the first page or after the last', () => {
    expect(show(1, 20)).to.contain('<span class="prev">Previous</span>')
    expect(show(2, 20)).to.contain('<span class="next">Next</span>')
  })

  it('keeps the other query parameters, escaped', () => {
    const [link] = links(show(2, 20, '/posts?q="<b>&page=2&per_page=10'))
    expect(link).to.equal(
      '<a href="?q=%22%3Cb%3E&amp;page=1&amp;per_page=10" class="prev" rel="prev">Previous</a>',
    )
  })

  it('links to the last page from beyond the end', () => {
    expect(links(show(99, 20))).to.include('<a href="?page=2" class="prev" rel="prev">Previous</a>')
  })
})
