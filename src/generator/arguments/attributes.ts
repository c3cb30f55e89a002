import type { AttributeKind } from '../../models/attributes/attributes.js'
import { columnTypes } from '../../models/attributes/kinds.js'
import { CommandError } from '../../command-errors.js'
import { readAttribute, type AttributeArgument, type Digits, type Reference } from './attribute-argument.js'
import { quote } from '../files/lines.js'
import { SOURCES } from './kinds.js'

/** The digits of a plain `decimal`, which are also the default of `column()` in migrations. */
const usualDigits: Digits = { precision: 10, scale: 2 }

const shortKinds: ReadonlySet<AttributeKind> = new Set([
  'int',
  'bigint',
  'float',
  'decimal',
  'bool',
  'time',
  'enum',
])

/** An attribute with its source texts for the scaffolds. */
export interface Attribute extends AttributeArgument {
  /** Whether a value is required: the column is not nullable, and the input isn't a checkbox, which is false if unchecked. */
  isRequired: boolean
  /** `@Column('text', { nullable: true })`, or `@RelationIds('labels')` */
  decorator: string
  /** `title!: string` */
  declaration: string
  /** `column(runner, 'title', 'string')`. A list has no column. */
  migration: string
  /** The same for a table with rows: `column(runner, 'done', 'bool', { default: false })`. */
  addition: string
  /** `form.text('title', { required: true })` */
  field: string
  /** Whether its values are words or numbers, which a list does not wrap. */
  isShort: boolean
  /** Whether a list shows the beginning of it only. */
  isLong: boolean
  /** Returns the source with which a page shows it: `= post.title`. `record` is the name of its translations: `post.title`. */
  show(variable: string, record: string, indent?: string): string
  /** The sources of values for specs: the first value, and the changed one, which is greater unless it is a boolean. */
  samples: { json: string; changed: string }
}

/** An attribute that is a relation to other records. */
export type ReferenceAttribute = Attribute & { reference: Reference }

export function isReference(attribute: Attribute): attribute is ReferenceAttribute {
  return attribute.reference !== undefined
}

/** Whether an attribute can be the heading of a record's page: the first required text is. */
export function isTitle({ kind, isRequired, isSecret }: Attribute): boolean {
  return kind === 'string' && isRequired && !isSecret
}

/**
 * Parses the attributes of a command line: `title`, `body:text`, `description:nulls.text`, `state:enum:draft,public`,
 * `price:decimal:12,4`, `author:references`, `assignee:references:user`, `email:string:unique`, `age:int:index`.
 *
 * The lists of many-to-many relations (`labels:many`) follow the columns.
 *
 * @param taken the names that other columns already have, for example the foreign key of the parent
 * @throws CommandError when an attribute is malformed, or when a name is used twice
 */
export function parseAttributes(words: readonly string[], taken: readonly string[] = []): Attribute[] {
  const seen = new Set(taken)
  const attributes = words.map((word) => {
    const attribute = attributeOf(readAttribute(word))
    const { name, reference, file, isList } = attribute
    const column = file && !isList ? [`${name}_id`] : []
    for (const property of reference ? [name, reference.property] : [name, ...column]) {
      if (seen.has(property)) {
        throw new CommandError(`"${word}" repeats the attribute "${property}". List each attribute once.`)
      }
      seen.add(property)
    }
    return attribute
  })
  return [...attributes.filter(({ isList }) => !isList), ...attributes.filter(({ isList }) => isList)]
}

/** An attribute whose unique index begins with other columns. A reference keeps an index that begins with its own column. */
export function withoutUnique(attribute: Attribute): Attribute {
  if (!attribute.isUnique) return attribute
  const isIndexed = attribute.isIndexed || attribute.reference !== undefined
  return attributeOf({ ...attribute, isUnique: false, isIndexed })
}

/** The version of a model, as an attribute of the model and its table that neither pages nor requests have. */
export function versionAttributes(): Attribute[] {
  return parseAttributes(['lock_version:int']).map((attribute) => ({
    ...attribute,
    isRequired: false,
    decorator: '@VersionColumn()',
    migration: "column(runner, 'lock_version', 'int', { default: '1' })",
  }))
}

/** The time at which a record was moved to the trash. */
export function trashAttributes(): Attribute[] {
  return parseAttributes(['deleted_at:nulls.datetime']).map((attribute) => ({
    ...attribute,
    decorator: '@DeleteDateColumn()',
  }))
}

/** The place of a line in its list, which no request sets. */
export function positionAttributes(): Attribute[] {
  return parseAttributes(['position:int']).map((attribute) => ({ ...attribute, isRequired: false }))
}

