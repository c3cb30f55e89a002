import { createHash } from 'node:crypto'
import { isPlainObject } from '../extension.js'
import { DeclarationError, type Model } from '../index.js'

/** The maximum size of a job's arguments, in bytes of JSON. */
const maxBytes = 65_536

/** The maximum number of lists and objects in each other, as in the body of a request. */
const maxDepth = 100

/** The part that JSON can carry. The rest, such as a date or a record, is `never`, and does not compile. */
export type Json<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends bigint | symbol | Date | Model | ((...args: never[]) => unknown)
    ? never
    : T extends object
      ? { [Name in keyof T]: Json<T[Name]> }
      : never

/** The arguments of a job: the type of the first parameter of its `perform`. */
export type ArgumentsOf<Class> = Class extends abstract new (...args: never[]) => {
  perform(...args: infer Parameters): unknown
}
  ? Parameters extends [infer Args, ...unknown[]]
    ? Json<Args>
    : Record<string, never>
  : never

/**
 * Returns the arguments of a job as JSON. Members are sorted, so that equal arguments have the same JSON.
 *
 * @throws DeclarationError when JSON would change a value, whose path the message contains, or when the JSON
 *   is too large
 */
export function toJson(args: unknown, job: string): string {
  if (!isPlainObject(args))
    throw new DeclarationError(`The arguments of ${job} must be one object. Pass one: { user_id: user.id }.`)
  check(args, 'arguments', job, [])
  const json = JSON.stringify(args, (_name, value: unknown) =>
    isPlainObject(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
  const bytes = Buffer.byteLength(json)
  if (bytes <= maxBytes) return json
  throw new DeclarationError(
    `The arguments of ${job} are ${bytes} bytes of JSON, and at most ${maxBytes} are allowed. Store the data in a record, ` +
      'and pass its id.',
  )
}

/** The key of a unique job. Jobs with the same name and text have the same key. */
export function uniqueKey(name: string, text: string): string {
  return createHash('sha256')
    .update(JSON.stringify([name, text]))
    .digest('base64url')
}

/** @param above the lists and objects that contain the value */
function check(value: unknown, path: string, job: string, above: readonly unknown[]): void {
  if (value === null || ['string', 'boolean'].includes(typeof value) || Number.isFinite(value)) return
  if (above.includes(value))
    throw new DeclarationError(`${path} of ${job} contains itself. Pass ids instead of objects.`)
  if (above.length === maxDepth)
    throw new DeclarationError(
      `The arguments of ${job} are nested more than ${maxDepth} levels deep. Store the data in a record, and pass its id.`,
    )
  const inside = [...above, value]
  if (Array.isArray(value)) value.forEach((item, index) => check(item, `${path}[${index}]`, job, inside))
  else if (isPlainObject(value)) {
    for (const [name, member] of Object.entries(value))
      // As in JSON, a member that is undefined is left out.
      if (member !== undefined) check(member, `${path}.${name}`, job, inside)
  } else throw rejection(job, path, value)
}

function rejection(job: string, path: string, value: unknown): DeclarationError {
  const what =
    typeof value === 'object' && value !== null
      ? `an object of the class ${value.constructor.name}`
      : ['function', 'symbol', 'bigint'].includes(typeof value)
        ? `a ${typeof value}`
        : String(value)
  return new DeclarationError(
    `${path} of ${job} is ${what}, which JSON cannot carry. ` +
      'Pass text, numbers, booleans, null, and lists and objects of them: the id of a record, and a date or a bigint as text.',
  )
}
