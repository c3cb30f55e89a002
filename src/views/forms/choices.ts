import { defaultLocale, memoizeByLocale } from '../../translations/formatters.js'
import type { Choices } from '../../records/lists/choices.js'
import { attributes, html, type Html } from '../html.js'
import { linkTo } from '../links.js'
import type { ViewContext } from '../view-context.js'
import { textValue } from '../../common/input-values.js'

/** A choice of a select: a word, a number, a value with a label, or a record, shown by title, name or id. */
export type Choice = string | number | { value: string | number; label: string } | LabeledRecord

/** The empty option of a select. */
export function blankOption(text: string): Html {
  return html`<option value="">${text}</option>`
}

/**
 * Renders an option of a select, which is selected if the field has its value.
 *
 * @param labelOf returns the label of a word
 */
export function option(choice: Choice, selected: readonly string[], labelOf: (word: string) => string): Html {
  const value = choiceValue(choice)
  return html`<option${attributes({ value, selected: selected.includes(value) })}>${choiceLabel(choice, labelOf)}</option>`
}

/** The value that a choice submits. */
export function choiceValue(choice: Choice): string {
  if (typeof choice !== 'object') return String(choice)
  return 'id' in choice ? choice.id : String(choice.value)
}

/** The text that a choice shows. */
export function choiceLabel(choice: Choice, labelOf: (word: string) => string): string {
  if (typeof choice === 'number') return String(choice)
  if (typeof choice === 'string') return labelOf(choice)
  return 'id' in choice ? recordLabel(choice) : choice.label
}

/** A record that a select may offer. */
interface LabeledRecord {
  id: string
  title?: unknown
  name?: unknown
}

/**
 * Sorts records by the label that a select shows, their title or name, in the order of the language. Records
 * with equal labels, or with an id only, keep their order.
 *
 * @example sortByLabel(await ctx.tx.find(Author), ctx.locale)
 */
export function sortByLabel<T extends { id: string }>(records: readonly T[], locale = defaultLocale): T[] {
  const { compare } = collator(locale)
  return records
    .map((record) => ({ record, label: titleOrName(record) }))
    .toSorted((one, other) => compare(one.label, other.label))
    .map(({ record }) => record)
}

function titleOrName({ title, name }: LabeledRecord): string {
  return textValue(title ?? name)
}

/** Numeric order: `Part 2` comes before `Part 10`. */
const collator = memoizeByLocale((locale) => new Intl.Collator(locale, { numeric: true }))

/** The label of a record: its title, else its name, else its id. */
export function recordLabel({ id, title, name }: LabeledRecord): string {
  return textValue(title ?? name ?? id)
}

/** The choices of a field: a list, or what `ctx.choices` returns. */
export type Offered = readonly Choice[] | Choices

/** The choices that a field shows. */
export interface Offer {
  choices: readonly Choice[]
  /** Whether these are all choices. */
  isComplete: boolean
  /** The name of the collection with all records: `users`. */
  collection?: string
}

/**
 * Returns the choices to show. Records of `ctx.choices` are sorted by their labels, in the order of the
 * language. Selected ids that are not available follow, so that a form that is sent unchanged changes
 * nothing.
 */
export function offer(offered: Offered, context: ViewContext, selected: readonly string[]): Offer {
  if (!('records' in offered)) return { choices: offered, isComplete: true }
  const { records, unavailable = [] } = offered
  const chosen = unavailable.filter((id) => selected.includes(id))
  const others = chosen.map((value) => ({ value, label: context.t('kit.not_available') }))
  return { ...offered, choices: [...sortByLabel(records, context.locale), ...others] }
}

/** The hint of a text field for an id: the selected record, and a link to the list if there is one. */
export function idHint(context: ViewContext, { collection }: Offer, selected?: Choice): Html {
  const present = selected && context.t('kit.present', { name: choiceLabel(selected, String) })
  const list = context.collections?.().find((link) => link.name === collection)
  return html`${present && html`${present} `}${
    list ? html`${context.t('kit.id_from')} ${linkTo(context, list)}` : context.t('kit.id')
  }`
}
