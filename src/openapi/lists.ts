import {
  attributesOf,
  columnsOf,
  CustomFilter,
  kindOf,
  RenamedFilter,
  toAttribute,
  type Attribute,
} from '../extension.js'
import type { Queryable } from '../index.js'
import { valueSchema, type Schema } from './values.js'

/** A list of names or values in one parameter: `sort=title,-votes`. */
const listed = { style: 'form', explode: false }

/** The parameters of the query of a list. The limits are those of the query's parser. */
export function listParameters(model: Function, queryable: Queryable | undefined): Schema[] {
  const { filter = {}, sort = [], search = [], include = [], params = [], pages } = queryable ?? {}
  const names = sort.map((name) => String(name).replace(/^-/, ''))
  const relations = Array.isArray(include) ? include : Object.keys(include)
  return [
    ...Object.entries(filter).flatMap(([name, given]) => (given ? filterParameters(model, name, given) : [])),
    ...(search.length > 0 ? [query('search', { type: 'string' }, 'Words that the records contain')] : []),
    ...(names.length > 0
      ? [
          enumeration(
            'sort',
            names.flatMap((name) => [name, `-${name}`]),
            5,
            'The order of the records; a minus means descending',
          ),
        ]
      : []),
    ...(relations.length > 0 ? [enumeration('include', relations, 3, 'Related records to include')] : []),
    ...params.map((name) => query(name, { type: 'string' })),
    ...(pages === 'cursor'
      ? [
          query(
            'after',
            { type: 'string' },
            'The cursor of the record before the page, from the Link header',
          ),
          query(
            'before',
            { type: 'string' },
            'The cursor of the record after the page, from the Link header',
          ),
        ]
      : [query('page', { type: 'integer', minimum: 1 }, 'The number of the page')]),
    query('per_page', { type: 'integer', minimum: 1 }, 'The number of records of a page'),
  ]
}

type Given = NonNullable<NonNullable<Queryable['filter']>[string]>

function filterParameters(model: Function, name: string, given: Given): Schema[] {
  if (given instanceof CustomFilter) {
    const { kind, words } = given
    return [query(name, valueOf({ kind, ...(words && { values: [...words] }) }))]
  }
  const [column, operators] = given instanceof RenamedFilter ? [given.column, given.operators] : [name, given]
  const attribute = attributeOf(model, column)
  const bare = ['in', 'eq'].find((operator) => (operators as readonly string[]).includes(operator))
  return operators.map((operator) => {
    const parameter = operator === bare ? name : `${name}.${operator}`
    if (operator === 'null') return query(parameter, { type: 'boolean' })
    const value = valueOf(attribute)
    if (operator !== 'in') return query(parameter, value)
    return { ...query(parameter, { type: 'array', items: value, maxItems: 100 }), ...listed }
  })
}

/** A value of a query has 200 characters at most. */
function valueOf(attribute: Partial<Attribute> & Pick<Attribute, 'kind'>): Schema {
  const { kind, values = [] } = attribute
  const schema = valueSchema({ kind, ...(values.length > 0 && { values }) }, 'body')
  return kind === 'string' || kind === 'text' ? { ...schema, maxLength: 200 } : schema
}

/** The attribute of any column, also of the id and the timestamps. */
function attributeOf(model: Function, name: string): Partial<Attribute> & Pick<Attribute, 'kind'> {
  const known = attributesOf(model).find((attribute) => attribute.name === name)
  if (known) return known
  const column = columnsOf(model).find(({ propertyName }) => propertyName === name)
  const [attribute] = column ? toAttribute(column) : []
  return attribute ?? { kind: kindOf(column?.options.type) ?? 'datetime' }
}

function enumeration(name: string, values: readonly string[], maxItems: number, description: string): Schema {
  const items = { type: 'string', enum: values }
  return { ...query(name, { type: 'array', items, maxItems, uniqueItems: true }, description), ...listed }
}

function query(name: string, schema: Schema, description?: string): Schema {
  return { name, in: 'query', ...(description !== undefined && { description }), schema }
}
