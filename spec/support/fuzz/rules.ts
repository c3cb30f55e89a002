import type { Thing } from '../applications/everything.js'

type Rule = (value: unknown) => boolean

const isText: Rule = (value) => typeof value === 'string' && !value.includes('\0') && value.isWellFormed()
const isDecimal = (digits: number, scale: number): Rule => {
  const pattern = new RegExp(`^-?\\d{1,${digits - scale}}\\.\\d{${scale}}$`)
  return (value) => typeof value === 'string' && pattern.test(value)
}

/** The rule for the values of each attribute, whatever was sent. */
const rules: Record<string, Rule> = {
  string: isText,
  text: isText,
  int: (value) => Number.isInteger(value) && Math.abs(Number(value) + 0.5) < 2 ** 31,
  bigint: (value) => typeof value === 'string' && BigInt.asIntN(64, BigInt(value)) === BigInt(value),
  float: (value) => typeof value === 'number' && Number.isFinite(value),
  decimal: isDecimal(10, 2),
  bool: (value) => typeof value === 'boolean',
  date: (value) =>
    typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value)),
  time: (value) => typeof value === 'string' && /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d/.test(value),
  datetime: (value) => value instanceof Date && !Number.isNaN(value.getTime()),
  uuid: (value) => typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value),
  json: (value) => value !== undefined,
  enum: (value) => value === 'low' || value === 'high',
}

/** The attributes of a thing with values of another kind; undefined if there are none. */
export function flawOfThing(thing: Thing): string | undefined {
  const flaws = Object.entries(rules).flatMap(([name, rule]) => {
    const maybe: unknown = Reflect.get(thing, `maybe_${name}`)
    const ruleOfMaybe = name === 'decimal' ? isDecimal(20, 4) : rule
    return [
      ...(rule(Reflect.get(thing, name)) ? [] : [name]),
      ...(maybe === null || ruleOfMaybe(maybe) ? [] : [`maybe_${name}`]),
    ]
  })
  return flaws.length > 0 ? flaws.join(', ') : undefined
}
