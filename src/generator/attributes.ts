import type { AttributeKind } from '../data/attributes.js'
import { columnTypes } from '../data/columns.js'
import {
  BadAttribute,
  RepeatedAttribute,
  ReservedAttribute,
  UnknownAttributeType,
} from '../command-errors.js'
import { isName, modelNamesOf, type Names } from './names.js'
import { reservedAttributes } from './reserved.js'

/** An attribute as the command line describes it: `state:nulls.Enum:draft,public:index`. */
export interface AttributeWords {
  /** The column: `title`, or `author_id` of `author:references`. */
  name: string
  kind: AttributeKind
  isNullable: boolean
  isUnique: boolean
  isIndexed: boolean
  /** The values of an enum. */
  values: readonly string[]
  /** The digits of a decimal, if the command line sets them. */
  digits?: Digits | undefined
  /** The model that a reference refers to. */
  reference?: Names
}

/** The number of digits of a decimal, and the number of digits after its point. */
interface Digits {
  precision: number
  scale: number
}

/** The digits of a plain `decimal`, which are also the default of `column()` in migrations. */
const usualDigits: Digits = { precision: 10, scale: 2 }

/** The maximum that all engines support. */
const mostDigits: Digits = { precision: 65, scale: 30 }

/** An attribute with its source texts for the scaffolds. */
export interface Attribute extends AttributeWords {
  /** Whether a value is required: the column is not nullable, and the input isn't a checkbox, which is false if unchecked. */
  isRequired: boolean
  /** `@Column('text', { nullable: true })` */
  decorator: string
  /** `title!: string` */
  declaration: string
  /** `column(runner, 'title', 'string')` */
  migration: string
  /** `form.text('title', { required: true })` */
  field: string
  /** Returns the source with which a page shows it: `= post.title`. `record` is the name of its translations: `post.title`. */
  show(variable: string, record: string): string
  /** The sources of values for specs: the first value, and the changed one. */
  samples: { json: string; form: string; changed: string }
}

/** The differences between the kinds of attributes. */
interface Kind {
  /** The type of the property. */
  type: string
  /** The method of the form helper, and the options of its input. */
  input: 'text' | 'textarea' | 'number' | 'date' | 'time' | 'dateTime' | 'json' | 'checkbox' | 'select'
  options?: string
  /** The view helper that shows it; without one it is shown unchanged. */
  helper?: 'time' | 'display'
  /** Two sample values as JSON. */
  samples: readonly [unknown, unknown]
}

const KINDS: Record<AttributeKind, Kind> = {
  string: { type: 'string', input: 'text', samples: ['First', 'Second'] },
  text: { type: 'string', input: 'textarea', options: 'rows: 10', samples: ['First line', 'Second line'] },
  int: { type: 'number', input: 'number', samples: [1, 2] },
  bigint: { type: 'string', input: 'number', samples: ['9007199254740993', '9007199254740995'] },
  float: { type: 'number', input: 'number', options: "step: 'any'", samples: [1.5, 2.5] },
  decimal: { type: 'string', input: 'number', samples: ['', ''] },
  bool: { type: 'boolean', input: 'checkbox', helper: 'display', samples: [true, false] },
  date: { type: 'string', input: 'date', helper: 'time', samples: ['2026-01-02', '2026-03-04'] },
  time: { type: 'string', input: 'time', samples: ['03:04:05', '06:07:08'] },
  datetime: {
    type: 'Date',
    input: 'dateTime',
    helper: 'time',
    samples: ['2026-01-02T03:04:05.000Z', '2026-03-04T05:06:07.000Z'],
  },
  uuid: {
    type: 'string',
    input: 'text',
    samples: ['0193b6a2-7c3e-7000-8000-00000000000a', '0193b6a2-7c3e-7000-8000-00000000000b'],
  },
  json: { type: 'unknown', input: 'json', helper: 'display', samples: [{ a: [1] }, { b: [2] }] },
  enum: { type: 'string', input: 'select', samples: ['', ''] },
}

/** The kinds whose values have no size limit. */
const UNBOUNDED: readonly string[] = ['text', 'json']

/** Other names of the kinds. */
const ALIASES = new Map<string, AttributeKind | 'references'>([
  ['integer', 'int'],
  ['boolean', 'bool'],
  ['timestamp', 'datetime'],
  ['reference', 'references'],
])

/** The list of types for `--help` and messages. */
export const knownTypes = [...Object.keys(KINDS), 'references']

