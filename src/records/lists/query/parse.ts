import { coerce, unreadable } from '../../../models/attributes/coerce.js'
import type { Attribute } from '../../../models/attributes/attributes.js'
import type { Translate } from '../../../models/validation/validation.js'
import { listParameters, type FilterConditions, type Operator } from '../declaration.js'
import type { Filter, Include, ListDefinition, SortKey } from '../definition/definition.js'
import { decodeCursor, listFingerprint, type Cursor } from './cursor.js'
import { exceedsColumns } from './operands.js'
import { QueryErrors } from './query-errors.js'

/** The limits of a query. */
const LIMITS = {
  conditions: 20,
  /** The values of an `in` filter. */
  values: 100,
  /** The characters of a value, and of a word to search. */
  characters: 200,
  sorts: 5,
  includes: 3,
  words: 8,
} as const

/** Whether a value has too many characters. Counts them only if its `length` exceeds the limit. */
function isTooLong(text: string): boolean {
  return text.length > LIMITS.characters && Array.from(text).length > LIMITS.characters
}

/** A filter with the values of a request. */
export interface Condition {
  filter: Filter
  operator: Operator
  values: readonly unknown[]
  /** The conditions of a custom filter. */
  custom?: FilterConditions<object> | undefined
}

/** The parameter of a filter: `state`, or with its operator `title.prefix`. */
export function parameterOf({ name, defaultOperator }: Filter, operator: Operator): string {
  return defaultOperator === operator ? name : `${name}.${operator}`
}

/** Describes the value of the `null` operator, which is a boolean for any kind of column. */
const nullAttribute: Attribute = { name: 'null', kind: 'bool', nullable: false }

/** The query of a request, read by the definition of its list. */
export interface ParsedQuery {
  conditions: Condition[]
  /** The words of `search`. */
  words: string[]
  /** The complete order, which ends with the id. */
  order: SortKey[]
  includes: Include[]
  cursor: Cursor | undefined
  /** Identifies the list, its filters, search and order. */
  fingerprint: string
  errors: QueryErrors
  /** The parameters that the list has, with the values that were sent. */
  sent: Map<string, string[]>
}

export interface ParseOptions {
  /** Whether unknown parameters are ignored, as for HTML pages. */
  ignoresUnknown: boolean
  /** Identifies the list in the fingerprint, which its cursors contain. */
  list: string
  /** The order without the `sort` parameter, if it isn't that of the definition. */
  order?: readonly SortKey[] | undefined
  translate?: Translate | undefined
}

