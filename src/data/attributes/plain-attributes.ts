import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js'
import { UntypedAttribute } from '../../errors.js'
import { memoizeByObject } from '../../common/memoize.js'
import type { Attribute, AttributeKind } from './attributes.js'
import { getMetadataStorage } from '../validation/class-validator.js'

/** The kinds of the types that TypeScript emits for a decorated property. For a union like `string | null` it emits Object. */
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
 * The attributes of a class that is not an entity, for example of a search: its properties with decorators of class-validator,
 * in the order of their declaration. A property with `@IsOptional()` is nullable.
 *
 * @param only the names of the properties that are needed (all)
 * @throws UntypedAttribute if neither the type of such a property nor its rules tell the kind of its values
 */
export function plainAttributesOf(model: Function, only?: readonly string[]): Attribute[] {
  return [...attributesByName(model)].flatMap(([name, attribute]) => {
    if (!attribute && (!only || only.includes(name))) throw new UntypedAttribute(model.name, name)
    return attribute ?? []
  })
}

const attributesByName = memoizeByObject(
  (model: Function) =>
    new Map(validatedProperties(model).map((name) => [name, plainAttributeOf(model, name)])),
)

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

/** The attribute of a property with or without rules; undefined if neither its type nor its rules tell the kind of its values. */
export function plainAttributeOf(model: Function, name: string): Attribute | undefined {
  const rules = rulesOf(model, name)
  const type = typeOf(model, name)
  // `isArray`, or a rule such as `arrayMinSize`.
  const isList =
    type === Array || rules.some(({ each, name: rule }) => each || /^(isA|a)rray/.test(rule ?? ''))
  // Rules with `each` are about the items of a list.
  const kinds = rules.filter(({ each }) => each === isList).map((rule) => KINDS_BY_RULE.get(rule.name))
  const kind = KINDS_BY_TYPE.get(type) ?? kinds.find(Boolean)
  if (!kind) return undefined
  const nullable = rules.some((rule) => rule.name === 'isOptional')
  return { name, kind, nullable, ...(isList && { isList }) }
}

/** The type of a property: the one that TypeScript has emitted, else that of its initial value. */
function typeOf(model: Function, name: string): unknown {
  const prototype: object = model.prototype
  const emittedType: unknown = Reflect.getMetadata('design:type', prototype, name)
  if (emittedType !== undefined && emittedType !== Object) return emittedType
  const value: unknown = Object.getOwnPropertyDescriptor(instanceOf(model), name)?.value
  return value === null || value === undefined ? undefined : value.constructor
}

/** A new instance of a class, for its initial values; an empty object if the class cannot be created without arguments. */
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
