import { DeclarationError } from '../errors.js'
import { memoize } from '../common/memoize.js'
import { errorHead, fieldsOf, withoutCredentials } from './error-fields.js'
import { bareName, nameMatcher, secretNames } from '../naming/secret-names.js'

/** Copies values for the log and for error pages, without secrets and up to a maximum size. */
export interface ParameterFilter {
  (values: unknown): unknown
  /** Whether a value with this name is treated as a secret. */
  isSecret(name: string): boolean
}

/** The options of a filter. */
export interface ParameterFilterOptions {
  /** Additional words in names of secrets: `['passport', 'date of birth']`. */
  words?: readonly string[]
  /** The maximum number of characters of a copy, with its names (10,000). */
  limit?: number
}

/** The string that replaces a secret. */
export const filtered = '[FILTERED]'

/** The maximum depth of a copy, and the maximum length of a string and of a name in it. */
const maxDepth = 10
const maxTextLength = 1000
const maxShownName = 100

/** The maximum length of a name. The value of a longer name is treated as a secret. */
const maxNameLength = 200

/**
 * Makes a filter. A value is a secret when its name is one of `secretNames` or contains one of the words, at
 * any depth and however it is written: `newPassword`, `credit_card`, `X-Auth-Token`, `user[password]`.
 *
 * The filter never throws: `[UNREADABLE]` replaces a value whose getter or proxy throws.
 *
 * @example parameterFilter({ words: ['passport'] })({ passport: 'X1' }) // { passport: '[FILTERED]' }
 * @throws DeclarationError when a word has neither letters nor digits
 */
export function parameterFilter({
  words = [],
  limit = 10_000,
}: ParameterFilterOptions = {}): ParameterFilter {
  const empty = words.find((word) => bareName(word) === '')
  if (empty !== undefined) {
    throw new DeclarationError(
      `The word ${JSON.stringify(empty)} would filter every parameter. It must contain letters or digits.`,
    )
  }
  const matches = nameMatcher({ ...secretNames, parts: [...secretNames.parts, ...words] })
  const isSecret = memoize((name) => name.length > maxNameLength || matches(name), 500)
  const filter = (values: unknown): unknown => new FilteredCopy(isSecret, limit).of(values)
  return Object.assign(filter, { isSecret })
}

/** Whether a name looks like a field or header, and contains no value: `user[password]`, `X-Auth-Token`. */
function isPlainName(name: string): boolean {
  return /^[\p{L}\p{N}_.[\] -]{1,60}$/u.test(name)
}

/** Makes one copy. `left` is the number of characters that it may still add, and one for each value. */
class FilteredCopy {
  /** The objects that contain the current value. */
  private readonly ancestors = new Set<object>()

  constructor(
    private readonly isSecret: (name: string) => boolean,
    private left: number,
  ) {}

  of(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value)
    if (typeof value !== 'object' || value === null) return scalar(value)
    if (this.ancestors.has(value)) return '[CIRCULAR]'
    if (this.ancestors.size === maxDepth) return '[TOO DEEP]'
    this.ancestors.add(value)
    try {
      return this.object(value)
    } catch {
      // A getter or a proxy that throws: nothing of it is shown.
      return '[UNREADABLE]'
    } finally {
      this.ancestors.delete(value)
    }
  }

  private text(given: string, maxLength = maxTextLength): string {
    const text = withoutCredentials(given)
    const shown = text.slice(0, Math.max(0, Math.min(maxLength, this.left)))
    this.left -= shown.length + 1
    return shown === text ? text : `${shown}… (${text.length} characters)`
  }

  private object(value: object): unknown {
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? '[INVALID DATE]' : value.toISOString()
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} BYTES]`
    return Array.isArray(value) ? this.list(value) : this.fields(value)
  }

  private list(values: unknown[]): unknown[] {
    const copy: unknown[] = []
    while (copy.length < values.length && this.left > 0) {
      this.left -= 1
      copy.push(this.of(values[copy.length]))
    }
    if (copy.length < values.length) copy.push(`… (${values.length} values)`)
    return copy
  }

  private fields(values: object): object {
    const names = fieldsOf(values)
    const head = Object.entries(errorHead(values))
    const copy: Array<[string, unknown]> = head.map(([name, text]) => [name, this.text(text)])
    for (const name of names) {
      if (this.left <= 0) {
        copy.push(['…', `(${names.length} fields)`])
        break
      }
      // A `code` is a secret that is sent to a user, but the `code` of an error is its kind: ECONNREFUSED.
      const isSecret = this.isSecret(name) && !(name === 'code' && values instanceof Error)
      // JSON that was sent as a form is parsed as one long name, which contains the secrets.
      const shown = isSecret && !isPlainName(name) ? filtered : this.text(name, maxShownName)
      copy.push([shown, isSecret ? filtered : this.member(values, name)])
    }
    // Unlike an assignment, this also copies a field with the name `__proto__`.
    return Object.fromEntries(copy)
  }

  private member(values: object, name: string): unknown {
    try {
      return this.of(Reflect.get(values, name))
    } catch {
      return '[UNREADABLE]'
    }
  }
}

/** Replaces a value that JSON does not support by a string, a function by `[FUNCTION]`. */
function scalar(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return typeof value === 'function' || typeof value === 'symbol' ? `[${typeof value}]`.toUpperCase() : value
}
