import type { ListQuery } from '../records/lists/query/list-query.js'
import { recordName } from '../naming/words.js'
import { attributes, html, type Html } from './html.js'
import { isTranslated, label } from './labels.js'
import type { CollectionLink, ViewContext } from './view-context.js'

/** Renders links to the application's collections and singular resources, except nested ones. */
export function collectionLinks(context: ViewContext): Html {
  return html`${context.collections?.().map((link) => linkTo(context, link))}`
}

/** Renders links to the resources nested in a record, such as a post's comments; empty without any. */
export function nestedLinks(context: ViewContext, record: object): Html {
  const links = context.collections?.(record) ?? []
  if (links.length === 0) return html``
  return html`<nav class="nested" aria-label="${context.t('kit.nested')}">
    ${links.map((link) => linkTo(context, link))}
  </nav>`
}

/** Renders a link to a collection, with its name as the text. */
export function linkTo(context: ViewContext, { name, ids, path }: CollectionLink): Html {
  const isHere = context.currentUrl.split('?')[0] === path
  const text = label(context, ids.find((id) => isTranslated(context, id)) ?? name)
  return html`<a${attributes({ href: path, 'aria-current': isHere ? 'page' : undefined })}>${text}</a>`
}

/**
 * Renders the link in the heading of a column that sorts the list by this column: in ascending order, or in
 * descending order if the list is already sorted in ascending order. An arrow shows the current order. If the
 * list cannot be sorted by the column, the heading has no link.
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
