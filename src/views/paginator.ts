import type { Pagination } from '../data/pagination.js'
import { attributes, html, type Html } from './html.js'
import type { ViewContext } from './view-context.js'

/**
 * Shows links to the other pages of a list: the previous and the next one, the first and the last, and those around this
 * one. They keep the rest of the query. Nothing when there is but one page.
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
 * The page numbers to show, a gap where some are left out: `[1, 'gap', 5, 6, 7, 'gap', 12]` on page 6 of 12. A gap of
 * one page is that page.
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
  // As an entity: one character beyond Latin-1 doubles what the page takes until it is sent.
  if (number === 'gap') return html`<span class="gap">&hellip;</span>`
  const name = context.t('kit.page', { number })
  const current = number === page ? 'page' : undefined
  return html`<a${attributes({ href: hrefOf(context, number), 'aria-label': name, 'aria-current': current })}>${number}</a>`
}

function step(context: ViewContext, number: number | undefined, rel: 'prev' | 'next', text: string): Html {
  if (number === undefined) return html`<span class="${rel}">${text}</span>`
  return html`<a${attributes({ href: hrefOf(context, number), class: rel, rel })}>${text}</a>`
}

/** Relative to the page, so that nothing but the query can change. */
function hrefOf(context: ViewContext, number: number): string {
  const parameters = new URLSearchParams(context.currentUrl.split('?').slice(1).join('?'))
  parameters.set('page', String(number))
  return `?${parameters}`
}
