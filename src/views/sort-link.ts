import type { ListQuery } from '../data/lists/query/list-query.js'
import { recordName } from '../naming/words.js'
import { html, type Html } from './html.js'
import { label } from './labels.js'
import type { ViewContext } from './view-context.js'

/**
 * Renders the link in the heading of a column that sorts the list by this column: in ascending order, or in descending
 * order if it is sorted so. An arrow shows the order. Without a link, if the list cannot be sorted by the column.
 */
export function sortLink(
  context: ViewContext,
  query: ListQuery,
  column: string,
  text = label(context, `${recordName(query.model)}.${column}`),
): Html {
  if (!query.isSortable(column)) return html`${text}`
  const direction = query.ariaSort(column)
  const url = query.url({ sort: direction === 'ascending' ? `-${column}` : column })
  // Entities, because a single character beyond Latin-1 doubles the memory of the page until it is sent.
  const arrow = direction === 'ascending' ? html`&#9650;` : html`&#9660;`
  return html`<a href="${url}">${text}${direction && html` <span aria-hidden="true">${arrow}</span>`}</a>`
}
