import type { CursorPagination, Pagination } from '../records/lists/pagination.js'
import { attributes, html, type Html } from './html.js'
import type { ViewContext } from './view-context.js'

/** The position of a page in a list: its number, or the cursors of a list with cursor pages. */
type Position = Pick<Pagination, 'page' | 'pages' | 'previous' | 'next'> &
  Partial<Pick<CursorPagination, 'cursors'>>

/**
 * Renders links to the other pages of a list: the previous and next, the first and last, and those around
 * this page. They keep the other query parameters. Cursor pages have only the previous and next. Empty if
 * there is only one page.
 */
export function paginator(context: ViewContext, pagination: Position): Html {
  const { page, pages, previous, next, cursors } = pagination
  const [before, after] = cursors ? [cursors.previous, cursors.next] : [previous, next]
  if (before === undefined && after === undefined) return html``
  const numbers = cursors ? [] : pageWindow(page, pages)
  const names = cursors ? (['before', 'after'] as const) : (['page', 'page'] as const)
  const query = queryOf(context)
  return html`<nav class="pagination" aria-label="${context.t('kit.pagination')}">
    <ul>
      <li>${step(query, names[0], before, 'prev', context.t('kit.previous'))}</li>
      ${numbers.map((number) => html`<li>${pageLink(context, query, number, page)}</li>`)}
      <li>${step(query, names[1], after, 'next', context.t('kit.next'))}</li>
    </ul>
  </nav>`
}

/**
 * Returns the page numbers to show, with gaps for omitted pages: `[1, 'gap', 5, 6, 7, 'gap', 12]` on page 6
 * of 12. A gap of a single page is shown as that page.
 */
export function pageWindow(page: number, pages: number): Array<number | 'gap'> {
  const numbers: Array<number | 'gap'> = []
  let last = 0
  for (const number of [1, page - 1, page, page + 1, pages]) {
    if (number <= last || number > pages) continue
    const missing = number - last - 1
    if (missing > 0) numbers.push(missing === 1 ? number - 1 : 'gap')
    numbers.push(number)
    last = number
  }
  return numbers
}

function pageLink(context: ViewContext, query: URLSearchParams, number: number | 'gap', page: number): Html {
  // An entity, because a single character beyond Latin-1 doubles the memory of the page until it is sent.
  if (number === 'gap') return html`<span class="gap">&hellip;</span>`
  const name = context.t('kit.page', { number })
  const current = number === page ? 'page' : undefined
  return html`<a${attributes({ href: hrefOf(query, 'page', number), 'aria-label': name, 'aria-current': current })}>${number}</a>`
}

function step(
  query: URLSearchParams,
  parameter: Parameter,
  position: number | string | undefined,
  rel: 'prev' | 'next',
  text: string,
): Html {
  if (position === undefined) return html`<span class="${rel}">${text}</span>`
  return html`<a${attributes({ href: hrefOf(query, parameter, position), class: rel, rel })}>${text}</a>`
}

/** The parameter of a position. */
type Parameter = 'page' | 'after' | 'before'

/** The query of the page. All links share it: each one replaces the position of the previous link. */
function queryOf({ currentUrl }: ViewContext): URLSearchParams {
  const mark = currentUrl.indexOf('?')
  return new URLSearchParams(mark < 0 ? '' : currentUrl.slice(mark + 1))
}

/** A link relative to the page, so that only the query can change. */
function hrefOf(query: URLSearchParams, parameter: Parameter, position: number | string): string {
  if (parameter !== 'page') for (const name of ['after', 'before']) query.delete(name)
  query.set(parameter, String(position))
  return `?${query}`
}
