import type { EntityMetadata } from 'typeorm'
import { memoizeByObject } from '../../../common/memoize.js'
import type { AttributeKind } from '../../../models/attributes/attributes.js'
import { coerce } from '../../../models/attributes/coerce.js'
import { CustomFilter, listParameters, RenamedFilter } from '../declaration.js'
import type { IncludeOptions, Operator, Queryable } from '../declaration.js'
import type { Filter, Include, ListColumn, ListDefinition, SortKey } from './definition.js'
import { suggest, toListColumn, ListModel, rejectForCursors } from './list-model.js'

/**
 * Compiles the declaration of a list, once.
 *
 * @param list the list in messages: `@Queryable of PostsResource.list`
 * @throws DeclarationError when the declaration does not fit the model
 */
export function definitionOf(metadata: EntityMetadata, queryable: Queryable, list: string): ListDefinition {
  const cache = definitionsOf(metadata)
  let definition = cache.get(queryable)
  if (!definition) cache.set(queryable, (definition = compile(new ListModel(metadata, list), queryable)))
  return definition
}

const definitionsOf = memoizeByObject((_metadata: EntityMetadata) => new WeakMap<Queryable, ListDefinition>())

const textOperators: readonly Operator[] = ['eq', 'not', 'in', 'prefix', 'contains', 'null']
const orderOperators: readonly Operator[] = ['eq', 'not', 'in', 'lt', 'lte', 'gt', 'gte', 'null']
const wordOperators: readonly Operator[] = ['eq', 'not', 'in', 'null']

const OPERATORS: Record<AttributeKind, readonly Operator[]> = {
  string: textOperators,
  text: textOperators,
  int: orderOperators,
  bigint: orderOperators,
  float: orderOperators,
  decimal: orderOperators,
  date: orderOperators,
  time: orderOperators,
  datetime: orderOperators,
  bool: ['eq', 'null'],
  enum: wordOperators,
  uuid: wordOperators,
  json: [],
}

function compile(model: ListModel, queryable: Queryable): ListDefinition {
  rejectUnknownOptions(model, queryable)
  const { metadata } = model
  const { filter, sort = [], search = [], include = [], params = [], pages } = queryable
  const filters = compileFilters(model, filter)
  const reserved = params.find(isListParameter)
  if (reserved !== undefined)
    model.fail(`has "${reserved}" in params, which is a parameter of every list. Remove it, or rename it.`)
  const twice = params.find((name) => filters.has(name))
  if (twice !== undefined) model.fail(`has "${twice}" in params and in filter. Remove it from one of them.`)
  const sorts = compileSorts(model, sort)
  const hasCursors = pages === 'cursor'
  const definition = {
    metadata,
    filters,
    params,
    sorts,
    order: compileOrder(sort, sorts),
    search: search.map((name) => findSearchColumn(model, name)),
    includes: compileIncludes(model, include),
    hasCursors,
    id: toListColumn(metadata.primaryColumns[0] ?? model.fail('has a model without a primary key.')),
  }
  if (hasCursors) for (const column of sorts.values()) rejectForCursors(column, model.list)
  return definition
}

const optionNames: readonly string[] = ['filter', 'sort', 'search', 'include', 'params', 'pages']

function rejectUnknownOptions(model: ListModel, queryable: Queryable): void {
  const unknown = Object.keys(queryable).find((name) => !optionNames.includes(name))
  if (unknown !== undefined) {
    const advice = suggest(unknown, optionNames) || ` Known: ${optionNames.join(', ')}.`
    model.fail(`has the unknown option "${unknown}".${advice}`)
  }
  const { pages } = queryable
  if (pages !== undefined && pages !== 'numbers' && pages !== 'cursor')
    model.fail(`has pages: "${String(pages)}". Use "numbers" or "cursor".`)
}

function compileFilters(model: ListModel, filters: Queryable['filter'] = {}): Map<string, Filter> {
  const entries = Object.entries(filters).filter(([, filter]) => filter !== undefined)
  for (const [name] of entries) rejectName(model, name)
  return new Map(entries.map(([name, filter]) => [name, compileFilter(model, name, filter)]))
}

function rejectName(model: ListModel, name: string): void {
  if (!/^[\p{L}_][\p{L}\p{N}_-]*$/u.test(name))
    model.fail(`has the filter "${name}", which cannot be a parameter. Use letters, digits and underscores.`)
  if (isListParameter(name))
    model.fail(
      `filters by "${name}", which is a parameter of every list. Rename the filter: ${name}_key: as('${name}', ['eq']).`,
    )
}

function isListParameter(name: string): boolean {
  return listParameters.some((parameter) => parameter === name)
}

function compileFilter(model: ListModel, name: string, filter: unknown): Filter {
  if (filter instanceof CustomFilter) return compileCustom(model, name, filter)
  if (filter instanceof RenamedFilter) return compileColumn(model, name, filter.column, filter.operators)
  return compileColumn(model, name, name, filter)
}

