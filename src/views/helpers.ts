import type { Pagination } from '../data/pagination.js'
import { deleteButton } from './delete-button.js'
import { display, time } from './formats.js'
import { Form, type FormOptions } from './forms.js'
import { hiddenFields, type FormMethod } from './hidden-fields.js'
import { html, type Html } from './html.js'
import { label } from './labels.js'
import { collectionLinks, nestedLinks } from './links.js'
import { paginator } from './paginator.js'
import type { ViewContext } from './view-context.js'

/** The functions that every template can call, beside a path function for each route. */
export interface ViewHelpers {
  /** The language of the page: `html(lang=locale)`. */
  locale: string
  /** The path and query of the page. */
  currentUrl: string
  /** The text of a translation id: `t('post.created.success')`. */
  t(id: string, values?: Record<string, unknown>): string
  /** The words for an attribute: `label('post.published_at')` is "Published at". */
  label(id: string): string
  /** The messages that wait to be shown. Afterwards they are gone. */
  flashMessages(): Html
  /** The form of a record: `formFor(post, { action: postsPath(), errors })`. */
  formFor(record: object, options: FormOptions): Form
  /** What a form that is written by hand needs: the token against forged requests, and `_method` for PUT and DELETE. */
  hiddenFields(method?: FormMethod): Html
  /** The links to the other pages of a list. */
  paginator(pagination: Pagination): Html
  /** Links to the application's collections. */
  collectionLinks(): Html
  /** Links to the collections that are nested in a record. */
  nestedLinks(record: object): Html
  /** A button that deletes what is at a path. */
  deleteButton(path: string, label?: string): Html
  /** A moment or a day in the page's language, in UTC. */
  time(value: Date | string | null | undefined): Html
  /** A value of any kind. */
  display(value: unknown): Html
}

/** The locals of every template: the helpers, and the path functions by name (`postPath(post)`). */
export function viewHelpers(context: ViewContext): ViewHelpers & ViewContext['paths'] {
  // A list has a button for each record, with the same fields in it.
  let deletion: Html | undefined
  const helpers: ViewHelpers = {
    locale: context.locale,
    currentUrl: context.currentUrl,
    t: (id, values) => context.t(id, values),
    label: (id) => label(context, id),
    flashMessages: () => flashMessages(context),
    formFor: (record, options) => new Form(context, record, options),
    hiddenFields: (method = 'POST') => hiddenFields(context, method),
    paginator: (pagination) => paginator(context, pagination),
    collectionLinks: () => collectionLinks(context),
    nestedLinks: (record) => nestedLinks(context, record),
    deleteButton: (path, text) =>
      deleteButton(context, path, text, (deletion ??= hiddenFields(context, 'DELETE'))),
    time: (value) => time(context, value),
    display: (value) => display(context, value),
  }
  return Object.assign(Object.create(context.paths), helpers)
}

function flashMessages(context: ViewContext): Html {
  return html`${context.flash.map(({ type, message }) => html`<p class="flash ${type}">${message}</p>`)}`
}
