import type { Choices } from '../../records/lists/choices.js'
import type { ListQuery, QueryField } from '../../records/lists/query/list-query.js'
import { recordName } from '../../naming/words.js'
import { blankOption, choiceLabel, choiceValue, option, type Choice } from './choices.js'
import { Fields, type FieldOptions } from './fields.js'
import { hiddenField } from './hidden-fields.js'
import { canHold } from './input-types.js'
import { attributes, html, inputTag, type Attributes, type Html } from '../html.js'
import { dateTimeValue, dateValue, timeValue } from '../../common/input-values.js'
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
 * Renders the form that filters and searches a list: the search field, and below it a field for each
 * operator, which the visitor unfolds. A link removes the filters. The form keeps the order. Empty if the
 * list has no filters.
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

class FilterForm extends Fields {
  private readonly fields: readonly QueryField[]
  private readonly isSearchable: boolean
  private readonly model: string

  constructor(
    context: ViewContext,
    private readonly query: ListQuery,
    private readonly options: FilterFormOptions,
  ) {
    super(context, 'filter', query.errors)
    const isShown = (parameter: string) => options.only?.includes(parameter) ?? true
    this.fields = query.fields.filter(({ parameter }) => isShown(parameter))
    this.isSearchable = query.isSearchable && isShown('search')
    this.model = recordName(query.model)
  }

  render(): Html {
    const { context, query } = this
    const names = this.fields.map(({ parameter }) => parameter).concat(this.isSearchable ? 'search' : [])
    const summary = this.summary('kit.filter_errors', (parameter) => names.includes(parameter))
    if (names.length === 0) return summary
    const canClear = query.isFiltered || query.errors !== undefined
    return html`${summary}
      <form class="filters" method="get" role="search" aria-label="${context.t('kit.filter')}">
        ${query.others.map(([name, value]) => hiddenField(name, value))} ${this.isSearchable && this.search()}
        ${this.fields.length > 0 && this.filters()}
        ${canClear && html`<a class="clear" href="${query.clearUrl}">${context.t('kit.no_filters')}</a>`}
      </form>`
  }

  private search(): Html {
    const input = { type: 'search', value: this.query.text('search') }
    const label = this.context.t('kit.search')
    return html`<div class="search">
      ${this.inputField('search', { label }, input)}
      <button type="submit">${label}</button>
    </div>`
  }

  /** The filters are unfolded while one of them is set or wrong. */
  private filters(): Html {
    const { context, query, fields } = this
    const count = fields.filter(({ parameter }) => query.texts(parameter).some(Boolean)).length
    const hasTimes = fields.some(({ kind, operator }) => kind === 'datetime' && operator !== 'null')
    return html`<details${count > 0 && html` open`}>
      <summary>${context.t('kit.filters')}${count > 0 && ` (${count})`}</summary>
      ${hasTimes && html`<p class="hint">${context.t('kit.filter_times')}</p>`}
      <div class="fields">${fields.map((field) => this.filter(field))}</div>
      <button type="submit">${context.t('kit.filter')}</button>
    </details>`
  }

  private filter(field: QueryField): Html {
    const { parameter, operator, kind } = field
    const label = this.labelOfFilter(field)
    if (operator === 'null' || kind === 'bool') return this.select(parameter, label, this.flags())
    const choices = this.choicesOf(field)
    if (choices && operator === 'in') return this.checkboxes(field, label, choices)
    if (choices) return this.select(parameter, label, choices, field)
    const hint = operator === 'in' && { hint: this.context.t('kit.list_hint') }
    return this.inputField(parameter, { label, ...hint }, this.inputOf(field))
  }

  private inputField(parameter: string, options: FieldOptions, input: Attributes): Html {
    return this.labeled(parameter, options, inputTag(this.attributesOf(parameter, options, input)))
  }

  /** Each filter is optional, so its label does not state it. */
  private labeled(parameter: string, options: FieldOptions, input: Html): Html {
    return this.field(parameter, { ...options, required: true }, input)
  }

