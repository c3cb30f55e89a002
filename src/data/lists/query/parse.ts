import type { Translate } from '../../validation/validation.js'
import { bounds } from './bounds.js'
import {
  givenValues,
  operatorOf,
  parameterOf,
  readCondition,
  rejectOperator,
  type Condition,
} from './conditions.js'
import { listFingerprint, decodeCursor, type Cursor } from './cursor.js'
import { listParameters } from '../declaration.js'
import type { ColumnFilter, Include, ListDefinition, OwnFilter, SortKey } from '../definition/definition.js'
import { withId } from '../definition/order.js'
import { QueryErrors } from './query-errors.js'
import { lastOf, readInclude, readSearch, readSort } from './sort-search-include.js'

/** The query of a request, as the definition of its list reads it. */
export interface ParsedQuery {
  conditions: Condition[]
  /** The words of `search`. */
  words: string[]
  /** The complete order, which ends with the id. */
  order: SortKey[]
  includes: Include[]
  cursor: Cursor | undefined
  /** Identifies the list, its filters, search and order. */
  binding: string
  errors: QueryErrors
  /** The parameters that the list has, with the values that were sent. */
  sent: Map<string, string[]>
}

/** How a query is read. */
export interface ParseOptions {
  /** Whether unknown parameters are ignored, as HTML pages do. */
  ignoresUnknown: boolean
  /** A name of the list, which its cursors contain. */
  list: string
  /** The order without the parameter `sort`, if it isn't that of the definition. */
  order?: readonly SortKey[] | undefined
  translate?: Translate | undefined
}

/** Reads a query by the definition of its list. Nothing is ignored that the list has; the errors contain all mistakes. */
export function parseQuery(
  definition: ListDefinition,
  querystring: string,
  options: ParseOptions,
): ParsedQuery {
  return new Parser(definition, options).parse(querystring)
}

class Parser {
  private readonly errors: QueryErrors
  private readonly conditions: Condition[] = []
  private readonly sent = new Map<string, string[]>()

  constructor(
    private readonly definition: ListDefinition,
    private readonly options: ParseOptions,
  ) {
    const { target } = definition.metadata
    this.errors = new QueryErrors(typeof target === 'function' ? target : Object, options.translate)
  }

  parse(querystring: string): ParsedQuery {
    const { definition, sent, conditions, errors } = this
    for (const [name, values] of parametersOf(querystring)) this.readParameter(name, values)
    if (conditions.length > bounds.conditions) this.rejectConditions()
    const words = readSearch(sent, definition, errors)
    const sorted = readSort(sent, definition, errors)
    const order = withId(sorted ?? this.options.order ?? definition.order, definition)
    const includes = readInclude(sent, definition, errors)
    const binding = definition.hasCursors ? this.listFingerprint(words, order) : ''
    const cursor = definition.hasCursors ? this.readCursor(binding, order) : undefined
    return { conditions, words, order, includes, cursor, binding, errors, sent }
  }

  private readParameter(name: string, values: string[]): void {
    // An empty value counts as not given.
    if (values.every((value) => value === '')) return
    const { params, filters } = this.definition
    if (hasParameter(this.definition, name) || params.includes(name)) {
      this.sent.set(name, values)
      return
    }
    const dot = name.lastIndexOf('.')
    const filter = filters.get(dot < 0 ? name : name.slice(0, dot))
    if (filter) this.readFilter(filter, name, dot < 0 ? undefined : name.slice(dot + 1), values)
    else if (!this.options.ignoresUnknown)
      this.errors.addUnknown(name, name, 'query.unknown', namesOf(this.definition))
  }

  private readFilter(
    filter: ColumnFilter | OwnFilter,
    parameter: string,
    operatorName: string | undefined,
    values: readonly string[],
  ): void {
    const operator = operatorOf(filter, operatorName)
    if (operator === undefined) {
      rejectOperator(filter, parameter, operatorName, this.errors)
      return
    }
    const given = givenValues(operator, values)
    if (given.length === 0) return
    this.sent.set(parameterOf(filter, operator), given)
    const condition = readCondition(filter, operator, given, parameter, this.errors)
    if (condition) this.conditions.push(condition)
  }

  private rejectConditions(): void {
    const max = bounds.conditions
    this.errors.add('base', 'base', 'query.conditions', `A query can have at most ${max} filters.`, { max })
  }

  private readCursor(binding: string, order: readonly SortKey[]): Cursor | undefined {
    const [after, before] = [lastOf(this.sent, 'after'), lastOf(this.sent, 'before')]
    const text = after || before
    if (!text) return undefined
    const name = after ? 'after' : 'before'
    const values = after && before ? undefined : decodeCursor(text, binding, order)
    if (values) return { values, isBefore: name === 'before' }
    this.errors.add(name, name, 'query.cursor', `"${name}" does not belong to this list.`)
    return undefined
  }

  /** Identifies what selects and sorts records. The order of the parameters does not count. */
  private listFingerprint(words: readonly string[], order: readonly SortKey[]): string {
    const filters = this.conditions.map(({ filter, operator, values }) =>
      JSON.stringify([filter.name, operator, values]),
    )
    const keys = order.map(({ column, isDescending }) => [column.name, isDescending])
    const { tableName } = this.definition.metadata
    return listFingerprint([this.options.list, tableName, keys, filters.toSorted(), words])
  }
}

/** Whether a list has a parameter that isn't a filter. */
function hasParameter({ hasCursors, sorts, search, includes }: ListDefinition, name: string): boolean {
  switch (name) {
    case 'per_page':
      return true
    case 'page':
      return !hasCursors
    case 'after':
    case 'before':
      return hasCursors
    case 'sort':
      return sorts.size > 0
    case 'search':
      return search.length > 0
    case 'include':
      return includes.size > 0
    default:
      return false
  }
}

/** The names that a parameter can have, for suggestions. */
function namesOf(definition: ListDefinition): string[] {
  const { filters, params } = definition
  return [...filters.keys(), ...params, ...listParameters.filter((name) => hasParameter(definition, name))]
}

/** The parameters of a query, each with all of its values. Node's parser drops parameters after the thousandth. */
function parametersOf(querystring: string): Map<string, string[]> {
  const parameters = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(querystring)) {
    const known = parameters.get(name)
    if (known) known.push(value)
    else parameters.set(name, [value])
  }
  return parameters
}
