import { collectionName, itemName, type Attribute } from '../extension.js'

/** A JSON Schema, or another object of an OpenAPI document. */
export type Schema = Record<string, unknown>

/** Whether a schema is that of a body, which has the limits that a request must keep, or of a response. */
export type Direction = 'body' | 'response'

const int32 = 2 ** 31

/** The schema of each kind of values. The second argument adds the limits of bodies. */
const KINDS: Record<Attribute['kind'], (attribute: Partial<Attribute>, isBody: boolean) => Schema> = {
  string: ({ length }, isBody) => ({
    type: 'string',
    ...(isBody && length !== undefined && { maxLength: length }),
  }),
  text: () => ({ type: 'string' }),
  int: (_, isBody) => ({
    type: 'integer',
    format: 'int32',
    ...(isBody && { minimum: -int32, maximum: int32 - 1 }),
  }),
  bigint: (_, isBody) => ({ type: 'string', pattern: isBody ? '^-?\\d{1,19}$' : '^-?\\d+$' }),
  float: () => ({ type: 'number', format: 'double' }),
  decimal: (attribute, isBody) => ({ type: 'string', pattern: decimalPattern(attribute, isBody) }),
  bool: () => ({ type: 'boolean' }),
  date: () => ({ type: 'string', format: 'date' }),
  time: (_, isBody) => ({
    type: 'string',
    // `format: time` would require an offset.
    pattern: `^([01]\\d|2[0-3]):[0-5]\\d${isBody ? '(' : ''}:[0-5]\\d(\\.\\d{1,6})?${isBody ? ')?' : ''}$`,
  }),
  datetime: () => ({ type: 'string', format: 'date-time' }),
  uuid: () => ({ type: 'string', format: 'uuid' }),
  json: () => ({}),
  enum: ({ values = [] }) => ({ type: 'string', enum: values }),
}

/** Returns the schema of an attribute's values. */
export function valueSchema(
  attribute: Partial<Attribute> & Pick<Attribute, 'kind'>,
  direction: Direction,
): Schema {
  return KINDS[attribute.kind](attribute, direction === 'body')
}

/** A list of values, in XML an element that contains one for each value. */
export function listSchema(name: string, items: Schema, limits: Schema = {}): Schema {
  const item = itemName(name)
  return {
    type: 'array',
    items: '$ref' in items ? items : { ...items, xml: { name: item === name ? 'item' : item } },
    ...limits,
    xml: { name, wrapped: true },
  }
}

/** The whole list of a response. */
export function collectionSchema(name: string, items: Schema): Schema {
  return { type: 'array', items, xml: { name: collectionName(name), wrapped: true } }
}

/** Adds null to the values of a schema. */
export function nullable(schema: Schema): Schema {
  if ('$ref' in schema) return { anyOf: [schema, { type: 'null' }] }
  const { type, enum: values } = schema
  if (type === undefined) return schema
  return { ...schema, type: [type, 'null'], ...(Array.isArray(values) && { enum: [...values, null] }) }
}

/** Digits before the point are limited in bodies only, because MariaDB and PostgreSQL reject a number with more. */
function decimalPattern({ precision, scale }: Partial<Attribute>, isBody: boolean): string {
  const places = scale ?? (precision === undefined ? undefined : 0)
  const whole = isBody && precision !== undefined ? precision - (places ?? 0) : undefined
  const digits = whole === undefined ? '\\d+' : whole === 0 ? '0' : `\\d{1,${whole}}`
  const fraction = places === undefined ? '(\\.\\d+)?' : places === 0 ? '' : `(\\.\\d{1,${places}})?`
  return `^-?${digits}${fraction}$`
}
