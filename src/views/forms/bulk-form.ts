import type { ListQuery } from '../../records/lists/query/list-query.js'
import type { Pagination } from '../../records/lists/pagination.js'
import { recordName } from '../../naming/words.js'
import { attributes, html, inputTag, type Html } from '../html.js'
import { isTranslated, label } from '../labels.js'
import type { ViewContext } from '../view-context.js'
import { recordLabel } from './choices.js'
import { actionPath, hiddenFields } from './hidden-fields.js'

/** The id of the form, to which the checkboxes of the records belong. */
const formId = 'bulk'

/** The most records that can be changed at once. */
const maxRecords = 1000

/**
 * Renders the form with a button for each action of the `bulk` option, and a checkbox that selects all
 * records of the list. Empty if the list is, or if the policy allows none of the actions.
 */
export function bulkForm(context: ViewContext, query: ListQuery, pagination: Pagination): Html {
  const actions = context.bulkActions?.() ?? []
  const { total, isTotalKnown } = pagination
  const [first] = actions
  if (!first || total === 0 || query.errors) return html``
  const model = recordName(query.model)
  const search = query.url({ per_page: undefined, include: undefined })
  const buttons = actions.map(({ action, path }) => {
    const isDelete = action === 'destroy'
    const button = `${model}.${action}.button`
    const text = isDelete
      ? context.t('kit.delete')
      : label(context, isTranslated(context, button) ? button : `${model}.${action}`)
    const given = {
      type: 'submit',
      formaction: actionPath(path) + (search === '?' ? '' : search),
      class: isDelete ? 'danger' : undefined,
      'data-confirm': isDelete ? context.t('kit.confirm') : undefined,
    }
    return html`<button${attributes(given)}>${text}</button>`
  })
  const all = attributes({ type: 'checkbox', name: 'all', value: total })
  const canSelectAll = isTotalKnown && total <= maxRecords
  const form = { id: formId, class: 'bulk', action: actionPath(first.path), method: 'post' }
  return html`<form${attributes({ ...form, 'aria-label': context.t('kit.bulk'), 'data-select-page': context.t('kit.bulk.page') })}>
    ${hiddenFields(context, 'POST')}
    ${canSelectAll && html`<label>${inputTag(all)} ${context.t('kit.bulk.all', { count: total })}</label>`}
    ${buttons}
  </form>`
}

/** Renders the checkbox that selects a record for `bulkForm`. Empty if there are no actions. */
export function bulkBox(context: ViewContext, record: { id: string; title?: unknown; name?: unknown }): Html {
  if ((context.bulkActions?.() ?? []).length === 0) return html``
  const value = String(Reflect.get(record, context.bulkKey ?? 'id'))
  const name = context.t('kit.bulk.select', { name: recordLabel(record) })
  return inputTag(attributes({ type: 'checkbox', name: 'ids', value, form: formId, 'aria-label': name }))
}
