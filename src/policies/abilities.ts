import { none } from '../data/records/scope.js'
import type { Conditions } from '../data/records/scoped-ids.js'
import { PolicyWithoutScope } from '../errors.js'
import { memoizeByObject } from '../common/memoize.js'
import { nothing, Policy, type PolicyClass } from './policy.js'

const instanceOf = memoizeByObject((policy: PolicyClass) => new policy())

/**
 * The conditions of a policy for a user.
 *
 * @throws PolicyWithoutScope if its scope is undefined, or has a key that is undefined: it never means every record
 */
export function scopeOf(policy: PolicyClass, user: unknown): Conditions {
  const scope: unknown = instanceOf(policy).scope(user)
  if (scope === nothing) return none
  if (typeof scope !== 'object' || scope === null || hasUndefined(scope))
    throw new PolicyWithoutScope(policy.name)
  return scope as Conditions
}

/** Whether a value is missing in conditions, at any depth. A list without alternatives would find every record. */
function hasUndefined(conditions: object): boolean {
  if (Array.isArray(conditions) && conditions.length === 0) return true
  const isPlain = Array.isArray(conditions) || Object.getPrototypeOf(conditions) === Object.prototype
  return (
    isPlain &&
    Object.values(conditions).some(
      (value: unknown) =>
        value === undefined || (typeof value === 'object' && value !== null && hasUndefined(value)),
    )
  )
}

/** Whether a policy allows a user an ability. Without a method of its name, it does not. */
export function isAllowed(
  policy: PolicyClass,
  ability: string,
  user: unknown,
  record: object | undefined,
): boolean | Promise<boolean> {
  const instance = instanceOf(policy)
  if (!isAbility(policy, ability)) return false
  const answer: unknown = Reflect.apply(Reflect.get(instance, ability), instance, [user, record])
  // A method that forgets its `return` allows nothing.
  return answer instanceof Promise ? answer.then((one) => one === true) : answer === true
}

/** The methods of the policy's own classes are abilities, and neither its scope nor members of every object. */
function isAbility({ prototype }: PolicyClass, name: string): boolean {
  if (name === 'scope' || name === 'constructor') return false
  for (
    let one: object = prototype;
    one !== Policy.prototype && one !== null;
    one = Object.getPrototypeOf(one)
  )
    if (Object.hasOwn(one, name)) return typeof Reflect.get(one, name) === 'function'
  return false
}
