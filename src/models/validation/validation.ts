import type { ValidationArguments, ValidationError, ValidationOptions } from 'class-validator'
import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js'
import { ValidationErrors } from '../../errors.js'
import { memoizeByObject } from '../../common/memoize.js'
import { collectionName, humanize, itemName, recordName, wordsOf } from '../../naming/words.js'
import { attributesOf, nestedListsOf } from '../attributes/attributes.js'
import type { NestedList } from '../attributes/nested-lists.js'
import { placeOf } from '../record-state.js'
import { isMetExactly } from './exact-rules.js'
import { brokenRules, getMetadataStorage, ValidateBy } from './class-validator.js'
import { validatedProperties } from '../attributes/plain-attributes.js'

/**
 * Returns the translation of an id; undefined if there is none.
 *
 * @param source `application` leaves out the framework's translations
 */
export type Translate = (
  id: string,
  values: Record<string, unknown>,
  source?: 'application' | 'all',
) => string | undefined

/**
 * Validates a record by the class-validator decorators of its class.
 *
 * The errors of nested records belong to fields such as `author.name`.
 *
 * @param unread the errors of fields whose values could not be converted; other errors of these fields are
 *   left out
 * @returns the errors, or undefined
 */
export async function validate(
  record: object,
  t?: Translate,
  unread?: ValidationErrors,
): Promise<ValidationErrors | undefined> {
  const lists = nestedListsOf(record.constructor)
  const objects = [{ object: record, prefix: '' }, ...lists.flatMap((list) => linesOf(record, list, unread))]
  const broken: Broken[] = []
  for (const { object, prefix } of objects) {
    const results = await brokenRules(object, { forbidUnknownValues: false, stopAtFirstError: false })
    for (const error of results) broken.push({ error, object, prefix })
  }
  if (broken.length === 0 && !unread?.fields.size && lists.length === 0) return undefined
  const errors = new ValidationErrors()
  for (const [field, violations] of unread?.fields ?? []) errors.fields.set(field, [...violations])
  for (const list of lists) checkNumber(errors, record, list, t)
  for (const { error, object, prefix } of broken) addError(errors, error, object, prefix, t, unread)
  if (errors.isEmpty) return undefined
  return errors.fields.size > 1 ? sortErrors(errors, record) : errors
}

/** A broken rule of a record or of one of its lines, whose fields begin with a prefix. */
interface Broken {
  error: ValidationError
  object: object
  prefix: string
}

/** The lines of a record that can be validated, with the beginning of their fields' names: `lines.0.`. */
function linesOf(record: object, { name }: NestedList, unread: ValidationErrors | undefined) {
  const lines: unknown = Reflect.get(record, name)
  if (!Array.isArray(lines) || unread?.fields.has(name)) return []
  return lines.flatMap((object: object, index) => {
    const field = `${name}.${placeOf(object, index)}`
    return unread?.fields.has(field) ? [] : [{ object, prefix: `${field}.` }]
  })
}

/** Sorts the errors as the model declares its attributes, which is the order of the form. Others follow. */
function sortErrors(errors: ValidationErrors, record: object): ValidationErrors {
  const names = [
    ...attributesOf(record.constructor).map(({ name }) => name),
    ...validatedProperties(record.constructor),
  ]
  const fields = [...errors.fields.keys()]
  // A field such as `lines.1.quantity` belongs to the `lines` attribute.
  const declared = names.flatMap((name) => fields.filter((field) => field.split('.', 1)[0] === name))
  const sorted = new ValidationErrors()
  for (const name of new Set([...declared, ...fields])) sorted.fields.set(name, errors.fields.get(name) ?? [])
  return sorted
}

/** Checks the number of lines. A record without the property keeps its lines. */
function checkNumber(
  errors: ValidationErrors,
  record: object,
  list: NestedList,
  t: Translate | undefined,
): void {
  const { name, min, max } = list
  const isNew = Reflect.get(record, 'created_at') === undefined
  const lines: unknown = Reflect.get(record, name) ?? (isNew ? [] : undefined)
  if (!Array.isArray(lines) || errors.fields.has(name) || (lines.length >= min && lines.length <= max)) return
  const { rule, own, values } = wrongNumber(list, lines.length)
  errors.add(name, rule, messageOf(record.constructor, name, rule, values, { own }, t), values)
}

