import type { ValidationErrors, Violation } from '../../errors.js'
import { humanize, recordName } from '../../naming/words.js'
import { RECORD } from '../../common/record-field.js'
import { nestedListsOf } from '../attributes/attributes.js'
import { placeOf } from '../record-state.js'
import { attributeName, messageOf, type Translate } from './validation.js'

const translated = new WeakSet<Violation>()

/** Marks the errors of a record as translated, so that `translateAdded` leaves them unchanged. */
export function markTranslated(errors: ValidationErrors): void {
  for (const violation of [...errors.fields.values()].flat()) translated.add(violation)
}

/**
 * Translates the errors that a hook of a model or a handler has added, once. An error that has neither a
 * message nor a translation of its rule gets the translation `validation.invalid`.
 *
 * @param model the class of the record, if it is known
 */
export function translateAdded(
  errors: ValidationErrors,
  model: Function | undefined,
  t: Translate = () => undefined,
): void {
  for (const [field, violations] of errors.fields) {
    for (const violation of violations) {
      if (translated.has(violation)) continue
      const attribute = nameOf(field, violation, model, t)
      violation.values = { ...violation.values, attribute }
      const { rule, values, message, isDefault } = violation
      const texts = isDefault
        ? { own: t('validation.invalid', values) ?? message }
        : { added: message, own: message }
      violation.message = messageOf(model, field, rule, values, texts, t)
      translated.add(violation)
    }
  }
}

/**
 * Gives the errors that a hook has added for lines the places of their rows in the body: the hook counts the lines of its record, from
 * which removed and blank rows are missing.
 */
export function placeAdded(errors: ValidationErrors, record: object): void {
  const lists = nestedListsOf(record.constructor).map(({ name }) => name)
  const added = [...errors.fields]
  if (!added.some(([field]) => lists.includes(field.split('.', 1)[0] ?? '') && field.includes('.'))) return
  errors.fields.clear()
  for (const [field, violations] of added) {
    const [name = '', index, ...attribute] = field.split('.')
    const line: unknown = lists.includes(name) ? Reflect.get(record, name)?.[Number(index)] : undefined
    const place =
      line instanceof Object ? [name, placeOf(line, Number(index)), ...attribute].join('.') : field
    errors.fields.set(place, violations)
  }
}

/** The name of a field in messages, or the name of the record for errors that belong to no field. */
function nameOf(field: string, { values }: Violation, model: Function | undefined, t: Translate): unknown {
  if (!model) return humanize(field)
  if (field !== RECORD) return attributeName(model, field, t)
  const record = recordName(model.name)
  return t(record, {}) ?? values?.['attribute'] ?? humanize(record)
}
