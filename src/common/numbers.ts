import { DeclarationError } from '../errors.js'

/** The most milliseconds that a timer can wait: 24.8 days. Node.js ends one with a longer time at once. */
export const longestDelay = 2 ** 31 - 1

/** The values that the number of an option can have. */
export interface NumberRange {
  /** The least value (0). */
  min?: number
  /** The greatest value (`Infinity`). */
  max?: number
  /** Whether it must be an integer (no). */
  isWhole?: boolean
}

/**
 * Checks the numbers of an options object. The compiler accepts the number of an environment variable, which
 * is NaN if the variable is not set, and no value exceeds a limit of NaN.
 *
 * @param owner whose options they are, for the message: `new App()`
 * @throws DeclarationError when an option is given, but isn't a number in its range
 */
export function checkNumbers<T extends object>(
  owner: string,
  options: T,
  ranges: { readonly [Name in keyof T]?: NumberRange },
): void {
  for (const [name, range] of Object.entries<NumberRange | undefined>(ranges)) {
    const { min = 0, max = Infinity, isWhole = false } = range ?? {}
    const value: unknown = Reflect.get(options, name)
    if (value === undefined) continue
    if (typeof value === 'number' && value >= min && value <= max && (!isWhole || Number.isInteger(value)))
      continue
    const shown = typeof value === 'number' ? String(value) : JSON.stringify(value)
    const end = max === Infinity ? '' : ` to ${max}`
    throw new DeclarationError(
      `The \`${name}\` of ${owner} is ${shown}. Use a ${isWhole ? 'whole ' : ''}number from ${min}${end}.`,
    )
  }
}
