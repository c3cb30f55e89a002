import { getMetadataStorage, ValidateBy, validate as findErrors } from 'class-validator'
import type { ValidationArguments, ValidationError, ValidationOptions } from 'class-validator'
import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js'
import { ValidationErrors, type Violation } from '../errors.js'
import { memoizeByObject } from '../memoize.js'
import { humanize, recordName } from '../names.js'
import { attributesOf } from './attributes.js'

/**
 * Finds the text of a translation id; undefined when there is none.
 *
 * @param source `application` leaves out the texts of the framework
 */
export type Translate = (
  id: string,
  values: Record<string, unknown>,
  source?: 'application' | 'all',
) => string | undefined

/**
 * Validates a record by the class-validator decorators of its class.
 *
 * The message of a broken rule is the translation `validation.<model>.<attribute>.<rule>`, else the message that the
 * decorator was given, else the translation `validation.<rule>`, else class-validator's own. Errors of nested records
 * are those of the field `author.name`.
 *
 * @param known what is wrong with fields that could not be read; what else is wrong with them follows from that
 * @returns what is wrong, or undefined
 */
export async function validate(
  record: object,
  t?: Translate,
  known?: ValidationErrors,
): Promise<ValidationErrors | undefined> {
  const found = await findErrors(record, { forbidUnknownValues: false, stopAtFirstError: false })
  if (found.length === 0 && !known?.fields.size) return undefined
  const errors = new ValidationErrors()
  for (const [field, violations] of known?.fields ?? []) errors.fields.set(field, [...violations])
  for (const error of found) if (!known?.fields.has(error.property)) addError(errors, error, record, '', t)
  if (errors.isEmpty) return undefined
  return errors.fields.size > 1 ? inOrder(errors, record) : errors
}

/** The errors in the order in which the model declares its attributes, which is that of a form. What else there is follows. */
function inOrder(errors: ValidationErrors, record: object): ValidationErrors {
  const names = attributesOf(record.constructor).map(({ name }) => name)
  const declared = names.filter((name) => errors.fields.has(name))
  const ordered = new ValidationErrors()
  for (const name of new Set([...declared, ...errors.fields.keys()])) {
    ordered.fields.set(name, errors.fields.get(name) ?? [])
  }
  return ordered
}

/**
 * A required attribute: a text with something other than white space, or any other value that is neither null nor
 * undefined.
 */
export function Present(options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    { name: 'present', validator: { validate: isPresent, defaultMessage: notPresent } },
    options,
  )
}

/** The sentence of a broken rule of a record's field, in the reader's language where it is translated. */
export function messageOf(
  model: Function,
  attribute: string,
  rule: string,
  values: Record<string, unknown>,
  fallback: { given?: string | undefined; own: string },
  t: Translate = () => undefined,
): string {
  return (
    t(`validation.${recordName(model.name)}.${attribute}.${rule}`, values) ??
    fallback.given ??
    t(`validation.${rule}`, values) ??
    fallback.own
  )
}

/**
 * The sentence of a rule that a hook of the model has added. The application's own translations come before the message
 * that the hook gave, the framework's after it.
 */
export function addedMessage(
  model: Function,
  attribute: string,
  { rule, message, isDefault = false }: Violation,
  values: Record<string, unknown>,
  t: Translate = () => undefined,
): string {
  return (
    t(`validation.${recordName(model.name)}.${attribute}.${rule}`, values) ??
    t(`validation.${rule}`, values, 'application') ??
    (isDefault ? undefined : message) ??
    t(`validation.${rule}`, values) ??
    t('validation.invalid', values) ??
    message
  )
}

/** What an attribute is called in messages: its translation `<model>.<attribute>`, as on the form, else its own name. */
export function attributeName(model: Function, attribute: string, t: Translate = () => undefined): string {
  return t(`${recordName(model.name)}.${attribute}`, {}) ?? humanize(attribute)
}

function isPresent(value: unknown): boolean {
  return typeof value === 'string' ? value.trim() !== '' : value !== null && value !== undefined
}

function notPresent(args?: ValidationArguments): string {
  return `${humanize(args?.property ?? '')} cannot be blank.`
}

function addError(
  errors: ValidationErrors,
  error: ValidationError,
  record: object,
  prefix: string,
  t: Translate | undefined,
): void {
  const field = prefix + error.property
  const owner = error.target ?? record
  for (const [rule, own] of Object.entries(error.constraints ?? {})) {
    const metadata = ruleOf(owner.constructor, error.property, rule)
    const attribute = attributeName(owner.constructor, error.property, t)
    const values = { attribute, ...valuesOf(rule, metadata?.constraints ?? []) }
    const given = metadata?.message ? own : undefined
    errors.add(
      field,
      rule,
      messageOf(owner.constructor, error.property, rule, values, { given, own }, t),
      values,
    )
  }
  for (const child of error.children ?? []) addError(errors, child, record, `${field}.`, t)
}

/** How the decorator of a rule was called. */
function ruleOf(model: Function, property: string, rule: string): ValidationMetadata | undefined {
  const known = rulesOf(model)
  const key = `${property} ${rule}`
  const metadata = known.get(key) ?? findRule(model, property, rule)
  if (metadata) known.set(key, metadata)
  return metadata
}

/** The rules found so far: class-validator searches all models each time. */
const rulesOf = memoizeByObject((_model: Function) => new Map<string, ValidationMetadata>())

function findRule(model: Function, property: string, rule: string): ValidationMetadata | undefined {
  return getMetadataStorage()
    .getTargetValidationMetadatas(model, '', false, false)
    .find((metadata) => metadata.propertyName === property && metadata.name === rule)
}

/** What the numbers of a rule are called in its message; a rule that is not listed has `constraint1`, `constraint2`. */
const VALUE_NAMES: Record<string, readonly string[]> = {
  min: ['min'],
  max: ['max'],
  minLength: ['min'],
  maxLength: ['max'],
  isLength: ['min', 'max'],
  arrayMinSize: ['min'],
  arrayMaxSize: ['max'],
  minDate: ['min'],
  maxDate: ['max'],
  isDivisibleBy: ['divisor'],
  isIn: ['values'],
  isNotIn: ['values'],
  isEnum: ['enum', 'values'],
  equals: ['other'],
  notEquals: ['other'],
  contains: ['text'],
  notContains: ['text'],
  matches: ['pattern'],
}

function valuesOf(rule: string, constraints: unknown[]): Record<string, unknown> {
  return Object.fromEntries(
    constraints.map((value, index) => [
      VALUE_NAMES[rule]?.[index] ?? `constraint${index + 1}`,
      // The limit of a date may be a function that returns it.
      rule.endsWith('Date') && typeof value === 'function' ? value() : value,
    ]),
  )
}
