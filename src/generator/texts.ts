import { stringify } from 'yaml'
import { humanize } from '../naming/words.js'
import type { Attribute } from './arguments/attributes.js'
import type { Names } from './arguments/names.js'
import type { routeLocals } from './arguments/routes.js'

/** An entry of a generated locale file, as YAML. */
export interface Text {
  id: string
  translation: string
}

/**
 * The texts of a resource in English.
 *
 * @param record the name of the record in translation ids
 * @param attributes the attributes that get labels
 * @param otherIds the ids of other files. Resources of one model share its labels
 */
export function textsOf(
  names: Names,
  routes: ReturnType<typeof routeLocals>['routes'],
  record: string,
  attributes: readonly Attribute[],
  otherIds: ReadonlySet<string>,
) {
  const { ids, words, isSingular } = names
  const labels = attributes.flatMap((attribute) => [
    text(`${record}.${attribute.name}`, humanize(attribute.name)),
    ...choiceTexts(record, attribute),
  ])
  const timestamps = ['created_at', 'updated_at'].map((name) => text(`${record}.${name}`, humanize(name)))
  return {
    names: [
      text(ids.one, words.One),
      ...(isSingular ? [] : [text(ids.many, words.Many)]),
      text(`${ids.one}.new`, `New ${words.one}`),
      text(`${ids.one}.edit`, `Edit ${words.one}`),
    ],
    messages: [
      ...['created', 'updated', 'destroyed'].map((action) =>
        text(`${ids.one}.${action}.success`, `${words.One} was ${action} successfully.`),
      ),
      ...(isSingular ? [text(`${ids.one}.exists.error`, `The ${words.one} already exists.`)] : []),
      ...routes.flatMap(({ word, isRead, label, success }) => [
        text(`${ids.one}.${word}.button`, label),
        ...(isRead ? [] : [text(`${ids.one}.${word}.success`, success)]),
      ]),
    ],
    labels: [...labels, ...timestamps].filter(({ id }) => !otherIds.has(id)),
  }
}

/** The labels of the choices of a select. */
function choiceTexts(record: string, { name, kind, isNullable, values }: Attribute): Text[] {
  if (kind === 'bool' && isNullable) {
    return [text(`${record}.${name}.true`, 'Yes'), text(`${record}.${name}.false`, 'No')]
  }
  return values.map((value) => text(`${record}.${name}.${value}`, humanize(value)))
}

/** Texts that YAML would read as another type are quoted. */
function text(id: string, translation: string): Text {
  return { id, translation: stringify(translation, { singleQuote: true, lineWidth: 0 }).trim() }
}
