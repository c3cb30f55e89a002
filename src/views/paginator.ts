import type { Pagination } from '../data/records/pagination.js'
import { attributes, html, type Html } from './html.js'
import type { ViewContext } from './view-context.js'

/**
 * Renders links to the other pages of a list: the previous and next, the first and last, and those around this page. They
 * keep the other query parameters. Empty if there is only one page.
 */
export function paginator(
  context: ViewContext,
  pagination: Pick<Pagination, 'page' | 'pages' | 'previous' | 'next'>,
): Html {
  const { page, pages, previous, next } = pagination
  if (previous === undefined && next === undefined) return html``
  return html`<nav class="pagination" aria-label="${context.t('kit.pagination')}">
    <ul>
      <li>${step(context, previous, 'prev', context.t('kit.previous'))}</li>
      ${pageWindow(page, pages).map((number) => html`<li>${pageLink(context, number, page)}</li>`)}
      <li>${step(context, next, 'next', context.t('kit.next'))}</li>
    </ul>
  </nav>`
}

/**
 * Returns the page numbers to show, with gaps for omitted pages: `[1, 'gap', 5, 6, 7, 'gap', 12]` on page 6 of 12. A gap
 * of a single page is shown as that page.
 */
export function pageWindow(page: number, pages: number): Array<number | 'gap'> {
  const near = [1, page - 1, page, page + 1, pages].filter((number) => number >= 1 && number <= pages)
  const numbers = [...new Set(near)].toSorted((one, other) => one - other)
  return numbers.flatMap((number, index) => [...between(numbers[index - 1] ?? 0, number), number])
}

function between(last: number, number: number): Array<number | 'gap'> {
  const missing = number - last - 1
  if (missing === 0) return []
  return missing === 1 ? [number - 1] : ['gap']
}

function pageLink(context: ViewContext, number: number | 'gap', page: number): Html {
  // An entity, because a single character beyond Latin-1 doubles the memory of the page until it is sent.
  if (number === 'gap') return html`<span class="gap">&hellip;</span>`
  const name = context.t('kit.page', { number })
  const current = number === page ? 'page' : undefined
  return html`<a${attributes({ href: hrefOf(context, number), 'aria-label': name, 'aria-current': current })}>${number}</a>`
}

function step(context: ViewContext, number: number | undefined, rel: 'prev' | 'next', text: string): Html {
  if (number === undefined) return html`<span class="${rel}">${text}</span>`
  return html`<a${attributes({ href: hrefOf(context, number), class: rel, rel })}>${text}</a>`
}

/** A link relative to the page, so that only the query can change. */
function hrefOf(context: ViewContext, number: number): string {
  const parameters = new URLSearchParams(context.currentUrl.split('?').slice(1).join('?'))
  parameters.set('page', String(number))
  return `?${parameters}`
}
