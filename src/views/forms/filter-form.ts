import type { Choices } from '../../data/lists/choices.js'
import type { ListQuery, QueryField } from '../../data/lists/query/list-query.js'
import { recordName } from '../../naming/words.js'
import { blankOption, choiceLabel, choiceValue, option, type Choice } from './choices.js'
import { errorSummary } from './error-summary.js'
import { hiddenField } from './hidden-fields.js'
import { attributes, html, inputTag, type Attributes, type Html } from '../html.js'
import { dateTimeValue, dateValue, timeValue } from './input-values.js'
import { label } from '../labels.js'
import type { ViewContext } from '../view-context.js'

/** The options of `filterForm`. */
export interface FilterFormOptions {
  /** The choices of filters, by parameter: `{ author_id: authors }`. An enum has its values by default. */
  choices?: Record<string, readonly Choice[] | Choices>
  /** The parameters to show: `['state', 'title.prefix', 'search']`. The default is all. */
  only?: readonly string[]
}

/**
 * Renders the form that filters and searches a list: a field for each operator, with its errors, and a link that removes
 * the filters. It keeps the order. Empty if the list has no filters.
 */
export function filterForm(context: ViewContext, query: ListQuery, options: FilterFormOptions = {}): Html {
  return new FilterForm(context, query, options).render()
}

/** Renders the text of a list without records. If filters are the reason, it has a link that removes them. */
export function emptyList(context: ViewContext, query: ListQuery, text = context.t('kit.empty')): Html {
  if (query.errors) return html``
  if (!query.isFiltered) return html`<p class="empty">${text}</p>`
  return html`<p class="empty">
    ${context.t('kit.no_match')} <a href="${query.clearUrl}">${context.t('kit.no_filters')}</a>
  </p>`
}

class FilterForm {
  private readonly fields: readonly QueryField[]
  private readonly isSearchable: boolean
  private readonly model: string

  constructor(
    private readonly context: ViewContext,
    private readonly query: ListQuery,
    private readonly options: FilterFormOptions,
  ) {
    const isShown = (parameter: string) => options.only?.includes(parameter) ?? true
    this.fields = query.fields.filter(({ parameter }) => isShown(parameter))
    this.isSearchable = query.isSearchable && isShown('search')
    this.model = recordName(query.model)
  }

  render(): Html {
    const { context, query } = this
    const summary = this.errorSummary()
    if (this.fields.length === 0 && !this.isSearchable) return summary
    const canClear = query.isFiltered || query.errors !== undefined
    return html`${summary}
      <form class="filters" method="get" role="search" aria-label="${context.t('kit.filter')}">
        ${query.others.map(([name, value]) => hiddenField(name, value))} ${this.isSearchable && this.search()}
        ${this.fields.map((field) => this.field(field))}
        <div class="actions">
          <button type="submit">${context.t('kit.filter')}</button>
          ${canClear && html`<a href="${query.clearUrl}">${context.t('kit.no_filters')}</a>`}
        </div>
      </form>`
  }

  /** Renders all errors of the query, with a link to the fields that the form has. */
  private errorSummary(): Html {
    const shown = new Set([
      ...this.fields.map(({ parameter }) => parameter),
      ...(this.isSearchable ? ['search'] : []),
    ])
    const messages = Object.entries(this.query.errors?.messages ?? {}).flatMap(([parameter, texts]) =>
      texts.map((text) =>
        shown.has(parameter)
          ? html`<li><a href="#${idOf(parameter)}">${text}</a></li>`
          : html`<li>${text}</li>`,
      ),
    )
    return errorSummary(this.context.t('kit.filter_errors', { count: messages.length }), messages)
  }

  private search(): Html {
    return this.labeled('search', this.context.t('kit.search'), {}, (common) => {
      return inputTag(attributes({ type: 'search', ...common, value: this.query.text('search') }))
    })
  }

  private field(field: QueryField): Html {
    const { parameter, operator, kind } = field
    const text = this.labelOf(field)
    if (operator === 'null' || kind === 'bool') return this.select(parameter, text, this.flags())
    const choices = this.choicesOf(field)
    if (choices && operator === 'in') return this.checkboxes(field, text, choices)
    if (choices) return this.select(parameter, text, choices, field)
    const hint = operator === 'in' ? 'kit.list_hint' : kind === 'datetime' ? 'kit.utc' : undefined
    return this.labeled(parameter, text, { hint: hint && this.context.t(hint) }, (common) => {
      return inputTag(attributes({ ...common, ...this.inputOf(field) }))
    })
  }

  /** The choices of a filter. If there are too many records, the visitor types an id. */
  private choicesOf({ parameter, choices }: QueryField): readonly Choice[] | undefined {
    const own = this.options.choices?.[parameter] ?? choices
    if (own === undefined || !('isComplete' in own)) return own
    return own.isComplete ? own.records : undefined
  }