/** Adds the source texts for the scaffolds to an attribute. */
function attributeOf(argument: AttributeArgument): Attribute {
  const { name, kind, isNullable, isList, values } = argument
  const { type } = SOURCES[kind]
  const isRequired = !isNullable && kind !== 'bool' && !isList
  const own = kind === 'enum' ? values.map(quote).join(' | ') : type
  const value = argument.file ? 'StoredFile' : own
  const nullable = isNullable && type !== 'unknown' ? `${value} | null` : value
  const [json = '', changed = ''] = samplesOf(argument).map(source)
  return {
    ...argument,
    isRequired,
    decorator: decorator(argument),
    declaration:
      kind === 'bool' && !isNullable ? `${name} = false` : `${name}!: ${nullable}${isList ? '[]' : ''}`,
    migration: migration(argument),
    addition: migration(argument, kind === 'bool' && !isNullable && 'default: false'),
    field: field(argument, isRequired),
    isShort: shortKinds.has(kind),
    isLong: kind === 'text' || kind === 'json' || (kind === 'string' && isNullable),
    show: (variable, record, indent) => show(argument, variable, record, indent),
    samples: { json, changed },
  }
}

/** Returns two sample values of an attribute, as JSON. */
function samplesOf({
  name,
  kind,
  values,
  digits = usualDigits,
}: AttributeArgument): readonly [unknown, unknown] {
  if (kind === 'string' && /(^|_)email$/.test(name)) return ['first@example.com', 'second@example.com']
  if (kind === 'enum') return [values[0], values.at(-1)]
  if (kind !== 'decimal') return SOURCES[kind].samples
  const { precision, scale } = digits
  const fraction = scale > 0 ? `.${'5'.padEnd(scale, '0')}` : ''
  // If all digits are after the point, the values are below 1.
  return precision === scale ? [`-0${fraction}`, `0${fraction}`] : [`1${fraction}`, `2${fraction}`]
}

const imageOptions = "{ types: ['image/jpeg', 'image/png', 'image/webp', 'image/gif'] }"

function decorator(argument: AttributeArgument): string {
  const { kind, isNullable, isUnique, isList, values, digits = usualDigits, reference, file } = argument
  if (file) return call(isList ? '@HasFiles' : '@HasFile', [file === 'image' ? imageOptions : ''])
  if (isList && reference) return call('@RelationIds', [quote(reference.property)])
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

function migration(argument: AttributeArgument, value: string | false = false): string {
  const { kind, isNullable, values, digits, file } = argument
  const name = file ? `${argument.name}_id` : argument.name
  // A file belongs to one record.
  const isUnique = argument.isUnique || file !== undefined
  const options = [
    digits && digitOptions(digits),
    values.length > 0 && `enum: [${values.map(quote).join(', ')}]`,
    isNullable && 'isNullable: true',
    isUnique && 'isUnique: true',
    value,
  ]
  return call('column', ['runner', quote(name), quote(kind), object(options)])
}

function digitOptions({ precision, scale }: Digits): string {
  return `precision: ${precision}, scale: ${scale}`
}

function field(argument: AttributeArgument, isRequired: boolean): string {
  const { name, kind, isNullable, isList, values, digits = usualDigits, reference } = argument
  if (argument.file) return call('form.file', [quote(name), object([isRequired && 'required: true'])])
  if (isList && reference) return call('form.checkboxes', [quote(name), reference.model.many])
  const { input, options } = SOURCES[kind]
  const step = kind === 'decimal' && digits.scale > 0 && `step: ${Number(`1e-${digits.scale}`)}`
  const settings = [options, step, isRequired && 'required: true']
  if (reference) return call('form.select', [quote(name), reference.model.many, object(settings)])
  if (kind === 'enum') {
    return call('form.select', [quote(name), `[${values.map(quote).join(', ')}]`, object(settings)])
  }
  if (kind === 'bool' && isNullable) return call('form.select', [quote(name), "['true', 'false']"])
  if (kind === 'string' && isNullable) return call('form.textarea', [quote(name), object(['rows: 10'])])
  return call(`form.${input}`, [quote(name), object(settings)])
}

function show(argument: AttributeArgument, variable: string, record: string, indent = ''): string {
  const { name, kind, isNullable, reference, file } = argument
  if (file) return showFile(argument, variable, indent)
  if (reference) return `!= display(${variable}.${reference.property})`
  const value = `${variable}.${name}`
  const { helper } = SOURCES[kind]
  if (kind === 'enum') {
    const text = `label(\`${record}.${name}.\${${value}}\`)`
    return isNullable ? `= ${value} && ${text}` : `= ${text}`
  }
  return helper ? `!= ${helper}(${value})` : `= ${value}`
}

/** Shows an image, or a link to a file; a list of them, one below the other. */
function showFile(
  { name, isNullable, isList, file }: AttributeArgument,
  variable: string,
  indent: string,
): string {
  const value = `${variable}.${name}`
  const tag = (one: string) =>
    file === 'image' ? `img(src=${one}.url alt=${one}.filename)` : `a(href=${one}.url)= ${one}.filename`
  if (isList) return `\n${indent}  each storedFile in ${value}\n${indent}    div: ${tag('storedFile')}`
  return isNullable ? `\n${indent}  if ${value}\n${indent}    ${tag(value)}` : `: ${tag(value)}`
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
