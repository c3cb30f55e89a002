import { shorten } from '../common/shorten.js'
import { StaleRecord } from '../errors.js'
import { recordName } from '../naming/words.js'
import { attributesOf, type Attribute } from '../models/attributes/attributes.js'
import { isHiddenProperty } from '../models/attributes/transform-metadata.js'
import type { Model } from '../models/model.js'
import { markTranslated } from '../models/validation/added-errors.js'
import type { Translate } from '../models/validation/validation.js'
import { translate } from './violations.js'
import { RECORD } from '../common/record-field.js'
import { explainChange } from './participants.js'
import { findRecord } from './find.js'
import { recordsOf } from '../models/record-state.js'
import { isTrashed } from './trash.js'
import type { RecordWork } from './work.js'

/** The number of characters of a current value that an error message shows, with the … of a longer one. */
const maxLength = 201

/**
 * Creates the errors of a record that has changed since the client has read it: `stale` for the record, and
 * `changed` for each field whose current value differs from the sent value. Gives the record its current
 * version, so that the visitor can save the form that is shown again.
 *
 * @param bound the attributes that the request has set, by their names
 * @param unreadable the fields that could not be converted, which differ from any value
 * @throws RecordNotFound (404) if the record has been deleted
 */
export async function createStaleErrors(
  work: RecordWork,
  record: Model,
  bound: ReadonlyMap<string, unknown> = new Map(),
  unreadable: readonly { attribute: Attribute }[] = [],
): Promise<StaleRecord> {
  const { tx, translate: t = () => undefined } = work
  const model = record.constructor
  const metadata = tx.dataSource.getMetadata(model)
  const { versionColumn } = metadata
  // The handler may have found the record without its scope. The scopes of related models still apply.
  const scopeFor = (other: Function | string) => (other === model ? undefined : work.scopeFor(other))
  const current = await findRecord<Model>({ tx, scopeFor }, model, record.id, {
    trashed: isTrashed(metadata, record),
  })
  versionColumn?.setEntityValue(record, versionColumn.getEntityValue(current))
  const errors = new StaleRecord()
  translate(errors, record, t)
  const changes = await explainChange(work, metadata, record)
  for (const violation of errors.fields.get(RECORD) ?? [])
    violation.message = [violation.message, ...changes].join(' ')
  for (const attribute of attributesOf(model).filter(({ name }) => bound.has(name))) {
    const { name, kind, isList, file } = attribute
    const value: unknown = file ? namesOf(Reflect.get(current, name)) : Reflect.get(current, name)
    const isUnreadable = unreadable.some((field) => field.attribute.name === name)
    const [ours, theirs] = [record, current].map((one) => textOf(Reflect.get(one, name), attribute))
    if (!isUnreadable && ours === theirs) continue
    const isShown = (file !== undefined || (!isList && kind !== 'uuid')) && !isHiddenProperty(model, name)
    const values = { value: isShown ? formatValue(value, attribute, model, t) : undefined }
    const id = `validation.changed${isShown ? '' : '_hidden'}`
    errors.add(name, 'changed', t(id, values) ?? 'This has been changed, too.', values)
  }
  markTranslated(errors)
  return errors
}

/** The names of the files in an attribute; null if there are none. */
function namesOf(files: unknown): string | null {
  const names = [files].flat().map((file): unknown => Reflect.get(Object(file), 'filename') ?? '')
  return names.filter(Boolean).join(', ') || null
}

/** The ids of the files in an attribute, in their order. */
function idsOf(files: unknown): string {
  return [files]
    .flat()
    .map((file): unknown => Reflect.get(Object(file), 'id'))
    .join()
}

/** Returns a string that is the same for equal values, the same ids in any order, and the same lines. */
function textOf(value: unknown, { lines, file }: Attribute): string {
  if (file) return idsOf(value)
  if (lines) {
    const names = ['id', ...lines.fields]
    return JSON.stringify(
      recordsOf(value).map((line) => names.map((name) => Reflect.get(line, name) ?? null)),
    )
  }
  return JSON.stringify(Array.isArray(value) ? value.toSorted() : (value ?? null))
}

/** Formats a value for the message: a `Date` for its translation, a translated word, or a short text. */
function formatValue(value: unknown, { name, kind }: Attribute, model: Function, t: Translate): unknown {
  if (value === null || value === '') return t('kit.none', {})
  if (typeof value === 'boolean') return t(value ? 'kit.yes' : 'kit.no', {})
  if (value instanceof Date) return value
  if (kind === 'date') return new Date(String(value))
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  if (kind === 'enum') return t(`${recordName(model.name)}.${name}.${text}`, {}) ?? text
  return shorten(text, maxLength)
}
