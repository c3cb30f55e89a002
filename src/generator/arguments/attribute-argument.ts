import type { AttributeKind } from '../../models/attributes/attributes.js'
import { BadAttribute, CommandError } from '../../command-errors.js'
import { SOURCES } from './kinds.js'
import { isName, modelNamesOf, type Names } from './names.js'
import { isSecretAttribute } from '../../naming/secret-names.js'
import { collectionName, itemName } from '../../naming/words.js'
import { reservedAttributes, reservedInXml } from './reserved.js'

/** An attribute as the command line describes it: `state:nulls.enum:draft,public:index`. */
export interface AttributeArgument {
  /** The property: `title`, `author_id` of `author:references`, or `label_ids` of `labels:many`. */
  name: string
  kind: AttributeKind
  isNullable: boolean
  isUnique: boolean
  isIndexed: boolean
  /** Whether it is kept out of pages, forms and responses, and requests cannot set it. */
  isSecret: boolean
  /** The values of an enum. */
  values: readonly string[]
  /** The digits of a decimal, if the command line sets them. */
  digits?: Digits | undefined
  /** Whether it is the list of ids of a many-to-many relation, which has a table instead of a column. */
  isList: boolean
  reference?: Reference
  /** The stored file, or files, that it contains. Its kind is that of the column with the id of the file. */
  file?: 'file' | 'image'
}

/** A relation to the records of a model. */
export interface Reference {
  /** The property with the related record or records: `assignee` of `assignee:references:user`, `labels` of `labels:many`. */
  property: string
  model: Names
  /** Whether the command line names the model after the type. */
  isNamed: boolean
}

/** The number of digits of a decimal, and the number of digits after its point. */
export interface Digits {
  precision: number
  scale: number
}

/** The maximum that all engines support. */
const maxDigits: Digits = { precision: 65, scale: 30 }

/** The types of attributes: those of columns, and relations. */
type AttributeType = AttributeKind | 'references' | 'many' | FileType

/** The types of attributes with stored files. */
type FileType = (typeof fileTypes)[number]

const fileTypes = ['file', 'files', 'image', 'images'] as const

function isFileType(type: AttributeType): type is FileType {
  return fileTypes.some((one) => one === type)
}

/** Other names of the types. */
const ALIASES = new Map<string, AttributeType>([
  ['integer', 'int'],
  ['boolean', 'bool'],
  ['timestamp', 'datetime'],
  ['reference', 'references'],
])

/** The list of types for `--help` and messages. */
export const knownTypes: readonly string[] = [...Object.keys(SOURCES), 'references', 'many', ...fileTypes]

/** The modifiers that create an index. */
const INDEXES: readonly string[] = ['unique', 'index']

const MODIFIERS: readonly string[] = [...INDEXES, 'shown']

/** The parts of an attribute. */
interface Parts {
  word: string
  name: string
  type: AttributeType
  isNullable: boolean
  /** The values of an enum, the digits of a decimal, or the model of a reference. */
  detail: string | undefined
  modifiers: readonly string[]
}

/**
 * Reads an attribute of the command line: `title`, `body:text`, `state:enum:draft,public`, `assignee:references:user`. The
 * type is followed by its detail and its modifiers, in any order.
 *
 * @throws BadAttribute when the attribute is malformed; CommandError for an unknown type, or for a model of a wrong name
 */
export function readAttribute(word: string): AttributeArgument {
  const parts = partsOf(word)
  const { type } = parts
  if (type === 'many') return readMany(parts)
  if (isFileType(type)) return readFile(parts, type)
  const attribute = type === 'references' ? readReference(parts) : readPlain(parts, type)
  const isSecret = isSecretAttribute(attribute.name) && !parts.modifiers.includes('shown')
  // Requests cannot set a secret, so its column is nullable.
  return isSecret ? { ...attribute, isSecret, isNullable: true } : attribute
}

/** The members that an attribute has unless its type or a modifier changes them. */
const defaults = { isSecret: false, isList: false, isUnique: false, isIndexed: false, values: [] }

function readPlain(parts: Parts, kind: AttributeKind): AttributeArgument {
  const { name, isNullable, modifiers } = parts
  return {
    ...defaults,
    name,
    kind,
    isNullable,
    isUnique: modifiers.includes('unique'),
    isIndexed: modifiers.includes('index'),
    values: kind === 'enum' ? enumValues(parts) : [],
    digits: kind === 'decimal' ? digitsOf(parts) : undefined,
  }
}

