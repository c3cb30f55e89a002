import { attributes, html, type Html } from './html.js'
import { textValue } from './input-values.js'

/** One of the values of a select: a word, a value with a label, or a record, which is shown by its title, name or id. */
export type Choice =
  string | { value: string; label: string } | { id: string; title?: unknown; name?: unknown }

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

/** What a record is called where another one refers to it: its title, else its name, else its id. */
export function recordLabel({ id, title, name }: { id: string; title?: unknown; name?: unknown }): string {
  return textValue(title ?? name ?? id)
}
