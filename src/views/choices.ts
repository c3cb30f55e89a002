import { defaultLocale, keptByLocale } from '../translations/formatters.js'
import { attributes, html, type Html } from './html.js'
import { textValue } from './input-values.js'

/** One of the values of a select: a word, a value with a label, or a record, which is shown by its title, name or id. */
export type Choice = string | { value: string; label: string } | Labelled

/** The option of a select that stands for nothing. */
export function blankOption(text: string): Html {
  return html`<option value="">${text}</option>`
}

/**
 * An option of a select, selected when it is the field's value.
 *
 * @param labelOf the label of a choice that is a word
 */
export function option(choice: Choice, selected: string, labelOf: (word: string) => string): Html {
  const value = choiceValue(choice)
  return html`<option${attributes({ value, selected: value === selected })}>${choiceLabel(choice, labelOf)}</option>`
}

/** The value that a choice submits. */
export function choiceValue(choice: Choice): string {
  if (typeof choice === 'string') return choice
  return 'value' in choice ? choice.value : choice.id
}

function choiceLabel(choice: Choice, labelOf: (word: string) => string): string {
  if (typeof choice === 'string') return labelOf(choice)
  return 'value' in choice ? choice.label : recordLabel(choice)
}

/** A record that a select may offer. */
interface Labelled {
  id: string
  title?: unknown
  name?: unknown
}

/**
 * Sorts records by what a select shows of them, their title or name, as the language does. Those that are called the
 * same, or have nothing but an id, keep their order.
 *
 * @example sortByLabel(await ctx.tx.find(Author), ctx.locale)
 */
export function sortByLabel<T extends { id: string }>(records: readonly T[], locale = defaultLocale): T[] {
  const { compare } = collator(locale)
  return records
    .map((record) => ({ record, label: givenLabel(record) }))
    .toSorted((one, other) => compare(one.label, other.label))
    .map(({ record }) => record)
}

function givenLabel({ title, name }: Labelled): string {
  return textValue(title ?? name)
}

/** `Part 2` comes before `Part 10`. */
const collator = keptByLocale((locale) => new Intl.Collator(locale, { numeric: true }))

/** What a record is called where another one refers to it: its title, else its name, else its id. */
export function recordLabel({ id, title, name }: Labelled): string {
  return textValue(title ?? name ?? id)
}
