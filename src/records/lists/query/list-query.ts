import type { ValidationErrors } from '../../../errors.js'
import { memoizeByObject } from '../../../common/memoize.js'
import type { AttributeKind } from '../../../models/attributes/attributes.js'
import type { Operator } from '../declaration.js'
import type { ListDefinition } from '../definition/definition.js'
import { parameterOf, type ParsedQuery } from './parse.js'

/** A parameter that filters a list, as a form shows it. */
export interface QueryField {
  /** The name of the parameter: `state`, `title.prefix`. */
  parameter: string
  /** The name of the attribute, for its label. */
  attribute: string
  operator: Operator
  kind: AttributeKind
  /** The values to choose from. */
  choices: readonly string[] | undefined
  /** Whether the attribute can be null. */
  isNullable: boolean
}

/** The parameters that select a page, which links leave out. */
const pageParameters = new Set(['page', 'after', 'before'])

/** The parameters that a form does not show. Links leave out wrong ones, which visitors could not correct. */
const hiddenParameters = new Set(['sort', 'include'])

/** The filters, search and order of a request, with their errors, for handlers and templates. */
export class ListQuery {
  /** The errors by parameter; undefined if there are none. */
  readonly errors: ValidationErrors | undefined
  /** The name of the model, for ids and translations: `Post`. */
  readonly model: string
  /** The filters, one for each operator. */
  readonly fields: readonly QueryField[]
  /** Whether the list can be searched. */
  readonly isSearchable: boolean

  /** @internal */
  constructor(
    private readonly definition: ListDefinition,
    private readonly parsed: ParsedQuery,
    private readonly csvPath?: string,
  ) {
    this.errors = parsed.errors.result
    this.model = definition.metadata.targetName
    this.fields = fieldsOf(definition)
    this.isSearchable = definition.search.length > 0
  }

  /** Whether the request filters or searches. */
  get isFiltered(): boolean {
    return this.filters.some((name) => this.parsed.sent.has(name))
  }

  /** The words of `search`. */
  get words(): readonly string[] {
    return this.parsed.words
  }

  /**
   * The value of a filter, as its kind reads it: `query.value('created_at.gte')` is a Date. The value of an
   * `in` filter is a list. Undefined if the parameter is missing, or cannot be read.
   */
  value(parameter: string): unknown {
    const condition = this.parsed.conditions.find(
      ({ filter, operator }) => parameterOf(filter, operator) === parameter,
    )
    return condition?.operator === 'in' ? condition.values : condition?.values[0]
  }

  /** The last value of a parameter as it was sent, or an empty string. */
  text(parameter: string): string {
    return this.texts(parameter).at(-1) ?? ''
  }

  /** All values of a parameter as they were sent. */
  texts(parameter: string): readonly string[] {
    return this.parsed.sent.get(parameter) ?? []
  }

  /**
   * The value of `aria-sort` of a column's heading: `th(aria-sort=query.ariaSort('title'))`. Undefined unless
   * the list is sorted by this column first.
   */
  ariaSort(column: string): 'ascending' | 'descending' | undefined {
    const [first] = this.parsed.order
    if (first?.column.name !== column) return undefined
    return first.isDescending ? 'descending' : 'ascending'
  }

  /** Whether clients can sort the list by a column. */
  isSortable(column: string): boolean {
    return this.definition.sorts.has(column)
  }

  /**
   * The URL of the list with the parameters of the request, without its page, and with changes. Undefined
   * removes a parameter.
   *
   * @example query.url({ sort: '-title' }) // ?state=draft&sort=-title
   */
  url(changes: Readonly<Record<string, string | undefined>> = {}): string {
    const parameters = new URLSearchParams()
    for (const [name, value] of this.parameters()) if (!(name in changes)) parameters.append(name, value)
    for (const [name, value] of Object.entries(changes)) if (value !== undefined) parameters.set(name, value)
    return `?${parameters}`
  }

  /**
   * The path of the list's CSV file, with the filters, search and order of the request:
   * `/parts.csv?state=draft`. Undefined if the resource has no option `csv`.
   */
  get csvUrl(): string | undefined {
    if (this.csvPath === undefined) return undefined
    const query = this.url({ per_page: undefined, include: undefined })
    return query === '?' ? this.csvPath : this.csvPath + query
  }

  /** The URL of the list without filters and search, in the same order. */
  get clearUrl(): string {
    return this.url(Object.fromEntries(this.filters.map((name) => [name, undefined])))
  }

  /** The parameters that are neither filters nor `search`, for hidden fields of a form. */
  get others(): [name: string, value: string][] {
    const { filters } = this
    return this.parameters().filter(([name]) => !filters.includes(name))
  }

  /** The names of `search` and of the filters. */
  private get filters(): string[] {
    const all = [...this.definition.filters.values()].flatMap((filter) =>
      (filter.column ? filter.operators : (['eq'] as const)).map((operator) => parameterOf(filter, operator)),
    )
    return ['search', ...all]
  }

  private parameters(): [name: string, value: string][] {
    const { errors } = this
    const isLinked = (name: string) =>
      !pageParameters.has(name) && !(hiddenParameters.has(name) && errors?.fields.has(name))
    const parameters = [...this.parsed.sent].filter(([name]) => isLinked(name))
    return parameters.flatMap(([name, values]) => values.map((value): [string, string] => [name, value]))
  }
}

const fieldsOf = memoizeByObject(({ filters }: ListDefinition): QueryField[] =>
  [...filters.values()].flatMap((filter) => {
    const { name: attribute, kind, values: choices, defaultOperator, column } = filter
    // A field for `in` makes one for `eq` unnecessary.
    const isShown = (operator: Operator) => operator !== 'eq' || defaultOperator === 'eq'
    const operators = column ? filter.operators.filter(isShown) : (['eq'] as const)
    const isNullable = column?.metadata.isNullable ?? false
    return operators.map((operator) => {
      return { parameter: parameterOf(filter, operator), attribute, operator, kind, choices, isNullable }
    })
  }),
)
