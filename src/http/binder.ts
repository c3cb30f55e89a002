import { fieldValue, textValue } from '../common/input-values.js'
import { lineAttributes, type Attribute } from '../models/attributes/attributes.js'
import type { NestedList } from '../models/attributes/nested-lists.js'
import { loadedElements, setPlace } from '../models/record-state.js'
import { wrongNumber } from '../models/validation/validation.js'
import { BadRequest } from '../errors.js'
import { createObject, isBlank, isFields, valuesOf, type Submission } from './submission.js'
import { noteSentRows, readRows, type SentRow } from './sent-rows.js'
import type { FileAttribute, FileProblem } from '../models/attributes/file-attributes.js'
import { coerce, unreadable } from '../models/attributes/coerce.js'
import { plainAttributesOf } from '../models/attributes/plain-attributes.js'
import {
  applyFields,
  exposedFields,
  hasTransformMetadata,
  transformRules,
} from '../models/attributes/transform-metadata.js'

/** A field whose value could not be read as its column's type. */
export interface UnreadableField {
  attribute: Attribute
  value: unknown
  /** The value of the attribute, which was not changed. If it differs later, the handler has set it. */
  before: unknown
  /** Why its files were not accepted. */
  problem?: FileProblem
  /** The error, unless it is the kind of the value that is wrong. */
  refusal?: Refusal
}

/** The error of a value that was not read. */
export interface Refusal {
  rule: string
  /** The message in English. */
  own: string
  values: Record<string, unknown>
}

/** The unreadable fields of each bound record. */
const unreadableFields = new WeakMap<object, UnreadableField[]>()

/** The attributes of each bound record for which a request had a field, with their values before. */
const boundValues = new WeakMap<object, Map<string, unknown>>()

/**
 * Copies the fields of a request's body to the attributes of a record, converted to the type of their column.
 * Attributes without a field keep their value, as do those whose field of a form has the text that the form
 * shows for the value. Unknown fields are ignored. class-transformer's `@Exclude` and `@Expose` apply.
 *
 * @returns the record
 * @throws BadRequest (400) when the body isn't an object
 */
export function bind<T extends object>(
  record: T,
  attributes: readonly Attribute[],
  submission: Submission,
): T {
  const submitted = fieldsOf(submission.body)
  const fields = transform(
    record,
    attributes,
    submission.isForm ? withLastValues(submitted, attributes, submission) : submitted,
  )
  const unread: UnreadableField[] = []
  const bound = boundValues.get(record) ?? new Map<string, unknown>()
  boundValues.set(record, bound)
  for (const attribute of attributes) {
    if (attribute.file) {
      unread.push(...bindFiles(record, attribute, attribute.file, fields, submission, bound))
      continue
    }
    if (!Object.hasOwn(fields, attribute.name)) continue
    const value = fields[attribute.name]
    if (value === undefined) continue
    const before: unknown = Reflect.get(record, attribute.name)
    if (!bound.has(attribute.name)) bound.set(attribute.name, before)
    if (submission.isForm && isUnchanged(before, value, attribute, submission)) continue
    const read = attribute.lines
      ? readLines(record, attribute.lines, value, submission)
      : readValue(value, attribute, submission)
    if (read === unreadable) unread.push({ attribute, value, before })
    else if (read instanceof RefusedLines) unread.push({ attribute, value, before, ...read })
    else Reflect.set(record, attribute.name, read)
  }
  // A second call for other attributes keeps the errors of the first one.
  const earlier =
    unreadableFields.get(record)?.filter(({ attribute }) => !attributes.includes(attribute)) ?? []
  if (earlier.length + unread.length > 0) unreadableFields.set(record, [...earlier, ...unread])
  else unreadableFields.delete(record)
  return record
}

/** Sets an attribute to the files of a request, in its body or beside it. Returns what is wrong. */
function bindFiles(
  record: object,
  attribute: Attribute,
  file: FileAttribute,
  fields: Record<string, unknown>,
  { readFiles }: Submission,
  bound: Map<string, unknown>,
): UnreadableField[] {
  const { name } = file
  const before: unknown = Reflect.get(record, name)
  const sent = Object.hasOwn(fields, name) ? fields[name] : undefined
  const { value, problem } = readFiles?.(record, file, sent) ?? {}
  if ((value !== undefined || problem) && !bound.has(name)) bound.set(name, before)
  if (value !== undefined) Reflect.set(record, name, value)
  return problem ? [{ attribute, value: sent, before: Reflect.get(record, name), problem }] : []
}

