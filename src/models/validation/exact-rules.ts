import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js'
import { attributesOf } from '../attributes/attributes.js'

/** The rules of class-validator that reject every text, even bigints and decimals, and their meaning. */
const RULES: Record<string, (value: Exact, limit: Exact, argument: unknown) => boolean> = {
  min: (value, limit) => compare(value, limit) >= 0,
  max: (value, limit) => compare(value, limit) <= 0,
  isPositive: (value) => value.digits > 0n,
  isNegative: (value) => value.digits < 0n,
  isNumber: ({ places }, _, options) => places <= (Object(options).maxDecimalPlaces ?? Infinity),
  isInt: ({ digits, places }) => digits % 10n ** BigInt(places) === 0n,
  isDivisibleBy: (value, divisor) => {
    const [left, right] = aligned(value, divisor)
    return right !== 0n && left % right === 0n
  },
}

/** Whether a bigint or decimal meets a rule that class-validator has rejected because it is a text. */
export function isMetExactly(
  model: Function,
  property: string,
  value: unknown,
  rule: ValidationMetadata | undefined,
): boolean {
  const isMet = RULES[rule?.name ?? '']
  const number = typeof value === 'string' ? exact(value) : undefined
  if (!isMet || !number || rule?.each) return false
  const kind = attributesOf(model).find(({ name }) => name === property)?.kind
  if (kind !== 'decimal' && kind !== 'bigint') return false
  const [argument] = rule?.constraints ?? []
  // `isNumber` has an object with options, and most others have no argument.
  const limit = exact(typeof argument === 'object' ? '0' : String(argument ?? 0))
  return limit !== undefined && isMet(number, limit, argument)
}

/** A number as its digits, and how many of them follow the point. */
interface Exact {
  digits: bigint
  places: number
}

/** Reads a number without losing digits. A limit may be a number with an exponent. */
function exact(text: string): Exact | undefined {
  const match = /^([+-]?)(\d+)(?:\.(\d+))?(?:e([+-]\d{1,3}))?$/.exec(text)
  if (!match) return undefined
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match
  const places = fraction.length - Number(exponent)
  const digits = BigInt(whole + fraction) * 10n ** BigInt(Math.max(0, -places))
  return { digits: sign === '-' ? -digits : digits, places: Math.max(0, places) }
}

function compare(left: Exact, right: Exact): number {
  const [first, second] = aligned(left, right)
  return first < second ? -1 : Number(first > second)
}

/** The digits of two numbers with the same number of places. */
function aligned(left: Exact, right: Exact): [bigint, bigint] {
  const places = Math.max(left.places, right.places)
  const scale = ({ digits, places: own }: Exact) => digits * 10n ** BigInt(places - own)
  return [scale(left), scale(right)]
}
