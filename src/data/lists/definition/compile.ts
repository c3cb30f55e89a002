import type { EntityMetadata } from 'typeorm'
import { memoizeByObject } from '../../../common/memoize.js'
import type { AttributeKind } from '../../attributes/attributes.js'
import { coerce } from '../../attributes/coerce.js'
import { CustomFilter, listParameters, RenamedFilter } from '../declaration.js'
import type { IncludeOptions, Operator, Queryable } from '../declaration.js'
import type { Filter, Include, ListColumn, ListDefinition, SortKey } from './definition.js'
import { didYouMean, listColumn, ListModel, rejectWithoutCursor } from './list-model.js'

/**
 * Returns the checked definition of a list.
 *
 * @param list the list in messages: `@Queryable of PostsResource.list`
 * @throws DeclarationError when the declaration does not fit the model
 */
export function definitionOf(metadata: EntityMetadata, queryable: Queryable, list: string): ListDefinition {
  const known = definitionsOf(metadata)
  let definition = known.get(queryable)
  if (!definition) known.set(queryable, (definition = compile(new ListModel(metadata, list), queryable)))
  return definition
}

const definitionsOf = memoizeByObject((_metadata: EntityMetadata) => new WeakMap<Queryable, ListDefinition>())

const texts: readonly Operator[] = ['eq', 'not', 'in', 'prefix', 'contains', 'null']
const ordered: readonly Operator[] = ['eq', 'not', 'in', 'lt', 'lte', 'gt', 'gte', 'null']
const words: readonly Operator[] = ['eq', 'not', 'in', 'null']

const operatorsOf: Record<AttributeKind, readonly Operator[]> = {
  string: texts,
  text: texts,
  int: ordered,
  bigint: ordered,
  float: ordered,
  decimal: ordered,
  date: ordered,
  time: ordered,
  datetime: ordered,
  bool: ['eq', 'null'],
  enum: words,
  uuid: words,
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
  const sorts = compileSorts(model, sort)
  const hasCursors = pages === 'cursor'
  const definition = {
    metadata,
    filters,
    params,
    sorts,
    order: defaultOrder(sort, sorts),
    search: search.map((name) => searchColumn(model, name)),
    includes: compileIncludes(model, include),
    hasCursors,
    id: listColumn(metadata.primaryColumns[0] ?? model.fail('has a model without a primary key.')),
  }
  if (hasCursors) for (const column of sorts.values()) rejectWithoutCursor(column, model.list)
  return definition
}

const options: readonly string[] = ['filter', 'sort', 'search', 'include', 'params', 'pages']

function rejectUnknownOptions(model: ListModel, queryable: Queryable): void {
  const unknown = Object.keys(queryable).find((name) => !options.includes(name))
  if (unknown !== undefined) {
    const advice = didYouMean(unknown, options) || ` Known: ${options.join(', ')}.`
    model.fail(`has the unknown option "${unknown}".${advice}`)
  }
  const { pages } = queryable
  if (pages !== undefined && pages !== 'numbers' && pages !== 'cursor')
    model.fail(`has pages: "${String(pages)}". Use "numbers" or "cursor".`)
}

