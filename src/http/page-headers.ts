import type { Context } from '../context.js'
import type { CursorPagination, Pagination } from '../records/lists/pagination.js'

/** The maximum number of characters of `Link`. Proxies reject responses with long headers. */
const maxLinkLength = 4000

/** Sets `X-Total-Count` and `Link`. If all links are too long for a header, it has the next page only. */
export function setPageHeaders(ctx: Context, pagination: Pagination): void {
  if (pagination.isTotalKnown) ctx.set('X-Total-Count', String(pagination.total))
  const urlFor = (position: Position) => ctx.pageUrl(position)
  const all = linkHeader(pagination, urlFor)
  const link = all.length <= maxLinkLength ? all : linkHeader(pagination, urlFor, ['next'])
  if (link && link.length <= maxLinkLength) ctx.set('Link', link)
}

/** The query parameters that select a page. An undefined value removes it from the query. */
type Position = Record<string, string | undefined>

/**
 * The value of a `Link` header (RFC 8288) with the first, previous and next page, and the last page if the
 * total is known.
 *
 * @example linkHeader(pagination, ({ page }) => `/posts?page=${page}`)
 */
export function linkHeader(
  pagination: Pagination | CursorPagination,
  urlFor: (position: Position) => string,
  relations: readonly string[] = ['first', 'prev', 'next', 'last'],
): string {
  const links = 'cursors' in pagination ? cursorLinks(pagination) : pageLinks(pagination)
  return links
    .flatMap(([rel, position]) =>
      position && relations.includes(rel) ? [`<${urlFor(position)}>; rel="${rel}"`] : [],
    )
    .join(', ')
}

type Link = [rel: string, position: Position | undefined]

function pageLinks({ previous, next, isTotalKnown, pages }: Pagination): Link[] {
  const at = (page: number | undefined) => (page === undefined ? undefined : { page: String(page) })
  return [
    ['first', at(1)],
    ['prev', at(previous)],
    ['next', at(next)],
    ['last', isTotalKnown ? at(pages) : undefined],
  ]
}

function cursorLinks({ cursors: { previous, next } }: CursorPagination): Link[] {
  return [
    ['first', { after: undefined, before: undefined }],
    ['prev', previous === undefined ? undefined : { after: undefined, before: previous }],
    ['next', next === undefined ? undefined : { after: next, before: undefined }],
  ]
}
