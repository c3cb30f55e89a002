import type { AttributeKind } from '../attributes/attributes.js'
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