/** Reads the query of a request by the definition of a list. The errors contain all mistakes of the query. */
export class QueryParser {
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
    for (const [name, values] of parseParameters(querystring)) this.readParameter(name, values)
    const max = LIMITS.conditions
    if (conditions.length > max)
      errors.add('base', 'base', 'query.conditions', `A query can have at most ${max} filters.`, { max })
    const words = this.readSearch()
    const order = endWithId(this.readSort() ?? this.options.order ?? definition.order, definition)
    const includes = this.readInclude()
    const fingerprint = definition.hasCursors ? this.identify(words, order) : ''
    const cursor = definition.hasCursors ? this.readCursor(fingerprint, order) : undefined
    return { conditions, words, order, includes, cursor, fingerprint, errors, sent }
  }

  private readParameter(name: string, values: string[]): void {
    // An empty value is the same as no value.
    if (values.every((value) => value === '')) return
    const { definition, errors } = this
    if (hasParameter(definition, name) || definition.params.includes(name)) {
      this.sent.set(name, values)
      return
    }
    const dot = name.lastIndexOf('.')
    const filter = definition.filters.get(dot < 0 ? name : name.slice(0, dot))
    if (!filter) {
      if (!this.options.ignoresUnknown) errors.addUnknown(name, name, 'query.unknown', listNames(definition))
      return
    }
    const { defaultOperator, operators } = filter
    const operator =
      dot < 0 ? defaultOperator : operators.find((operator) => operator === name.slice(dot + 1))
    if (operator) return this.readFilter(filter, operator, name, values)
    const rule = operators.length > 0 ? 'query.operator' : 'query.no_operator'
    errors.add(name, filter.name, rule, `${filter.name} cannot be filtered in this way.`, {
      // The client can send any text, so its length is limited.
      operator: dot < 0 ? name : name.slice(dot + 1, dot + 101),
      operators: operators.map((one) => (dot < 0 ? parameterOf(filter, one) : one)).join(', '),
    })
  }

  private readFilter(filter: Filter, operator: Operator, parameter: string, values: readonly string[]): void {
    // An `in` filter has a list of values; for others, the last value counts.
    const all = operator === 'in' ? values.flatMap((value) => value.split(',')) : values.slice(-1)
    const texts = all.filter((value) => value !== '')
    if (texts.length === 0) return
    this.sent.set(parameterOf(filter, operator), texts)
    const { attribute } = filter
    const max = LIMITS.values
    if (texts.length > max)
      return this.errors.add(parameter, attribute, 'arrayMaxSize', `${attribute} has too many values.`, {
        max,
      })
    const items = texts.map((text) => this.readValue(filter, operator, text, parameter))
    if (items.includes(unreadable)) return
    const custom = filter.toConditions?.(items[0])
    if (exceedsColumns(this.definition.metadata, custom))
      this.errors.add(parameter, attribute, 'range', `${attribute} is out of range.`)
    this.conditions.push({ filter, operator, values: [...new Set(items)], custom })
  }

  private readValue(filter: Filter, operator: Operator, text: string, parameter: string): unknown {
    const { attribute, values } = filter
    const isFlag = operator === 'null'
    const kind = isFlag ? 'bool' : filter.kind
    if (isTooLong(text)) {
      const max = LIMITS.characters
      this.errors.add(parameter, attribute, 'maxLength', `${attribute} is too long.`, { max })
      return unreadable
    }
    const value = isFlag ? coerce(text, nullAttribute) : filter.read(text)
    if (value !== unreadable && value !== null) return value
    this.errors.add(parameter, attribute, `type.${kind}`, `${attribute} is not a ${kind}.`, { values })
    return unreadable
  }

  /** Reads the order of the `sort` parameter; undefined if it is missing. */
  private readSort(): SortKey[] | undefined {
    const { sorts } = this.definition
    const names = this.readNames('sort')
    if (names.length === 0) return undefined
    if (names.length > LIMITS.sorts) return this.rejectMany('sort', 'query.sorts', LIMITS.sorts)
    const keys = new Map<string, SortKey>()
    for (const name of names) {
      const isDescending = name.startsWith('-')
      const column = sorts.get(isDescending ? name.slice(1) : name)
      if (!column) this.errors.addUnknown('sort', name, 'query.sort', sorts.keys())
      else if (keys.has(column.name)) {
        const own = `"${column.name}" is repeated.`
        this.errors.add('sort', 'sort', 'query.repeated', own, { name: column.name })
      } else keys.set(column.name, { column, isDescending })
    }
    return [...keys.values()]
  }

  private readSearch(): string[] {
    const { errors } = this
    const words = [...new Set(this.readLast('search')?.split(/\s+/u).filter(Boolean))]
    if (words.length > LIMITS.words) return this.rejectMany('search', 'query.words', LIMITS.words)
    if (words.some(isTooLong)) {
      const max = LIMITS.characters
      errors.add('search', 'search', 'query.word', 'A word of the search is too long.', { max })
      return []
    }
    const isReadable = (word: string) => this.definition.search.every(({ read }) => read(word) !== unreadable)
    if (words.every(isReadable)) return words
    errors.add('search', 'search', 'query.search', 'The search contains unreadable characters.')
    return []
  }

  private readInclude(): Include[] {
    const { includes } = this.definition
    const names = [...new Set(this.readNames('include'))]
    if (names.length > LIMITS.includes) return this.rejectMany('include', 'query.includes', LIMITS.includes)
    return names.flatMap((name) => {
      const include = includes.get(name)
      if (!include) this.errors.addUnknown('include', name, 'query.include', includes.keys())
      return include ?? []
    })
  }

  private readCursor(fingerprint: string, order: readonly SortKey[]): Cursor | undefined {
    const [after, before] = [this.readLast('after'), this.readLast('before')]
    const text = after || before
    if (!text) return undefined
    const values = after && before ? undefined : decodeCursor(text, fingerprint, order)
    if (values) return { values, isBefore: !after }
    const name = after ? 'after' : 'before'
    this.errors.add(name, name, 'query.cursor', `"${name}" does not belong to this list.`)
    return undefined
  }

  /** Reads the last value of a parameter. */
  private readLast(name: string): string | undefined {
    return this.sent.get(name)?.at(-1)
  }

  /** Reads the names that a parameter lists: joined by commas, or as repeated parameters. */
  private readNames(name: string): string[] {
    return this.sent.get(name)?.flatMap((value) => value.split(',').filter(Boolean)) ?? []
  }

  private rejectMany(parameter: string, rule: string, max: number): [] {
    this.errors.add(parameter, parameter, rule, `${parameter} can have at most ${max} names.`, { max })
    return []
  }

  /** The fingerprint of a list, its filters, search, order. Their order does not matter. */
  private identify(words: readonly string[], order: readonly SortKey[]): string {
    const filters = this.conditions.map(({ filter, operator, values }) =>
      JSON.stringify([filter.name, operator, values]),
    )
    const keys = order.map(({ column, isDescending }) => [column.name, isDescending])
    const { tableName } = this.definition.metadata
    return listFingerprint([this.options.list, tableName, keys, filters.toSorted(), words])
  }
}

/** Ends an order with the id, in the direction of its last key. Keys after the unique id are left out. */
function endWithId(order: readonly SortKey[], { id }: ListDefinition): SortKey[] {
  const end = order.findIndex(({ column }) => column.name === id.name)
  if (end >= 0) return order.slice(0, end + 1)
  return [...order, { column: id, isDescending: order.at(-1)?.isDescending ?? true }]
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
function listNames(definition: ListDefinition): string[] {
  const { filters, params } = definition
  return [...filters.keys(), ...params, ...listParameters.filter((name) => hasParameter(definition, name))]
}

/** Parses the parameters of a query with all their values. Node's parser drops those after 1,000. */
function parseParameters(querystring: string): Map<string, string[]> {
  const parameters = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(querystring)) {
    const values = parameters.get(name)
    if (values) values.push(value)
    else parameters.set(name, [value])
  }
  return parameters
}
