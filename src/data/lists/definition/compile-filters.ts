import { coerce } from '../../attributes/coerce.js'
import { CustomFilter, listParameters, RenamedFilter, type Operator, type Queryable } from '../declaration.js'
import type { Filter } from './definition.js'
import type { ListModel } from './list-model.js'
import { operatorsOf } from '../operators.js'

/** Checks the filters of a declaration. */
export function compileFilters(model: ListModel, filters: Queryable['filter'] = {}): Map<string, Filter> {
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

/** Whether a name belongs to a parameter of every list. */
export function isListParameter(name: string): boolean {
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
