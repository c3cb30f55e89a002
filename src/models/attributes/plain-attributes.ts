import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js'
import { UntypedAttribute } from '../../errors.js'
import { memoizeByObject } from '../../common/memoize.js'
import { attributesOf, isEntity, type Attribute, type AttributeKind } from './attributes.js'
import { transformRules } from './transform-metadata.js'
import { getMetadataStorage } from '../validation/class-validator.js'

/** The kinds of the types emitted for a decorated property. A union like `string | null` is Object. */
const KINDS_BY_TYPE = new Map<unknown, AttributeKind>([
  [String, 'string'],
  [Number, 'float'],
  [Boolean, 'bool'],
  [Date, 'datetime'],
])

/** The kinds of the values that rules of class-validator accept. */
const KINDS_BY_RULE = new Map<string | undefined, AttributeKind>([
  ...kindsOf(
    'string',
    'isString isEmail isUrl isUuid isLength minLength maxLength matches isDateString isIso8601',
  ),
  ...kindsOf('float', 'isNumber isInt min max isPositive isNegative isDivisibleBy'),
  ...kindsOf('bool', 'isBoolean'),
  ...kindsOf('datetime', 'isDate minDate maxDate'),
  ...kindsOf('json', 'isObject'),
])

/**
 * The attributes of a class that is not an entity, for example of a search: its properties with decorators of
 * class-validator, in the order of their declaration. A property with `@IsOptional()` is nullable.
 *
 * @param only the names of the properties that are needed (all)
 * @throws UntypedAttribute if neither the type of such a property nor its rules tell the kind of its values,
 *   or if objects in it could not be validated
 */
export function plainAttributesOf(model: Function, only?: readonly string[]): Attribute[] {
  return [...attributesByName(model)].flatMap(([name, attribute]) => {
    if (!attribute && (!only || only.includes(name)))
      throw new UntypedAttribute(model.name, name, nestingProblem(model, name))
    return attribute ?? []
  })
}

const attributesByName = memoizeByObject(
  (model: Function) =>
    new Map(validatedProperties(model).map((name) => [name, plainAttributeOf(model, name)])),
)

/** The attributes of a class that contain objects of other classes; of a model, its lists with `@Nested`. */
export const nestedAttributesOf = memoizeByObject((model: Function): readonly Attribute[] => {
  const all = isEntity(model) ? attributesOf(model) : attributesByName(model).values()
  return [...all].flatMap((one) => (one?.nested ? one : []))
})

/** The rules of class-validator that a property has. */
export function rulesOf(model: Function, name: string): readonly ValidationMetadata[] {
  return rulesByProperty(model).get(name) ?? []
}

/** The names of the properties that have decorators of class-validator. */
export function validatedProperties(model: Function): string[] {
  return [...rulesByProperty(model).keys()]
}

const rulesByProperty = memoizeByObject((model: Function) => {
  const properties = new Map<string, ValidationMetadata[]>()
  // All rules: neither a schema nor groups select some of them.
  for (const rule of getMetadataStorage().getTargetValidationMetadatas(model, '', false, false)) {
    properties.set(rule.propertyName, [...(properties.get(rule.propertyName) ?? []), rule])
  }
  return properties
})

/** The attribute of a property; undefined if neither its type nor its rules tell its kind. */
export function plainAttributeOf(model: Function, name: string): Attribute | undefined {
  const rules = rulesOf(model, name)
  const isList = isListProperty(model, name)
  const nullable = rules.some((rule) => rule.name === 'isOptional')
  const details = { name, nullable, ...(isList && { isList }) }
  if (isNested(model, name)) {
    const nested = nestingProblem(model, name) === undefined ? objectClassOf(model, name) : undefined
    return nested && { ...details, kind: 'json', nested }
  }
  // Rules with `each` are about the items of a list.
  const kinds = rules.filter(({ each }) => each === isList).map((rule) => KINDS_BY_RULE.get(rule.name))
  const kind = KINDS_BY_TYPE.get(typeOf(model, name)) ?? kinds.find(Boolean)
  return kind && { ...details, kind }
}

/** Whether a property contains a list. */
export function isListProperty(model: Function, name: string): boolean {
  // `isArray`, or a rule such as `arrayMinSize`.
  const isOfList = rulesOf(model, name).some(
    ({ each, name: rule }) => each || /^(isA|a)rray/.test(rule ?? ''),
  )
  return isOfList || typeOf(model, name) === Array
}

/** Whether a property is declared to contain objects of a class: by `@ValidateNested`, or by `@Type`. */
function isNested(model: Function, name: string): boolean {
  const { type, isChanged } = transformRules(model, name, 'toClass')
  if (isChanged) return false
  return hasNestedRule(model, name) || isObjectClass(type())
}

function hasNestedRule(model: Function, name: string): boolean {
  return rulesOf(model, name).some(({ type }) => type === 'nestedValidation')
}

/** The class of the objects in a property: that of `@Type`, else the type of the property. */
function objectClassOf(model: Function, name: string): Function | undefined {
  const type = transformRules(model, name, 'toClass').type() ?? typeOf(model, name)
  return isObjectClass(type) ? type : undefined
}

/** The classes whose objects are values, and of which a class has no attributes. */
const VALUES: readonly unknown[] = [...KINDS_BY_TYPE.keys(), Array, Object, Map, Set, Buffer, Promise]

function isObjectClass(type: unknown): type is Function {
  return typeof type === 'function' && !VALUES.includes(type)
}

/** Returns why the objects in a property cannot be read and validated, and what to do; else undefined. */
function nestingProblem(model: Function, name: string): string | undefined {
  if (!isNested(model, name)) return undefined
  const type = objectClassOf(model, name)
  const isList = isListProperty(model, name)
  if (!type) return 'Add @Type(() => Line) of class-transformer, with the class of its objects.'
  if (!hasNestedRule(model, name))
    return `Its objects of the class ${type.name} would not be validated. Add @ValidateNested(${isList ? '{ each: true }' : ''}).`
  if (isEntity(type))
    return `A request could set every column of the model ${type.name}. Declare a class with the properties that it may set.`
  if (validatedProperties(type).length > 0) return undefined
  return `Add decorators of class-validator to the properties of ${type.name}, for example @Present() or @Allow().`
}

/** The type of a property: the one that TypeScript has emitted, else that of its initial value. */
function typeOf(model: Function, name: string): unknown {
  const prototype: object = model.prototype
  const emittedType: unknown = Reflect.getMetadata('design:type', prototype, name)
  if (emittedType !== undefined && emittedType !== Object) return emittedType
  const value: unknown = Object.getOwnPropertyDescriptor(instanceOf(model), name)?.value
  return value === null || value === undefined ? undefined : value.constructor
}

/** A new instance of a class, for its initial values; an empty object if it needs arguments. */
export const instanceOf = memoizeByObject((model: Function): object => {
  try {
    return Reflect.construct(model, [])
  } catch {
    return {}
  }
})

function kindsOf(kind: AttributeKind, rules: string): [rule: string, kind: AttributeKind][] {
  return rules.split(' ').map((rule) => [rule, kind])
}
