import { coerce, unreadable } from '../coerce.js'
import type { Attribute } from '../attributes.js'
import type { Translate } from '../validation.js'
import { bindingOf, decodeCursor, type Cursor } from './cursor.js'
import type { Operator } from './declaration.js'
import type { ColumnFilter, Include, ListDefinition, OwnFilter, SortKey } from './definition.js'
import { QueryErrors } from './query-errors.js'

/** The limits of a query. */
const bounds = { conditions: 20, values: 100, characters: 200, sorts: 5, includes: 3, words: 8 }

/** A filter with the values of a request. */
export interface Condition {
  filter: ColumnFilter | OwnFilter
  operator: Operator
  values: readonly unknown[]
}

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
  /** Whether unknown parameters are ignored, as pages do. */
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
    for (const [name, values] of grouped(querystring)) this.readParameter(name, values)
    if (conditions.length > bounds.conditions)
      errors.add(
        'base',
        'base',
        'query.conditions',
        `A query can have at most ${bounds.conditions} filters.`,
        {
          max: bounds.conditions,
        },
      )
    const words = this.words()
    const order = withId(this.sortKeys() ?? this.options.order ?? definition.order, definition)
    const includes = this.includes()
    const binding = definition.hasCursors ? bindingOf(this.bound(words, order)) : ''
    const cursor = definition.hasCursors ? this.cursor(binding, order) : undefined
    return { conditions, words, order, includes, cursor, binding, errors, sent }
  }

  private readParameter(name: string, values: string[]): void {
    // An empty value counts as not given.
    if (values.every((value) => value === '')) return
    const { params } = this.definition
    if (this.isListParameter(name) || params.includes(name)) {
      this.sent.set(name, values)
      return
    }
    const dot = name.lastIndexOf('.')
    const filter = this.definition.filters.get(dot < 0 ? name : name.slice(0, dot))
    if (filter) this.readFilter(filter, name, dot < 0 ? undefined : name.slice(dot + 1), values)
    else if (!this.options.ignoresUnknown) this.errors.addUnknown(name, name, 'query.unknown', this.names())
  }

  /** Whether a list has a parameter that isn't a filter. */
  private isListParameter(name: string): boolean {
    const { hasCursors, sorts, search, includes } = this.definition
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
  private names(): string[] {
    const names = ['page', 'per_page', 'sort', 'search', 'include', 'after', 'before']
    return [
      ...this.definition.filters.keys(),
      ...this.definition.params,
      ...names.filter((name) => this.isListParameter(name)),
    ]
  }

  private readFilter(
    filter: ColumnFilter | OwnFilter,
    parameter: string,
    given: string | undefined,
    values: string[],
  ): void {
    const operator = operatorOf(filter, given)
    if (operator === undefined) return this.rejectOperator(filter, parameter, given)
    const items = operator === 'in' ? listItems(values) : values.slice(-1)
    const written = items.filter((item) => item !== '')
    if (written.length === 0) return
    this.sent.set(parameterOf(filter, operator), written)
    const name = 'column' in filter ? filter.column.name : filter.name
    if (written.length > bounds.values) {
      this.errors.add(parameter, name, 'arrayMaxSize', `${name} has too many values.`, { max: bounds.values })
      return
    }
    const read = written.map((item) => this.readItem(filter, operator, parameter, name, item))
    if (!read.includes(unreadable)) this.conditions.push({ filter, operator, values: [...new Set(read)] })
  }

  private readItem(
    filter: ColumnFilter | OwnFilter,
    operator: Operator,
    parameter: string,
    name: string,
    item: string,
  ): unknown {
    if (isTooLong(item)) {
      this.errors.add(parameter, name, 'maxLength', `${name} is too long.`, { max: bounds.characters })
      return unreadable
    }
    const { kind, values, read } = 'column' in filter ? filter.column : filter
    const value = operator === 'null' ? coerce(item, flag) : read(item)
    if (value !== unreadable && value !== null) return value
    const expected = operator === 'null' ? 'bool' : kind
    this.errors.add(parameter, name, `type.${expected}`, `${name} is not a ${expected}.`, { values })
    return unreadable
  }

  private rejectOperator(filter: ColumnFilter | OwnFilter, parameter: string, given = ''): void {
    const operators = 'operators' in filter ? filter.operators.join(', ') : ''
    const own = `${filter.name} cannot be filtered in this way.`
    this.errors.add(parameter, filter.name, operators ? 'query.operator' : 'query.no_operator', own, {
      operator: given.slice(0, 100),
      operators,
    })
  }

  private words(): string[] {
    const words = [...new Set((this.last('search') ?? '').split(/\s+/u).filter(Boolean))]
    if (words.length > bounds.words) this.rejectMany('search', 'query.words', bounds.words)
    else if (words.some(isTooLong))
      this.errors.add('search', 'search', 'query.word', 'A word of the search is too long.', {
        max: bounds.characters,
      })
    else if (words.every((word) => this.definition.search.every(({ read }) => read(word) !== unreadable)))
      return words
    else this.errors.add('search', 'search', 'query.search', 'The search contains unreadable characters.')
    return []
  }

  /** The order of the parameter `sort`; undefined if it isn't given. */
  private sortKeys(): SortKey[] | undefined {
    const names = this.list('sort')
    if (names.length === 0) return undefined
    if (names.length > bounds.sorts) {
      this.rejectMany('sort', 'query.sorts', bounds.sorts)
      return []
    }
    const { sorts } = this.definition
    const keys = new Map<string, SortKey>()
    for (const name of names) {
      const isDescending = name.startsWith('-')
      const column = sorts.get(isDescending ? name.slice(1) : name)
      if (!column) this.errors.addUnknown('sort', name, 'query.sort', sorts.keys())
      else if (keys.has(column.name))
        this.errors.add('sort', 'sort', 'query.repeated', `"${column.name}" is repeated.`, {
          name: column.name,
        })
      else keys.set(column.name, { column, isDescending })
    }
    return [...keys.values()]
  }

  private includes(): Include[] {
    const names = [...new Set(this.list('include'))]
    if (names.length > bounds.includes) {
      this.rejectMany('include', 'query.includes', bounds.includes)
      return []
    }
    const { includes } = this.definition
    return names.flatMap((name) => {
      const found = includes.get(name)
      if (!found) this.errors.addUnknown('include', name, 'query.include', includes.keys())
      return found ?? []
    })
  }

  private cursor(binding: string, order: readonly SortKey[]): Cursor | undefined {
    const [after, before] = [this.last('after'), this.last('before')]
    const text = after || before
    if (!text) return undefined
    const name = after ? 'after' : 'before'
    const values = after && before ? undefined : decodeCursor(text, binding, order)
    if (values) return { values, isBefore: name === 'before' }
    this.errors.add(name, name, 'query.cursor', `"${name}" does not belong to this list.`)
    return undefined
  }

  /** The parts of a query that select and sort records. The order of the parameters does not count. */
  private bound(words: string[], order: readonly SortKey[]): unknown[] {
    const filters = this.conditions.map(({ filter, operator, values }) =>
      JSON.stringify([filter.name, operator, values]),
    )
    const keys = order.map(({ column, isDescending }) => [column.name, isDescending])
    const { metadata } = this.definition
    return [this.options.list, metadata.tableName, keys, filters.toSorted(), words]
  }

  private rejectMany(parameter: string, rule: string, max: number): void {
    this.errors.add(parameter, parameter, rule, `${parameter} can have at most ${max} names.`, { max })
  }

  private last(name: string): string | undefined {
    return this.sent.get(name)?.at(-1)
  }

  private list(name: string): string[] {
    return (this.last(name) ?? '').split(',').filter((item) => item !== '')
  }
}