/**
 * Parses the attributes of a command line: `title`, `body:text`, `description:nulls.Text`, `state:enum:draft,public`,
 * `price:decimal:12,4`, `author:references`, `email:string:unique`, `age:int:index`.
 *
 * @param taken the names that other columns already have: the foreign key of the parent
 * @throws UnknownAttributeType, BadAttribute, ReservedAttribute, RepeatedAttribute
 */
export function parseAttributes(words: readonly string[], taken: readonly string[] = []): Attribute[] {
  const seen = new Set(taken)
  return words.map((word) => {
    const attribute = parseAttribute(word)
    const { name, reference } = attribute
    for (const property of reference ? [name, reference.singular] : [name]) {
      if (seen.has(property)) throw new RepeatedAttribute(word, property)
      seen.add(property)
    }
    return attribute
  })
}

/** Adds the source texts for the scaffolds to an attribute. */
function attributeOf(words: AttributeWords): Attribute {
  const { name, kind, isNullable, values } = words
  const { type } = KINDS[kind]
  const isRequired = !isNullable && kind !== 'bool'
  const own = kind === 'enum' ? values.map(quote).join(' | ') : type
  const nullable = isNullable && type !== 'unknown' ? `${own} | null` : own
  const [first, second] = samplesOf(words)
  return {
    ...words,
    isRequired,
    decorator: decorator(words),
    declaration: kind === 'bool' && !isNullable ? `${name} = false` : `${name}!: ${nullable}`,
    migration: migration(words),
    field: field(words, isRequired),
    show: (variable, record) => show(words, variable, record),
    samples: {
      json: source(first),
      form: typeof first === 'object' ? quote(JSON.stringify(first)) : quote(String(first)),
      changed: source(second),
    },
  }
}

function parseAttribute(word: string): Attribute {
  const [name = '', type = 'string', ...rest] = word.split(':')
  if (reservedAttributes.has(name)) throw new ReservedAttribute(word, name)
  if (!isName(name)) throw new BadAttribute(word, 'its name must be a word like published_at')
  const isNullable = /^nulls\./i.test(type)
  const kind = kindOf(type.replace(/^nulls\./i, ''), word)
  const values = kind === 'enum' ? enumValues(rest.shift(), word) : []
  const digits = kind === 'decimal' && /^\d/.test(rest[0] ?? '') ? digitsOf(rest.shift(), word) : undefined
  const modifiers = new Set(rest)
  for (const modifier of modifiers) {
    if (modifier !== 'unique' && modifier !== 'index') {
      throw new BadAttribute(word, `it ends with "${modifier}", but only unique and index are supported`)
    }
  }
  const [modifier] = modifiers
  if (modifier && UNBOUNDED.includes(kind)) {
    throw new BadAttribute(
      word,
      `it ends with "${modifier}", but a ${kind} may be too long for an index. Use the type string`,
    )
  }
  const common = {
    isNullable,
    isUnique: modifiers.has('unique'),
    isIndexed: modifiers.has('index'),
    values,
    digits,
  }
  if (kind !== 'references') return attributeOf({ name, kind, ...common })

  if (name.endsWith('_id')) {
    const plain = word.replace('_id:', ':')
    throw new BadAttribute(
      word,
      `the name of a reference has no "_id", which is added to its column. Use ${plain}`,
    )
  }
  const reference = modelNamesOf(name)
  const isIndexed = !common.isUnique
  return attributeOf({ name: `${reference.singular}_id`, kind: 'uuid', ...common, isIndexed, reference })
}

function kindOf(type: string, word: string): AttributeKind | 'references' {
  const name = type.toLowerCase()
  const kind = ALIASES.get(name) ?? knownTypes.find((known) => known === name)
  // The known types are the keys of KINDS, and references.
  if (kind) return kind as AttributeKind | 'references'
  throw new UnknownAttributeType(type, word, knownTypes)
}

function enumValues(text: string | undefined, word: string): string[] {
  if (!text) {
    throw new BadAttribute(word, 'an enum lists its values after the type, as in state:enum:draft,public')
  }
  const values = text.split(',')
  const unreadable = values.find((value) => !/^[A-Za-z0-9][\w -]*$/.test(value))
  if (unreadable !== undefined) {
    throw new BadAttribute(
      word,
      `its value "${unreadable}" must begin with a letter from A to Z or a digit, and contain only letters, digits, spaces, ` +
        '"-" and "_". Pages show its translation, which can be any text',
    )
  }
  const repeated = values.find((value, index) => values.indexOf(value) < index)
  if (repeated !== undefined) throw new BadAttribute(word, `it lists the value "${repeated}" twice`)
  return values
}

