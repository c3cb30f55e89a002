import { rulesOf } from '../extension.js'
import type { Schema } from './values.js'

/** Converts the arguments of a rule: `@Length(2, 10)` has 2 and 10. */
type Rule = (...constraints: unknown[]) => Schema

const ofValues: Record<string, Rule> = {
  isIn: (values) => ({ enum: values }),
  isEnum: (_, values) => ({ enum: values }),
  equals: (value) => ({ const: value }),
}

const ofNumbers: Record<string, Rule> = {
  ...ofValues,
  isInt: () => ({ type: 'integer' }),
  min: (min) => ({ minimum: min }),
  max: (max) => ({ maximum: max }),
  isPositive: () => ({ exclusiveMinimum: 0 }),
  isNegative: () => ({ exclusiveMaximum: 0 }),
  isDivisibleBy: (divisor) => ({ multipleOf: divisor }),
}

/** The rules of class-validator that JSON Schema expresses exactly, by the type of the values. */
const RULES: Record<string, Record<string, Rule>> = {
  string: {
    ...ofValues,
    present: () => ({ pattern: '\\S' }),
    isNotEmpty: () => ({ minLength: 1 }),
    minLength: (min) => ({ minLength: min }),
    maxLength: (max) => ({ maxLength: max }),
    isLength: (min, max) => ({ minLength: min, ...(max !== undefined && { maxLength: max }) }),
    matches: (pattern) => patternOf(pattern),
    isEmail: () => ({ format: 'email' }),
    isUuid: () => ({ format: 'uuid' }),
  },
  // Without a type, the values are any JSON.
  undefined: { isObject: () => ({ type: 'object', additionalProperties: true }) },
  number: ofNumbers,
  integer: ofNumbers,
  array: {
    arrayMinSize: (min) => ({ minItems: min }),
    arrayMaxSize: (max) => ({ maxItems: max }),
    arrayNotEmpty: () => ({ minItems: 1 }),
    arrayUnique: () => ({ uniqueItems: true }),
  },
}

/** Rules that null does not break, or not always. */
const acceptNull = 'isEmpty notEquals isNotIn whitelistValidation customValidation nestedValidation'.split(
  ' ',
)

/** Adds the rules of a property to the schema of its values. One with `each` belongs to the items. */
export function withRules(model: Function, name: string, schema: Schema): Schema {
  const rules = rulesOf(model, name)
  // A condition may switch off the other rules.
  if (rules.some((rule) => rule.type === 'conditionalValidation' && rule.name !== 'isOptional')) return schema
  let result = schema
  for (const { name: rule = '', constraints = [], each } of rules) {
    const items = each ? (result['items'] as Schema | undefined) : undefined
    const changed = withRule(items ?? result, rule, constraints)
    result = items ? { ...result, items: changed } : changed
  }
  return result
}

/** Whether a property of a body may not be null, although its column may. */
export function rejectsNull(model: Function, name: string): boolean {
  const rules = rulesOf(model, name)
  if (rules.some(({ type }) => type === 'conditionalValidation')) return false
  return rules.some(({ name: rule = 'customValidation' }) => !acceptNull.includes(rule))
}

/** Whether a property is optional in a body that creates a record. */
export function isOptional(model: Function, name: string): boolean {
  return rulesOf(model, name).some((rule) => rule.name === 'isOptional')
}

/** Adds a rule. Of two limits the stricter one counts, and a second pattern is added as another condition. */
function withRule(schema: Schema, name: string, constraints: unknown[]): Schema {
  const rule = RULES[String(schema['type'])]?.[name]?.(...constraints) ?? {}
  const result: Schema = { ...schema }
  for (const [key, value] of Object.entries(rule)) {
    const known = result[key]
    if (known === undefined || key === 'type' || key === 'enum') result[key] = value
    else if (key === 'pattern' && known !== value)
      result['allOf'] = [...((result['allOf'] as Schema[] | undefined) ?? []), { pattern: value }]
    else if (typeof known === 'number' && typeof value === 'number')
      result[key] = key.startsWith('max') ? Math.min(known, value) : Math.max(known, value)
  }
  if (rule['type'] === 'integer' && result['format'] === 'double') delete result['format']
  return result
}

/** The schema of a pattern; empty if it has flags, or is invalid with the flag `u` of validators. */
function patternOf(pattern: unknown): Schema {
  if (!(pattern instanceof RegExp) || pattern.flags !== '') return {}
  try {
    return { pattern: new RegExp(pattern.source, 'u').source }
  } catch {
    return {}
  }
}