function compileColumn(model: ListModel, name: string, columnName: string, declared: unknown): Filter {
  const column = model.findColumn(columnName, 'filters by')
  const allowed = OPERATORS[column.kind]
  const advice =
    allowed.length > 0 ? `Use some of ${allowed.join(', ')}.` : 'Remove it, or declare it by filter().'
  if (!Array.isArray(declared) || declared.length === 0)
    return model.fail(`does not list operators of the filter "${name}". ${advice}`)
  const operators = declared as readonly Operator[]
  const wrongOperator = operators.find((operator) => !allowed.includes(operator))
  if (wrongOperator !== undefined)
    model.fail(
      `has the operator "${String(wrongOperator)}" of "${name}", which has the kind ${column.kind}. ${advice}`,
    )
  // A parameter without an operator has a list of values if `in` is allowed.
  const defaultOperator = (['in', 'eq'] as const).find((operator) => operators.includes(operator))
  const { kind, values, read } = column
  return { name, attribute: column.name, kind, values, read, operators, defaultOperator, column }
}

function compileCustom(model: ListModel, name: string, { kind, words, toConditions }: CustomFilter): Filter {
  // Code without types can pass other kinds than `FilterKind`.
  if (OPERATORS[kind] === undefined || kind === 'json' || (kind === 'enum' && !words?.length)) {
    model.fail(
      `has the filter "${name}" of the unknown kind "${kind}". Use a kind like 'int', or a list of words.`,
    )
  }
  const values = words && [...words]
  const attribute = { name, kind, nullable: false, ...(values && { values }) }
  return {
    name,
    attribute: name,
    kind,
    values,
    read: (value) => coerce(value, attribute),
    operators: [],
    defaultOperator: 'eq',
    // The value is of the kind that the function expects.
    toConditions: (value) => toConditions(value as never),
  }
}

function compileSorts(model: ListModel, names: readonly string[]): Map<string, ListColumn> {
  const laterName = names.find((name, index) => index > 0 && name.startsWith('-'))?.slice(1)
  if (laterName !== undefined) {
    model.fail(
      `has a minus before "${laterName}", which is not the first key of sort. Remove the minus: clients sort in both directions.`,
    )
  }
  const columns = names.map((name) => findSortColumn(model, name.replace('-', '')))
  return new Map(columns.map((column) => [column.name, column]))
}

/** Returns the default order: the first sort key if it has a minus, else an empty order. */
function compileOrder([first]: readonly string[], sorts: ReadonlyMap<string, ListColumn>): SortKey[] {
  const column = first?.startsWith('-') ? sorts.get(first.slice(1)) : undefined
  return column ? [{ column, isDescending: true }] : []
}

function findSortColumn(model: ListModel, name: string): ListColumn {
  const column = model.findColumn(name, 'sorts by')
  if (OPERATORS[column.kind].length > 0) return column
  return model.fail(
    `sorts by "${name}", which has the kind ${column.kind}. Remove it: engines cannot sort it.`,
  )
}

function findSearchColumn(model: ListModel, name: string): ListColumn {
  const column = model.findColumn(name, 'searches in')
  if (OPERATORS[column.kind].includes('contains')) return column
  return model.fail(
    `searches in "${name}", which has the kind ${column.kind}. Remove it: only columns of text can be searched.`,
  )
}

function compileIncludes(model: ListModel, include: NonNullable<Queryable['include']>): Map<string, Include> {
  const entries: [string, IncludeDeclaration][] = isNames(include)
    ? include.map((name) => [name, true])
    : Object.entries(include)
  return new Map(entries.map(([name, declaration]) => [name, compileInclude(model, name, declaration)]))
}

type IncludeDeclaration = IncludeOptions | readonly string[] | true | undefined

/** Whether a value is a list. The type of `Array.isArray` does not cover read-only lists. */
function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value)
}

function compileInclude(model: ListModel, name: string, declaration: IncludeDeclaration = true): Include {
  const { isOneToMany, isManyToMany, inverseEntityMetadata: related } = model.findRelation(name)
  const options = isNames(declaration) ? { attributes: declaration } : declaration === true ? {} : declaration
  const { limit = 50, attributes, ...others } = options
  const [unknownName] = Object.keys(others)
  if (unknownName !== undefined)
    model.fail(`includes "${name}" with the unknown option "${unknownName}". Known: attributes, limit.`)
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
    model.fail(`includes "${name}" with the limit ${limit}. Use a whole number from 1 to 1000.`)
  if (attributes?.length === 0)
    model.fail(`includes "${name}" without attributes. List some of them, or write ${name}: true for all.`)
  const relatedModel = new ListModel(related, model.list)
  for (const attribute of attributes ?? []) relatedModel.findMetadata(attribute, `includes "${name}" with`)
  return { name, limit: isOneToMany || isManyToMany ? limit : undefined, attributes }
}
