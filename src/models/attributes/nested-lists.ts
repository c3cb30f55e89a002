import { getMetadataArgsStorage } from 'typeorm'
import { DeclarationError } from '../../errors.js'

/** A list of records that are a part of a record: the lines of an order. */
export interface NestedList {
  /** The property with the list: `lines`. */
  readonly name: string
  /** The model of the lines. */
  readonly line: Function
  readonly fields: readonly string[]
  readonly min: number
  readonly max: number
  readonly extra: number
}

const declared = new Map<Function, readonly NestedList[]>()

/** Declares a list of a model. */
export function declareNested(
  model: Function,
  { name, fields, min, max, extra }: Omit<NestedList, 'line'>,
): void {
  const list: NestedList = {
    name,
    fields,
    min,
    max,
    extra,
    // The module of the lines may not be loaded yet.
    get line() {
      return lineOf(model, name)
    },
  }
  declared.set(model, [...(declared.get(model) ?? []), list])
}

/** The lists that a class itself declares. */
export function ownNestedLists(model: Function): readonly NestedList[] {
  return declared.get(model) ?? []
}

/** @throws DeclarationError for a model with a policy whose records are lines of others */
export function rejectLinePolicy(line: Function): void {
  for (const [model, lists] of declared) {
    const list = lists.find((one) => one.line === line)
    if (!list) continue
    throw new DeclarationError(
      `${line.name} has a policy, but its records are lines of ${model.name}.${list.name}, and the policy of ${model.name} ` +
        `decides about them. Remove the policy of ${line.name}.`,
    )
  }
}

/** Whether any model has a list. */
export function hasNestedLists(): boolean {
  return declared.size > 0
}

/** The model to which a relation leads; Object if there is none. */
function lineOf(model: Function, name: string): Function {
  const { relations } = getMetadataArgsStorage()
  const type: unknown = relations.find((it) => it.target === model && it.propertyName === name)?.type
  // The type is a class, or an arrow function that returns a class.
  const line: unknown = typeof type === 'function' && type.prototype === undefined ? type() : type
  return typeof line === 'function' ? line : Object
}