  /** The attribute and the operator: `Created at from`. */
  private labelOf({ attribute, operator, kind }: QueryField): string {
    const name = label(this.context, `${this.model}.${attribute}`)
    const isTime = kind === 'date' || kind === 'datetime' || kind === 'time'
    const word = (isTime && timeWords[operator]) || operator
    return word === 'eq' || word === 'in' ? name : this.context.t(`kit.operator.${word}`, { attribute: name })
  }

  /** The type and the value of an input. A value that could not be read is shown as it was sent. */
  private inputOf({ parameter, operator, kind }: QueryField): Attributes {
    const { query } = this
    const sent = query.texts(parameter).join(',')
    if (operator === 'in') return { type: 'text', value: sent }
    const value = query.value(parameter) ?? sent
    switch (kind) {
      case 'int':
        return { type: 'number', value: sent }
      case 'float':
      case 'decimal':
        return { type: 'number', step: 'any', value: sent }
      case 'date':
        return { type: 'date', value: dateValue(value) }
      case 'time':
        return { type: 'time', step: 'any', value: timeValue(value) }
      case 'datetime':
        return { type: 'datetime-local', step: 'any', value: dateTimeValue(value) }
      default:
        return { type: 'text', value: sent }
    }
  }

  private flags(): Choice[] {
    return [
      { value: 'true', label: this.context.t('kit.yes') },
      { value: 'false', label: this.context.t('kit.no') },
    ]
  }

  private select(parameter: string, text: string, choices: readonly Choice[], field?: QueryField): Html {
    const value = this.query.value(parameter)
    const selected = value === undefined ? this.query.text(parameter) : String(value)
    return this.labeled(parameter, text, {}, (common) => {
      return html`<select${attributes(common)}>
        ${blankOption(this.context.t('kit.any'))}
        ${choices.map((choice) => option(choice, [selected], (word) => this.wordLabel(field, word)))}
      </select>`
    })
  }

  private checkboxes(field: QueryField, text: string, choices: readonly Choice[]): Html {
    const { parameter } = field
    const selected = this.query.texts(parameter)
    const id = idOf(parameter)
    return html`<fieldset
      class="field"
      ${attributes({ id, tabindex: '-1', 'aria-describedby': this.describedBy(parameter) })}
    >
      <legend>${text}</legend>
      ${choices.map((choice, index) => {
        const value = choiceValue(choice)
        const input = {
          id: `${id}_${index}`,
          type: 'checkbox',
          name: parameter,
          value,
          checked: selected.includes(value),
        }
        const words = choiceLabel(choice, (word) => this.wordLabel(field, word))
        return html`<span class="choice"
          >${inputTag(attributes(input))} <label for="${input.id}">${words}</label></span
        >`
      })}
      ${this.error(parameter)}
    </fieldset>`
  }

  private wordLabel(field: QueryField | undefined, word: string): string {
    return label(this.context, `${this.model}.${field?.attribute ?? ''}.${word}`)
  }

  /** Renders a label, a hint, an input and its errors. */
  private labeled(
    parameter: string,
    text: string,
    { hint }: { hint?: string | undefined },
    input: (common: Attributes) => Html,
  ): Html {
    const id = idOf(parameter)
    const common: Attributes = {
      id,
      name: parameter,
      'aria-describedby':
        [hint && `${id}_hint`, this.describedBy(parameter)].filter(Boolean).join(' ') || undefined,
      'aria-invalid': this.messages(parameter).length > 0 ? 'true' : undefined,
    }
    return html`<div class="field">
      <label for="${id}">${text}</label>
      ${hint && html`<p class="hint" id="${id}_hint">${hint}</p>`}${input(common)}${this.error(parameter)}
    </div>`
  }

  private describedBy(parameter: string): string | undefined {
    return this.messages(parameter).length > 0 ? `${idOf(parameter)}_error` : undefined
  }

  private error(parameter: string): Html | undefined {
    const messages = this.messages(parameter)
    if (messages.length === 0) return undefined
    return html`<p class="error" id="${idOf(parameter)}_error">${messages.join(' ')}</p>`
  }

  private messages(parameter: string): string[] {
    return this.query.errors?.on(parameter) ?? []
  }
}

/** The words for operators of dates and times. */
const timeWords: Partial<Record<QueryField['operator'], string>> = {
  lt: 'before',
  lte: 'until',
  gt: 'after',
  gte: 'from',
}

/** The id of a field. A dot would have a meaning in selectors. */
function idOf(parameter: string): string {
  return `filter_${parameter.replaceAll('.', '_')}`
}