/** The error of a list with too few lines, or too many. */
export function wrongNumber({ name, min, max }: NestedList, count: number) {
  const { one, many } = wordsOf(itemName(name), collectionName(itemName(name)))
  const values = { attribute: humanize(name), one, many, count: count < min ? min : max }
  if (count > max) return { rule: 'nested_max', own: `Add at most ${max} ${many}.`, values }
  return { rule: 'nested_min', own: `Add at least ${min === 1 ? `one ${one}` : `${min} ${many}`}.`, values }
}

/** Requires a value: text that is not blank, or any other value except null and undefined. */
export function Present(options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    { name: 'present', validator: { validate: isPresent, defaultMessage: describeBlank } },
    options,
  )
}

/** The messages of an error besides its translations. */
export interface ErrorTexts {
  /** The `message` option of a decorator, which only the translation of its model replaces. */
  given?: string | undefined
  /** The message of a hook or a handler, which the framework's translation does not replace. */
  added?: string | undefined
  /** The message if there is neither a translation nor one of the other messages. */
  own: string
}

/**
 * The message of a broken rule: the first text that exists of the translation
 * `validation.<model>.<attribute>.<rule>`, the `given` text, the application's translation
 * `validation.<rule>`, the `added` text, the framework's `validation.<rule>`, and the `own` text. Only this
 * function decides the order.
 */
export function messageOf(
  model: Function | undefined,
  attribute: string,
  rule: string,
  values: Record<string, unknown>,
  { given, added, own }: ErrorTexts,
  t: Translate = () => undefined,
): string {
  return (
    (model && t(`validation.${recordName(model.name)}.${attribute}.${rule}`, values)) ??
    given ??
    t(`validation.${rule}`, values, added === undefined ? 'all' : 'application') ??
    added ??
    own
  )
}

/** The name of an attribute in messages: its translation `<model>.<attribute>`, else its own name. */
export function attributeName(model: Function, attribute: string, t: Translate = () => undefined): string {
  return t(`${recordName(model.name)}.${attribute}`, {}) ?? humanize(attribute)
}

function isPresent(value: unknown): boolean {
  return typeof value === 'string' ? value.trim() !== '' : value !== null && value !== undefined
}

function describeBlank(args?: ValidationArguments): string {
  return `${humanize(args?.property ?? '')} cannot be blank.`
}

function addError(
  errors: ValidationErrors,
  error: ValidationError,
  record: object,
  prefix: string,
  t: Translate | undefined,
  unread: ValidationErrors | undefined,
): void {
  const field = prefix + error.property
  if (unread?.fields.has(field)) return
  const owner = error.target ?? record
  for (const [rule, own] of Object.entries(error.constraints ?? {})) {
    const metadata = ruleOf(owner.constructor, error.property, rule)
    if (isMetExactly(owner.constructor, error.property, error.value, metadata)) continue
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
  for (const child of error.children ?? []) addError(errors, child, record, `${field}.`, t, unread)
}

/** The rule of a property, with the arguments and options of its decorator. */
function ruleOf(model: Function, property: string, rule: string): ValidationMetadata | undefined {
  const rules = ruleCache(model)
  const key = `${property} ${rule}`
  const metadata = rules.get(key) ?? findRule(model, property, rule)
  if (metadata) rules.set(key, metadata)
  return metadata
}

/** A cache of rules, because class-validator searches all models each time. */
const ruleCache = memoizeByObject((_model: Function) => new Map<string, ValidationMetadata>())

function findRule(model: Function, property: string, rule: string): ValidationMetadata | undefined {
  return getMetadataStorage()
    .getTargetValidationMetadatas(model, '', false, false)
    .find((metadata) => metadata.propertyName === property && metadata.name === rule)
}

/** The names of a rule's arguments in its message. Other rules have `constraint1`, `constraint2`. */
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