/** The parameter of a filter: `state`, or with its operator `title.prefix`. */
export function parameterOf(filter: ColumnFilter | OwnFilter, operator: Operator): string {
  const isBare = !('column' in filter) || filter.bare === operator
  return isBare ? filter.name : `${filter.name}.${operator}`
}

function operatorOf(filter: ColumnFilter | OwnFilter, given: string | undefined): Operator | undefined {
  if (!('column' in filter)) return given === undefined ? 'eq' : undefined
  return given === undefined ? filter.bare : filter.operators.find((operator) => operator === given)
}

/** The parameters of a query, each with all of its values. Node's parser drops parameters after the thousandth. */
function grouped(querystring: string): Map<string, string[]> {
  const parameters = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(querystring)) {
    const known = parameters.get(name)
    if (known) known.push(value)
    else parameters.set(name, [value])
  }
  return parameters
}

function listItems(values: readonly string[]): string[] {
  return values.flatMap((value) => value.split(','))
}

function isTooLong(text: string): boolean {
  return text.length > bounds.characters && Array.from(text).length > bounds.characters
}

const flag: Attribute = { name: 'null', kind: 'bool', nullable: false }

/** An order that ends with the id, in the direction of its last key. */
export function withId(order: readonly SortKey[], { id }: ListDefinition): SortKey[] {
  const end = order.findIndex(({ column }) => column.name === id.name)
  if (end >= 0) return order.slice(0, end + 1)
  return [...order, { column: id, isDescending: order.at(-1)?.isDescending ?? true }]
}
