import { columnsOf, CustomFilter, RenamedFilter } from '../extension.js'
import type { Queryable } from '../index.js'
import { columnAttribute, valueSchema, type Schema, type Values } from './values.js'

/** How a parameter contains a list of names or values: `sort=title,-votes`. */
const commaSeparated = { style: 'form', explode: false }

/** The query parameters of a list. Their limits are those of `records/lists/`, which parses them. */
export function listParameters(model: Function, queryable: Queryable | undefined): Schema[] {
  const { filter = {}, sort = [], search = [], include = [], params = [], pages } = queryable ?? {}
  const columns = sort.map((name) => String(name).replace(/^-/, ''))
  const orders = columns.flatMap((name) => [name, `-${name}`])
  const relations = Array.isArray(include) ? include : Object.keys(include)
  const text = { type: 'string' }
  const number = { type: 'integer', minimum: 1 }
  const paging =
    pages === 'cursor'
      ? [
          query('after', text, 'The cursor of the record before the page, from the Link header'),
          query('before', text, 'The cursor of the record after the page, from the Link header'),
        ]
      : [query('page', number, 'The number of the page')]
  return [
    ...Object.entries(filter).flatMap(([name, given]) => (given ? filterParameters(model, name, given) : [])),
    ...(search.length > 0 ? [query('search', text, 'Words that the records contain')] : []),
    ...enumeration('sort', orders, 5, 'The order of the records; a minus means descending'),
    ...enumeration('include', relations, 3, 'Related records to include'),
    ...params.map((name) => query(name, text)),
    ...paging,
    query('per_page', number, 'The number of records of a page'),
  ]
}

type Given = NonNullable<NonNullable<Queryable['filter']>[string]>

function filterParameters(model: Function, name: string, given: Given): Schema[] {
  if (given instanceof CustomFilter) {
    const { kind, words } = given
    return [query(name, valueOf({ kind, ...(words && { values: [...words] }) }))]
  }
  const [column, operators] = given instanceof RenamedFilter ? [given.column, given.operators] : [name, given]
  const found = columnsOf(model).find(({ propertyName }) => propertyName === column)
  const value = valueOf(found ? columnAttribute(found) : { kind: 'json' })
  const bare = ['in', 'eq'].find((operator) => (operators as readonly string[]).includes(operator))
  return operators.map((operator) => {
    const parameter = operator === bare ? name : `${name}.${operator}`
    if (operator === 'null') return query(parameter, { type: 'boolean' })
    if (operator !== 'in') return query(parameter, value)
    return { ...query(parameter, { type: 'array', items: value, maxItems: 100 }), ...commaSeparated }
  })
}

/** A value of a query has 200 characters at most. */
function valueOf({ kind, values = [] }: Values): Schema {
  const schema = valueSchema({ kind, ...(values.length > 0 && { values }) }, 'body')
  return kind === 'string' || kind === 'text' ? { ...schema, maxLength: 200 } : schema
}

function enumeration(name: string, values: readonly string[], maxItems: number, about: string): Schema[] {
  const schema = { type: 'array', items: { type: 'string', enum: values }, maxItems, uniqueItems: true }
  return values.length > 0 ? [{ ...query(name, schema, about), ...commaSeparated }] : []
}

function query(name: string, schema: Schema, description?: string): Schema {
  return { name, in: 'query', ...(description !== undefined && { description }), schema }
}