function compileFilters(model: ListModel, filters: Queryable['filter'] = {}): Map<string, Filter> {
  const given = Object.entries(filters).filter(([, filter]) => filter !== undefined)
  for (const [name] of given) rejectName(model, name)
  return new Map(given.map(([name, filter]) => [name, compileFilter(model, name, filter)]))
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

function compileFilter(model: ListModel, name: string, given: unknown): Filter {
  if (given instanceof CustomFilter) return ownFilter(model, name, given)
  if (given instanceof RenamedFilter) return columnFilter(model, name, given.column, given.operators)
  return columnFilter(model, name, name, given)
}

function columnFilter(model: ListModel, name: string, columnName: string, given: unknown): Filter {
  const column = model.column(columnName, 'filters by')
  const allowed = operatorsOf[column.kind]
  const advice =
    allowed.length > 0 ? `Use some of ${allowed.join(', ')}.` : 'Remove it, or declare it by filter().'
  if (!Array.isArray(given) || given.length === 0)
    return model.fail(`does not list operators of the filter "${name}". ${advice}`)
  const operators = given as readonly Operator[]
  const wrong = operators.find((operator) => !allowed.includes(operator))
  if (wrong !== undefined)
    model.fail(
      `has the operator "${String(wrong)}" of "${name}", which has the kind ${column.kind}. ${advice}`,
    )
  const bare = (['in', 'eq'] as const).find((operator) => operators.includes(operator))
  const { kind, values, read } = column
  return { name, attribute: column.name, kind, values, read, operators, bare, column }
}

function ownFilter(model: ListModel, name: string, { kind, words, toConditions }: CustomFilter): Filter {
  if (operatorsOf[kind] === undefined || kind === 'json' || (kind === 'enum' && !words?.length)) {
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
    bare: 'eq',
    // The value is of the kind that the function expects.
    toConditions: (value) => toConditions(value as never),
  }
}

function compileSorts(model: ListModel, names: readonly string[]): Map<string, ListColumn> {
  const later = names.find((name, index) => index > 0 && name.startsWith('-'))?.slice(1)
  if (later !== undefined) {
    model.fail(
      `has a minus before "${later}", which is not the first key of sort. Remove the minus: clients sort in both directions.`,
    )
  }
  return new Map(names.map((name) => name.replace('-', '')).map((name) => [name, sortColumn(model, name)]))
}

/** The order of a list whose first sort key has a minus. */
function defaultOrder([first]: readonly string[], sorts: ReadonlyMap<string, ListColumn>): SortKey[] {
  const column = first?.startsWith('-') ? sorts.get(first.slice(1)) : undefined
  return column ? [{ column, isDescending: true }] : []
}

function sortColumn(model: ListModel, name: string): ListColumn {
  const column = model.column(name, 'sorts by')
  if (operatorsOf[column.kind].length > 0) return column
  return model.fail(
    `sorts by "${name}", which has the kind ${column.kind}. Remove it: engines cannot sort it.`,
  )
}

function searchColumn(model: ListModel, name: string): ListColumn {
  const column = model.column(name, 'searches in')
  if (operatorsOf[column.kind].includes('contains')) return column
  return model.fail(
    `searches in "${name}", which has the kind ${column.kind}. Remove it: only columns of text can be searched.`,
  )
}

function compileIncludes(model: ListModel, include: NonNullable<Queryable['include']>): Map<string, Include> {
  const entries: [string, GivenInclude][] = isNames(include)
    ? include.map((name) => [name, true])
    : Object.entries(include)
  return new Map(entries.map(([name, given]) => [name, compileInclude(model, name, given)]))
}

type GivenInclude = IncludeOptions | readonly string[] | true | undefined

/** The type of `Array.isArray` does not cover read-only lists. */
function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value)
}

function compileInclude(model: ListModel, name: string, given: GivenInclude = true): Include {
  const { isOneToMany, isManyToMany, inverseEntityMetadata: related } = model.relation(name)
  const options = isNames(given) ? { attributes: given } : given === true ? {} : given
  const { limit = 50, attributes, ...others } = options
  const [unknown] = Object.keys(others)
  if (unknown !== undefined)
    model.fail(`includes "${name}" with the unknown option "${unknown}". Known: attributes, limit.`)
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
    model.fail(`includes "${name}" with the limit ${limit}. Use a whole number from 1 to 1000.`)
  if (attributes?.length === 0)
    model.fail(`includes "${name}" without attributes. List some of them, or write ${name}: true for all.`)
  const shown = new ListModel(related, model.list)
  for (const attribute of attributes ?? []) shown.attribute(attribute, `includes "${name}" with`)
  return { name, limit: isOneToMany || isManyToMany ? limit : undefined, attributes }
}
