import type { AttributeKind } from '../attributes/attributes.js'
import type { Engine } from '../engines/engine.js'
import type { Operator } from './declaration.js'

const texts: readonly Operator[] = ['eq', 'not', 'in', 'prefix', 'contains', 'null']
const ordered: readonly Operator[] = ['eq', 'not', 'in', 'lt', 'lte', 'gt', 'gte', 'null']
const words: readonly Operator[] = ['eq', 'not', 'in', 'null']

/** The operators of each kind of columns. */
export const operatorsOf: Record<AttributeKind, readonly Operator[]> = {
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

/** A condition in SQL. `places` are the placeholders of its parameters. */
export interface Comparison {
  /** The parameters for the values of the condition. Their number depends on the number of values only. */
  parameters(values: readonly unknown[]): unknown[]
  sql(column: string, places: readonly string[]): string
}

/** Compares by a binary operator of SQL. */
function binary(sign: string): Comparison {
  return { parameters: (values) => [...values], sql: (column, [place]) => `${column} ${sign} ${place}` }
}

const comparisons: Record<Exclude<Operator, 'prefix' | 'contains' | 'null'>, Comparison> = {
  eq: binary('='),
  lt: binary('<'),
  lte: binary('<='),
  gt: binary('>'),
  gte: binary('>='),
  not: {
    parameters: (values) => [...values],
    sql: (column, [place]) => `(${column} <> ${place} OR ${column} IS NULL)`,
  },
  in: {
    parameters: (values) => [...values],
    sql: (column, places) => `${column} IN (${places.join(', ')})`,
  },
}

/** The comparison of an operator with values. Whether a column is null is part of the SQL, so it has no parameter. */
export function comparisonOf(engine: Engine, operator: Operator, [value]: readonly unknown[]): Comparison {
  switch (operator) {
    case 'prefix':
      return textComparison(engine.prefix)
    case 'contains':
      return textComparison(engine.contains)
    case 'null':
      return {
        parameters: () => [],
        sql: (column) => `${column} IS ${value === true ? '' : 'NOT '}NULL`,
      }
    default:
      return comparisons[operator]
  }
}

/** A comparison of an engine with a single text. */
function textComparison({ parameters, sql }: Engine['prefix']): Comparison {
  return { parameters: ([text]) => parameters(String(text)), sql }
}