  /** The choices of a filter. If there are too many records, the visitor types an id. */
  private choicesOf({ parameter, choices }: QueryField): readonly Choice[] | undefined {
    const own = this.options.choices?.[parameter] ?? choices
    if (own === undefined || !('isComplete' in own)) return own
    return own.isComplete ? own.records : undefined
  }

  /** The attribute and the operator: `Created at from`. */
  private labelOfFilter({ attribute, operator, kind }: QueryField): string {
    const name = label(this.context, `${this.model}.${attribute}`)
    const isTime = kind === 'date' || kind === 'datetime' || kind === 'time'
    const words = NAMED_BY_WORD.test(attribute) ? limitWords : timeWords
    const word = (isTime && words[operator]) || operator
    return word === 'eq' || word === 'in' ? name : this.context.t(`kit.operator.${word}`, { attribute: name })
  }

  /** The type and the value of an input. An unreadable value is shown as sent, in a text field if needed. */
  private inputOf({ parameter, operator, kind }: QueryField): Attributes {
    const sent = this.query.texts(parameter).join(',')
    const { format, ...input } = (operator !== 'in' && inputs[kind]) || { type: 'text' }
    const value = format?.(this.query.value(parameter) ?? sent) ?? sent
    return canHold(input.type, value) ? { ...input, value } : { type: 'text', value }
  }

  private flags(): Choice[] {
    return [
      { value: 'true', label: this.context.t('kit.yes') },
      { value: 'false', label: this.context.t('kit.no') },
    ]
  }

  private select(parameter: string, label: string, choices: readonly Choice[], field?: QueryField): Html {
    const value = this.query.value(parameter)
    const selected = value === undefined ? this.query.text(parameter) : String(value)
    const tag = html`<select${this.attributesOf(parameter, {})}>
        ${blankOption(this.context.t('kit.any'))}
        ${choices.map((choice) => option(choice, [selected], (word) => this.wordLabel(field, word)))}
      </select>`
    return this.labeled(parameter, { label }, tag)
  }

  private checkboxes(field: QueryField, text: string, choices: readonly Choice[]): Html {
    const { parameter } = field
    const selected = this.query.texts(parameter)
    const id = this.idOf(parameter)
    return html`<fieldset
      class="field"
      ${attributes({ id, tabindex: '-1', 'aria-describedby': this.descriptionOf(parameter, undefined) })}
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
      ${this.errorOf(parameter)}
    </fieldset>`
  }

  private wordLabel(field: QueryField | undefined, word: string): string {
    return label(this.context, `${this.model}.${field?.attribute ?? ''}.${word}`)
  }

  /** Replaces the dots in the name of a parameter, which would have a meaning in CSS selectors. */
  protected override idOf(parameter: string, part?: string): string {
    return super.idOf(parameter.replaceAll('.', '_'), part)
  }
}

/** The inputs for kinds of attributes. Without `format`, a value is shown as it was sent. */
const inputs: Partial<
  Record<QueryField['kind'], { type: string; step?: string; format?: (value: unknown) => string }>
> = {
  int: { type: 'number' },
  float: { type: 'number', step: 'any' },
  decimal: { type: 'number', step: 'any' },
  date: { type: 'date', format: dateValue },
  time: { type: 'time', step: 'any', format: timeValue },
  datetime: { type: 'datetime-local', step: 'any', format: dateTimeValue },
}

/** The names whose last word would be confused with that of an operator: "Date from from". */
const NAMED_BY_WORD = /(?:^|_)(?:from|to|until|till|since|before|after)$/

type OperatorWords = Partial<Record<QueryField['operator'], string>>

/** The words for operators of dates and times with such a name. */
const limitWords: OperatorWords = {
  lt: 'earlier',
  lte: 'latest',
  gt: 'later',
  gte: 'earliest',
}

/** The words for operators of dates and times. */
const timeWords: OperatorWords = {
  lt: 'before',
  lte: 'until',
  gt: 'after',
  gte: 'from',
}
