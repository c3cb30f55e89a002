import type { EntityManager } from 'typeorm'
import { InstanceChecker } from 'typeorm/util/InstanceChecker.js'
import { Model } from '../models/model.js'
import { noRecords } from '../records/scope.js'
import type { Conditions } from '../records/work.js'
import { PolicyWithoutScope } from '../errors.js'
import { memoizeByObject } from '../common/memoize.js'
import { isPlainObject } from '../common/plain-object.js'
import { nothing, Policy, type PolicyClass } from './policy.js'

const instanceOf = memoizeByObject((policy: PolicyClass) => new policy())

/**
 * Returns the conditions of a policy for a user.
 *
 * @param model the class of the records, for a policy of several models
 * @throws PolicyWithoutScope if its scope is not a plain object or a list of them, or if a value is missing
 *   in it, because a missing value would select every record
 */
export function scopeOfPolicy(policy: PolicyClass, user: unknown, model?: Function): Conditions {
  const scope: unknown = instanceOf(policy).scope(user, model)
  if (scope === nothing) return noRecords
  const alternatives: unknown[] = [scope].flat()
  const isValid = (conditions: unknown) =>
    isPlainObject(conditions) && (Reflect.ownKeys(conditions).length === 0 || !isMissing(conditions))
  if (alternatives.length === 0 || !alternatives.every(isValid)) throw new PolicyWithoutScope(policy.name)
  return scope as Conditions
}

/** Whether a condition lacks a value, at any depth, or is an empty object, which TypeORM ignores. */
function isMissing(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === undefined || value === null
  if (value instanceof Date || InstanceChecker.isFindOperator(value)) return false
  if (value instanceof Model) return isMissing(value.id)
  const values = Object.values(value)
  // A value under a symbol, or under a key that is not enumerable, counts as missing. A list has such a key:
  // `length`.
  if (values.length < Reflect.ownKeys(value).length - (Array.isArray(value) ? 1 : 0)) return true
  const isNested = Array.isArray(value) || isPlainObject(value)
  return values.length === 0 || (isNested && values.some(isMissing))
}

/**
 * Whether a policy allows an ability to a user. An ability without a method is not allowed.
 *
 * @param tx runs the queries of the ability in the transaction of the request
 */
export function isAllowed(
  policy: PolicyClass,
  ability: string,
  user: unknown,
  record: object | undefined,
  tx?: EntityManager,
): boolean | Promise<boolean> {
  const instance = instanceOf(policy)
  if (!isAbility(policy, ability)) return false
  const result: unknown = Reflect.apply(Reflect.get(instance, ability), instance, [user, record, tx])
  // A method that forgets its `return` allows nothing.
  return result instanceof Promise ? result.then((allowed) => allowed === true) : result === true
}

/** Whether a name is an ability of a policy: a method of its classes, but not `scope` or one of Object. */
export function isAbility({ prototype }: PolicyClass, name: string): boolean {
  if (name === 'scope' || name === 'constructor') return false
  const method: unknown = Reflect.get(prototype, name)
  return typeof method === 'function' && method !== Reflect.get(Policy.prototype, name)
}