/**
 * Whether a field of a form has the text that the form shows for the attribute's present value. Reading the
 * text could change what an input cannot show: the second of two equal local times, microseconds, or the line
 * breaks of a text.
 */
function isUnchanged(before: unknown, value: unknown, { kind }: Attribute, submission: Submission): boolean {
  if (before === undefined || before === null) return false
  if (typeof value === 'string')
    return withLineFeeds(value) === withLineFeeds(fieldValue(before, kind, submission.timeZone ?? 'UTC'))
  // The hidden field of a select or of checkboxes shows that the order is that of the choices.
  const isOfBoxes = Array.isArray(value) && value[0] === '' && Array.isArray(before)
  return isOfBoxes && textOfItems(value.slice(1)) === textOfItems(before)
}

/** Browsers send each line break as CRLF. */
function withLineFeeds(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n')
}

/** Returns a text that is the same for the same items in any order. */
function textOfItems(items: readonly unknown[]): string {
  return JSON.stringify(items.map(textValue).toSorted())
}

function readValue(value: unknown, attribute: Attribute, submission: Submission): unknown {
  if (attribute.isList && attribute.nullable && value === null) return null
  if (attribute.nested) return readNested(value, attribute, attribute.nested, submission)
  if (attribute.isList) return readList(value, attribute, submission)
  const { isJson, isForm, timeZone } = submission
  if (attribute.kind !== 'json') return coerce(value, attribute, timeZone)
  if (isJson && typeof value === 'string') return value
  // The hidden field of a select or of checkboxes is an empty value next to the others.
  const hasHiddenField = isForm && Array.isArray(value)
  return coerce(hasHiddenField ? value.filter((item) => item !== '') : value, attribute, timeZone)
}

/** Reads the objects of a class: a list of them, or one. Each is a new object with errors of its own. */
function readNested(
  value: unknown,
  { isList, nullable }: Attribute,
  type: Function,
  submission: Submission,
): unknown {
  if (!isList && nullable && (value === null || isBlank(value))) return null
  const bodies = isList ? valuesOf(value, submission)?.filter((item) => !isBlank(item)) : [value]
  if (!bodies?.every(isFields)) return unreadable
  const objects = bodies.map((body) =>
    bind(createObject(type), plainAttributesOf(type), { ...submission, body }),
  )
  return isList ? objects : objects[0]
}

/** Binds the entries of a list to the lines of a record, or to new ones. */
function readLines(record: object, list: NestedList, value: unknown, submission: Submission): unknown {
  const read = readRows(list, value, submission)
  if (!read) return unreadable
  const { rows, blank } = read
  const attributes = lineAttributes(list)
  const count = rows.filter(({ isRemoved }) => !isRemoved).length
  if (count > list.max) return new RefusedLines(wrongNumber(list, count))
  const known = new Map(linesIn(record, list).map((line) => [String(Reflect.get(line, 'id')), line]))
  const sent = rows.map(({ fields, place, isRemoved }): SentRow => {
    const { id: sentId } = fields
    const id = typeof sentId === 'string' ? sentId.trim().toLowerCase() : (sentId ?? '')
    const found = typeof id === 'string' ? known.get(id) : undefined
    // An id counts once.
    if (found) known.delete(String(id))
    const line = bind(found ?? createObject(list.line), attributes, { ...submission, body: fields })
    setPlace(line, place)
    if (id !== '' && !found) unreadableFields.set(line, [unknownLine(sentId, place)])
    return { line, isRemoved }
  })
  noteSentRows(record, list.name, { rows: sent, blank })
  return sent.flatMap(({ line, isRemoved }) => (isRemoved ? [] : line))
}

/** The error of a list with too many lines. */
class RefusedLines {
  constructor(readonly refusal: Refusal) {}
}

/** The error of an entry whose id is none of this record's lines. It does not say whose it is. */
function unknownLine(value: unknown, place: number): UnreadableField {
  const number = place + 1
  const refusal = { rule: 'nested_unknown', own: `Entry ${number} does not exist.`, values: { number } }
  return { attribute: { name: '', kind: 'uuid', nullable: false }, value, before: undefined, refusal }
}

/** The lines with which a record was read, and those that it has by now. */
function linesIn(record: object, { name }: NestedList): object[] {
  const own: unknown = Reflect.get(record, name)
  const all: unknown[] = [...(loadedElements(record, name) ?? []), ...(Array.isArray(own) ? own : [])]
  return all.filter(isFields).filter((line) => line['id'] !== undefined)
}

