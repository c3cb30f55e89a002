import { directionOf } from '../translations/formatters.js'
import type { ListQuery } from '../records/lists/query/list-query.js'
import type { Pagination } from '../records/lists/pagination.js'
import { ActionButtons, type ActionButtonOptions } from './forms/action-button.js'
import { bulkBox, bulkForm } from './forms/bulk-form.js'
import { display, time } from './display.js'
import type { FormOptions } from './forms/fields.js'
import { emptyList, filterForm, type FilterFormOptions } from './forms/filter-form.js'
import { Form } from './forms/forms.js'
import type { FormMethod } from './forms/hidden-fields.js'
import { html, type Html } from './html.js'
import { label } from './labels.js'
import { collectionLinks, nestedLinks, sortLink } from './links.js'
import { paginator } from './paginator.js'
import type { ViewContext } from './view-context.js'

/** The functions that every template can call, in addition to the path helper of each route. */
export interface ViewHelpers {
  /** The language of the page: `html(lang=locale)`. */
  locale: string
  /** `rtl` if the language is written from right to left, else undefined: `html(lang=locale dir=dir)`. */
  dir: 'rtl' | undefined
  /** The path and query of the page. */
  currentUrl: string
  /** Returns the translation of an id: `t('post.created.success')`. */
  t(id: string, values?: Record<string, unknown>): string
  /** Returns the label of an attribute: `label('post.published_at')` is "Published at". */
  label(id: string): string
  /** Returns the path of a file of `public`, which changes with its content: `asset('application.css')`. */
  asset(name: string): string
  /** Renders the pending flash messages. Each message is shown once. */
  flashMessages(): Html
  /** Creates the form of a record: `formFor(post, { action: postsPath(), errors })`. */
  formFor(record: object, options: FormOptions): Form
  /** Renders the hidden fields of a form written by hand: the CSRF token, and `_method` for PUT .... */
  hiddenFields(method?: FormMethod): Html
  /** Renders the form that filters and searches a list: `filterForm(query)`. Empty without filters. */
  filterForm(query: ListQuery, options?: FilterFormOptions): Html
  /** Renders the link in a column's heading that sorts the list: `sortLink(query, 'title')`. */
  sortLink(query: ListQuery, column: string, text?: string): Html
  /** Renders the text of an empty list, and a link that removes the filters if they are the reason. */
  emptyList(query: ListQuery, text?: string): Html
  /** Renders the form of the `bulk` option: `bulkForm(query, pagination)`. Empty like the list. */
  bulkForm(query: ListQuery, pagination: Pagination): Html
  /** Renders the checkbox that selects a record for `bulkForm`: `bulkBox(post)`. */
  bulkBox(record: { id: string }): Html
  /** Renders links to the other pages of a list. */
  paginator(pagination: Pagination): Html
  /** Renders links to the lists of all resources that are not nested. */
  collectionLinks(): Html
  /** Renders links to the lists of resources that are nested in a record, such as a post's comments. */
  nestedLinks(record: object): Html
  /** Renders a button that sends POST to a path: `actionButton(postPublishPath(post), 'Publish')`. */
  actionButton(path: string, label: string, options?: ActionButtonOptions): Html
  /** Renders a button that sends DELETE to a path, and asks for confirmation. */
  deleteButton(path: string, label?: string): Html
  /** Whether the user may do something with a record, according to its policy: `can('update', post)`. */
  can(ability: string, record: object): boolean
  /** Formats a date, or a datetime in the visitor's time zone, in the page's language. */
  time(value: Date | string | null | undefined): Html
  /** Formats by type: datetimes like `time`, booleans as yes or no, records by title, JSON as code. */
  display(value: unknown): Html
}

/** The locals of every template: the helpers, and the path helpers by name (`postPath(post)`). */
export function viewHelpers(context: ViewContext): ViewHelpers & ViewContext['paths'] {
  const buttons = new ActionButtons(context)
  const helpers: ViewHelpers = {
    locale: context.locale,
    dir: directionOf(context.locale),
    currentUrl: context.currentUrl,
    t: (id, values) => context.t(id, values),
    label: (id) => label(context, id),
    asset: (name) => context.asset(name),
    flashMessages: () => flashMessages(context),
    formFor: (record, options) => new Form(context, record, options),
    hiddenFields: (method = 'POST') => buttons.hiddenFields(method),
    filterForm: (query, options) => filterForm(context, query, options),
    sortLink: (query, column, text) => sortLink(context, query, column, text),
    emptyList: (query, text) => emptyList(context, query, text),
    bulkForm: (query, pagination) => bulkForm(context, query, pagination),
    bulkBox: (record) => bulkBox(context, record),
    paginator: (pagination) => paginator(context, pagination),
    collectionLinks: () => collectionLinks(context),
    nestedLinks: (record) => nestedLinks(context, record),
    actionButton: (path, text, options) => buttons.action(path, text, options),
    deleteButton: (path, text) => buttons.delete(path, text),
    can: (ability, record) => context.can?.(ability, record) ?? false,
    time: (value) => time(context, value),
    display: (value) => display(context, value),
  }
  // The path helpers, which can be many, are inherited instead of copied for each page.
  return Object.assign(Object.create(context.paths), helpers)
}

function flashMessages(context: ViewContext): Html {
  return html`${context.flash.map(({ type, message }) => html`<p class="flash ${type}">${message}</p>`)}`
}