function digitsOf(text: string | undefined, word: string): Digits {
  const [, ...numbers] = /^(\d+),(\d+)$/.exec(text ?? '') ?? []
  const [precision = 0, scale = 0] = numbers.map(Number)
  const isPossible = precision >= 1 && precision <= mostDigits.precision
  if (!isPossible || scale > Math.min(precision, mostDigits.scale)) {
    throw new BadAttribute(
      word,
      `a decimal has a precision (up to ${mostDigits.precision} digits) and a scale (up to ` +
        `${mostDigits.scale}), as in price:decimal:12,4`,
    )
  }
  return { precision, scale }
}

/** Returns two sample values of an attribute, as JSON. */
function samplesOf({ kind, values, digits = usualDigits }: AttributeWords): readonly [unknown, unknown] {
  if (kind === 'enum') return [values[0], values.at(-1)]
  if (kind !== 'decimal') return KINDS[kind].samples
  const { precision, scale } = digits
  const fraction = scale > 0 ? `.${'5'.padEnd(scale, '0')}` : ''
  // If all digits are after the point, the values are below 1.
  return precision === scale ? [`0${fraction}`, `-0${fraction}`] : [`1${fraction}`, `2${fraction}`]
}

function decorator({ kind, isNullable, isUnique, values, digits = usualDigits }: AttributeWords): string {
  const type = columnTypes[kind]
  const options = [
    typeof type === 'string' ? '' : 'type: Date',
    kind === 'decimal' && digitOptions(digits),
    values.length > 0 && `enum: [${values.map(quote).join(', ')}]`,
    isNullable && 'nullable: true',
    isUnique && 'unique: true',
  ]
  return call('@Column', [typeof type === 'string' ? quote(type) : '', object(options)])
}

function migration({ name, kind, isNullable, isUnique, values, digits }: AttributeWords): string {
  const options = [
    digits && digitOptions(digits),
    values.length > 0 && `enum: [${values.map(quote).join(', ')}]`,
    isNullable && 'isNullable: true',
    isUnique && 'isUnique: true',
  ]
  return call('column', ['runner', quote(name), quote(kind), object(options)])
}

function digitOptions({ precision, scale }: Digits): string {
  return `precision: ${precision}, scale: ${scale}`
}

function field(words: AttributeWords, isRequired: boolean): string {
  const { name, kind, isNullable, values, digits = usualDigits, reference } = words
  const { input, options } = KINDS[kind]
  const step = kind === 'decimal' && digits.scale > 0 && `step: ${Number(`1e-${digits.scale}`)}`
  const settings = [options, step, isRequired && 'required: true']
  if (reference) return call('form.select', [quote(name), reference.many, object(settings)])
  if (kind === 'enum') {
    return call('form.select', [quote(name), `[${values.map(quote).join(', ')}]`, object(settings)])
  }
  if (kind === 'bool' && isNullable) return call('form.select', [quote(name), "['true', 'false']"])
  if (kind === 'string' && isNullable) return call('form.textarea', [quote(name), object(['rows: 10'])])
  return call(`form.${input}`, [quote(name), object(settings)])
}

function show(words: AttributeWords, variable: string, record: string): string {
  const { name, kind, isNullable, reference } = words
  if (reference) return `!= display(${variable}.${reference.singular})`
  const value = `${variable}.${name}`
  const { helper } = KINDS[kind]
  if (kind === 'enum') {
    const text = `label(\`${record}.${name}.\${${value}}\`)`
    return isNullable ? `= ${value} && ${text}` : `= ${text}`
  }
  return helper ? `!= ${helper}(${value})` : `= ${value}`
}

function call(name: string, args: readonly string[]): string {
  return `${name}(${args.filter(Boolean).join(', ')})`
}

function object(members: ReadonlyArray<string | false | undefined>): string {
  const present = members.filter(Boolean)
  return present.length > 0 ? `{ ${present.join(', ')} }` : ''
}

/** Returns a value as TypeScript source. */
function source(value: unknown): string {
  if (typeof value === 'string') return quote(value)
  return JSON.stringify(value)
    .replaceAll(/"(\w+)":/g, '$1: ')
    .replaceAll(/^\{(.*)\}$/g, '{ $1 }')
}

function quote(text: string): string {
  return `'${text}'`
}