/** Reads a list. Empty strings are ignored: a form sends an empty list as one. Repeated ids count once. */
function readList(value: unknown, attribute: Attribute, submission: Submission): unknown {
  const values = valuesOf(value, submission)
    ?.filter((item) => typeof item !== 'string' || item.trim() !== '')
    .map((item) => (item === null ? unreadable : coerce(item, attribute, submission.timeZone)))
  if (!values || values.includes(unreadable)) return unreadable
  return attribute.kind === 'uuid' ? [...new Set(values)] : values
}

/** Returns the attributes of a record that the request has set, with their values before. */
export function boundOf(record: object): ReadonlyMap<string, unknown> {
  return boundValues.get(record) ?? new Map()
}

/** Returns the fields that `bind` could not read, and that the handler has not set since. */
export function unreadableOf(record: object): readonly UnreadableField[] {
  const fields = unreadableFields.get(record) ?? []
  return fields.filter(({ attribute, before }) => Object.is(Reflect.get(record, attribute.name), before))
}

/** Returns the submitted value of an unreadable field, or the values of a list, for the form. */
export function submittedValue(record: object, field: string): string | string[] | undefined {
  const found = unreadableOf(record).find(({ attribute }) => attribute.name === field)
  if (!found) return undefined
  const { attribute, value } = found
  if (attribute.isList) {
    const values: unknown[] = typeof value === 'object' && value !== null ? Object.values(value) : [value]
    return values.filter((item) => typeof item === 'string')
  }
  return typeof value === 'object' ? '' : String(value)
}

/** @throws BadRequest (400) when the body isn't an object */
function fieldsOf(body: unknown): Record<string, unknown> {
  if (body === undefined || body === null) return {}
  if (typeof body === 'object' && !Array.isArray(body)) return { ...body }
  throw new BadRequest('The body must be an object with the fields of one record.')
}

/**
 * Returns the fields of a form. A repeated field has its last value, or all values if its attribute is a list
 * or JSON. The last value of a datetime has the offset of the hidden field before it, if it is the same local
 * time.
 */
function withLastValues(
  fields: Record<string, unknown>,
  attributes: readonly Attribute[],
  submission: Submission,
): Record<string, unknown> {
  const lists = attributes.filter(({ kind, isList }) => isList || kind === 'json').map(({ name }) => name)
  const datetimes = attributes.filter(({ kind }) => kind === 'datetime').map(({ name }) => name)
  const valueOf = (name: string, value: unknown): unknown => {
    if (lists.includes(name)) return value
    const values = valuesOf(value, submission) ?? [value]
    return datetimes.includes(name) ? withOffset(values) : values.at(-1)
  }
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, valueOf(name, value)]))
}

/** The last of the values of a datetime, or the one before it if it is the same time with its offset. */
function withOffset(values: readonly unknown[]): unknown {
  const [hidden, visible] = values.slice(-2)
  if (typeof hidden !== 'string' || typeof visible !== 'string') return values.at(-1)
  const isSameTime = visible !== '' && hidden.startsWith(visible)
  return isSameTime && /^[+-]\d{2}:\d{2}$/.test(hidden.slice(visible.length)) ? hidden : visible
}

/** Lets class-transformer rename, omit and transform fields, if the record's class has rules for that. */
function transform(
  record: object,
  attributes: readonly Attribute[],
  fields: Record<string, unknown>,
): Record<string, unknown> {
  if (!hasTransformMetadata(record.constructor, 'toClass')) return fields
  const instance = createObject(record.constructor)
  // Defaults of the class (`done = false`) do not come from the request, so they are removed.
  for (const { name } of attributes) if (Object.hasOwn(instance, name)) Reflect.set(instance, name, undefined)
  const exposed = exposedFields(record.constructor)
  const names = attributes.map(({ name }) => name)
  // class-transformer is slow, and a request may have many unknown fields.
  const known = Object.entries(fields).filter(
    ([name]) => !exposed || names.includes(name) || exposed.includes(name),
  )
  return { ...applyFields(instance, Object.fromEntries(known)), ...nestedFields(record, attributes, fields) }
}

/** The fields with objects of other classes, to whose own fields the rules of these classes apply later. */
function nestedFields(
  { constructor }: object,
  attributes: readonly Attribute[],
  fields: Record<string, unknown>,
): Record<string, unknown> {
  const nested = attributes.flatMap(({ name, nested: type }) => {
    if (!type) return []
    const rules = transformRules(constructor, name, 'toClass')
    return rules.isExcluded ? [] : [[name, fields[rules.name]] as const]
  })
  return Object.fromEntries(nested)
}
