import { coerce, unreadable } from '../../attributes/coerce.js'
import type { Attribute } from '../../attributes/attributes.js'
import { bounds, isTooLong } from './bounds.js'
import type { Operator } from '../declaration.js'
import type { ColumnFilter, OwnFilter } from '../definition/definition.js'
import type { QueryErrors } from './query-errors.js'

/** A filter with the values of a request. */
export interface Condition {
  filter: ColumnFilter | OwnFilter
  operator: Operator
  values: readonly unknown[]
}

/** The parameter of a filter: `state`, or with its operator `title.prefix`. */
export function parameterOf(filter: ColumnFilter | OwnFilter, operator: Operator): string {
  const isBare = !('column' in filter) || filter.bare === operator
  return isBare ? filter.name : `${filter.name}.${operator}`
}

/** The operator that a parameter names, or the one without a name; undefined if the filter does not have it. */
export function operatorOf(
  filter: ColumnFilter | OwnFilter,
  given: string | undefined,
): Operator | undefined {
  if (!('column' in filter)) return given === undefined ? 'eq' : undefined
  return given === undefined ? filter.bare : filter.operators.find((operator) => operator === given)
}

/** The values of a parameter that aren't empty: the items of a list, else the last value. */
export function givenValues(operator: Operator, sent: readonly string[]): string[] {
  const values = operator === 'in' ? sent.flatMap((value) => value.split(',')) : sent.slice(-1)
  return values.filter((value) => value !== '')
}

/**
 * Converts the values of a filter to its kind.
 *
 * @returns undefined if there are errors
 */
export function readCondition(
  filter: ColumnFilter | OwnFilter,
  operator: Operator,
  given: readonly string[],
  parameter: string,
  errors: QueryErrors,
): Condition | undefined {
  if (given.length > bounds.values) {
    const name = attributeOf(filter)
    errors.add(parameter, name, 'arrayMaxSize', `${name} has too many values.`, { max: bounds.values })
    return undefined
  }
  const values = given.map((text) => readValue(filter, operator, text, parameter, errors))
  return values.includes(unreadable) ? undefined : { filter, operator, values: [...new Set(values)] }
}

function readValue(
  filter: ColumnFilter | OwnFilter,
  operator: Operator,
  text: string,
  parameter: string,
  errors: QueryErrors,
): unknown {
  const name = attributeOf(filter)
  if (isTooLong(text)) {
    errors.add(parameter, name, 'maxLength', `${name} is too long.`, { max: bounds.characters })
    return unreadable
  }
  const { kind, values, read } = 'column' in filter ? filter.column : filter
  const value = operator === 'null' ? coerce(text, flag) : read(text)
  if (value !== unreadable && value !== null) return value
  const expected = operator === 'null' ? 'bool' : kind
  errors.add(parameter, name, `type.${expected}`, `${name} is not a ${expected}.`, { values })
  return unreadable
}

/** The value of the operator `null`. */
const flag: Attribute = { name: 'null', kind: 'bool', nullable: false }

/** Adds the error of an operator that a filter does not have. */
export function rejectOperator(
  filter: ColumnFilter | OwnFilter,
  parameter: string,
  given: string | undefined,
  errors: QueryErrors,
): void {
  const operators = 'operators' in filter ? filter.operators.join(', ') : ''
  const rule = operators ? 'query.operator' : 'query.no_operator'
  errors.add(parameter, filter.name, rule, `${filter.name} cannot be filtered in this way.`, {
    operator: (given ?? '').slice(0, 100),
    operators,
  })
}

/** The name of the attribute in messages. */
function attributeOf(filter: ColumnFilter | OwnFilter): string {
  return 'column' in filter ? filter.column.name : filter.name
}