function partsOf(word: string): Parts {
  const [name = '', written = 'string', ...rest] = word.split(':')
  const reason = reservedAttributes.get(name) ?? reservedInXml(name)
  if (reason) {
    throw new BadAttribute(word, `it cannot be named "${name}", because ${reason}. Choose another name`)
  }
  if (!isName(name)) throw new BadAttribute(word, 'its name must be a word like published_at')
  const type = typeOf(written.replace(/^nulls\./i, ''), word)
  const modifiers = rest.filter((one) => MODIFIERS.includes(one))
  const [detail, ...others] = rest.filter((one) => !MODIFIERS.includes(one))
  // The digits of a decimal are optional.
  const hasDetail =
    ['enum', 'references', 'many'].includes(type) || (type === 'decimal' && /^\d/.test(detail ?? ''))
  const [unknown] = hasDetail ? others : [detail]
  if (unknown !== undefined) {
    throw new BadAttribute(word, `it ends with "${unknown}", but only unique, index and shown are supported`)
  }
  const index = modifiers.find((one) => INDEXES.includes(one))
  if (index && type in SOURCES && SOURCES[type as AttributeKind].isUnbounded) {
    const problem = `it ends with "${index}", but a ${type} may be too long for an index. Use the type string`
    throw new BadAttribute(word, problem)
  }
  return { word, name, type, isNullable: /^nulls\./i.test(written), detail, modifiers }
}

function typeOf(text: string, word: string): AttributeType {
  const name = text.toLowerCase()
  if (ALIASES.has(name) || knownTypes.includes(name)) return ALIASES.get(name) ?? (name as AttributeType)
  throw new CommandError(
    `Unknown attribute type "${text}" in "${word}". Known types: ${knownTypes.join(', ')}. Use nulls.X for a nullable attribute.`,
  )
}

function readReference({ word, name, isNullable, detail, modifiers }: Parts): AttributeArgument {
  if (name.endsWith('_id')) {
    const problem = 'the name of a reference has no "_id", which is added to its column'
    throw new BadAttribute(word, `${problem}. Use ${word.replace('_id:', ':')}`)
  }
  const model = modelNamesOf(detail ?? name)
  const property = detail === undefined ? model.singular : name
  const isUnique = modifiers.includes('unique')
  const reference = { property, model, isNamed: detail !== undefined }
  return {
    ...defaults,
    name: `${property}_id`,
    kind: 'uuid',
    isNullable,
    isUnique,
    isIndexed: !isUnique,
    reference,
  }
}

function readMany({ word, name, isNullable, detail, modifiers }: Parts): AttributeArgument {
  const property = collectionName(itemName(name))
  const correction = [property, 'many', detail].filter(Boolean).join(':')
  if (property !== name) {
    throw new BadAttribute(word, `the name of a many-to-many relation is plural. Use ${correction}`)
  }
  if (isNullable || modifiers.length > 0) {
    throw new BadAttribute(word, `a many-to-many relation is a list without a column. Use ${correction}`)
  }
  const reference = { property, model: modelNamesOf(detail ?? name), isNamed: detail !== undefined }
  return { ...defaults, name: `${itemName(name)}_ids`, kind: 'uuid', isNullable, isList: true, reference }
}

/** A file is in a column with its id, which is unique, and a list of files is in its own table. */
function readFile({ word, name, isNullable, modifiers }: Parts, type: FileType): AttributeArgument {
  const isList = type.endsWith('s')
  const [modifier] = modifiers
  if (modifier !== undefined)
    throw new BadAttribute(
      word,
      `it ends with "${modifier}", but a file belongs to one record, and no list finds it`,
    )
  if (isList && isNullable)
    throw new BadAttribute(word, `a list of files is empty instead of null. Use ${name}:${type}`)
  if (name.endsWith('_id'))
    throw new BadAttribute(
      word,
      `the name of a file has no "_id", which is added to its column. Use ${word.replace('_id:', ':')}`,
    )
  const file = type.startsWith('image') ? 'image' : 'file'
  return { ...defaults, name, kind: 'uuid', isNullable, isList, file }
}

function enumValues({ word, detail }: Parts): string[] {
  if (!detail) {
    throw new BadAttribute(word, 'an enum lists its values after the type, as in state:enum:draft,public')
  }
  const values = detail.split(',')
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

function digitsOf({ word, detail }: Parts): Digits | undefined {
  if (detail === undefined) return undefined
  const [, ...numbers] = /^(\d+),(\d+)$/.exec(detail) ?? []
  const [precision = 0, scale = 0] = numbers.map(Number)
  const isPossible = precision >= 1 && precision <= maxDigits.precision
  if (!isPossible || scale > Math.min(precision, maxDigits.scale)) {
    throw new BadAttribute(
      word,
      `a decimal has a precision (up to ${maxDigits.precision} digits) and a scale (up to ` +
        `${maxDigits.scale}), as in price:decimal:12,4`,
    )
  }
  return { precision, scale }
}
