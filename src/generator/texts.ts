import { stringify } from 'yaml'
import { humanize } from '../naming/words.js'
import type { Attribute } from './arguments/attributes.js'

/**
 * Returns the labels of attributes and timestamps in English, and those of the choices of a select.
 *
 * @param record the name of the record in translation ids
 * @param dates the columns with times
 * @param otherIds the ids in other files, which are left out, because all resources of a model share its labels
 */
export function labelsOf(
  record: string,
  attributes: readonly Attribute[],
  otherIds: ReadonlySet<string>,
  dates: readonly string[],
): { id: string; text: string }[] {
  const ofAttributes = attributes.flatMap(({ name, kind, isNullable, values }) => {
    const choices = values.map((value) => ({ value, text: humanize(value) }))
    const answers = [
      { value: 'true', text: 'Yes' },
      { value: 'false', text: 'No' },
    ]
    const own = kind === 'bool' && isNullable ? answers : choices
    return [
      { id: name, text: humanize(name) },
      ...own.map(({ value, text }) => ({ id: `${name}.${value}`, text })),
    ]
  })
  const timestamps = dates.map((id) => ({ id, text: humanize(id) }))
  return [...ofAttributes, ...timestamps]
    .map(({ id, text }) => ({ id: `${record}.${id}`, text }))
    .filter(({ id }) => !otherIds.has(id))
}

/** A text as YAML, with quotes if YAML would read it as another type. */
export function yaml(text: string): string {
  return stringify(text, { singleQuote: true, lineWidth: 0 }).trim()
}
