import { itemName, toAttribute, type Attribute, type columnsOf } from '../extension.js'

/** A JSON Schema, or another object of an OpenAPI document. */
export type Schema = Record<string, unknown>

/** Whether a schema is that of a request's body, with the limits of values, or that of a response. */
export type Direction = 'body' | 'response'

const int32 = 2 ** 31

/** The schema of each kind of values. The second argument adds the limits of bodies. */
const SCHEMAS: Record<Attribute['kind'], (attribute: Partial<Attribute>, isBody: boolean) => Schema> = {
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
  enum: ({ values = [] }) => {
    const types = [...new Set(values.map((value) => typeof value))]
    return { type: types.length > 1 ? types : (types[0] ?? 'string'), enum: values }
  },
}

/** The kind of values, and what else limits them. */
export type Values = Partial<Attribute> & Pick<Attribute, 'kind'>

/** Returns the schema of single values. */
export function valueSchema(values: Values, direction: Direction): Schema {
  return SCHEMAS[values.kind](values, direction === 'body')
}

/** Returns the schema of an attribute. A list of ids has no duplicates. */
export function attributeSchema(attribute: Attribute, direction: Direction): Schema {
  const { name, kind, isList, nullable: isNullable } = attribute
  const value = valueSchema(attribute, direction)
  if (isList) return listSchema(name, value, kind === 'uuid' ? { uniqueItems: true } : {})
  return isNullable ? nullable(value) : value
}

type Column = ReturnType<typeof columnsOf>[number]

/** The default options of the columns that TypeORM writes. */
const WRITTEN: Partial<Record<Column['mode'], Column['options']>> = {
  createDate: { type: Date },
  updateDate: { type: Date },
  deleteDate: { type: Date, nullable: true },
  version: { type: Number },
  treeLevel: { type: Number },
}

/** The attribute of any column, also of the id and times. The values are any JSON if that is unknown. */
export function columnAttribute(column: Column): Attribute {
  const options = { ...WRITTEN[column.mode], ...column.options }
  const [attribute] = options.transformer ? [] : toAttribute({ ...column, options })
  return attribute ?? { name: column.propertyName, kind: 'json', nullable: false }
}

/** A list of values. In XML, it is an element that contains an element for each value. */
export function listSchema(name: string, items: Schema, limits: Schema = {}): Schema {
  const item = itemName(name)
  return {
    type: 'array',
    items: '$ref' in items ? items : { ...items, xml: { name: item === name ? 'item' : item } },
    ...limits,
    xml: { name, wrapped: true },
  }
}

/** Adds null to the values of a schema. */
export function nullable(schema: Schema): Schema {
  if ('$ref' in schema) return { anyOf: [schema, { type: 'null' }] }
  const { type, enum: values } = schema
  if (type === undefined) return schema
  return { ...schema, type: [type, 'null'].flat(), ...(Array.isArray(values) && { enum: [...values, null] }) }
}

/** Digits before the point are limited in bodies only, because the servers reject a number with more. */
function decimalPattern({ precision, scale }: Partial<Attribute>, isBody: boolean): string {
  const places = scale ?? (precision === undefined ? undefined : 0)
  const whole = isBody && precision !== undefined ? precision - (places ?? 0) : undefined
  const digits = whole === undefined ? '\\d+' : whole === 0 ? '0' : `\\d{1,${whole}}`
  const fraction = places === undefined ? '(\\.\\d+)?' : places === 0 ? '' : `(\\.\\d{1,${places}})?`
  return `^-?${digits}${fraction}$`
}
