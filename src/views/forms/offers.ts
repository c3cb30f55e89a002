import type { Choices } from '../../data/lists/choices.js'
import { choiceLabel, sortByLabel, type Choice } from './choices.js'
import { html, type Html } from '../html.js'
import { linkTo } from '../links.js'
import type { ViewContext } from '../view-context.js'

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

/** Returns the choices to show. Records of `ctx.choices` are sorted by their labels, in the order of the language. */
export function offer(offered: Offered, locale: string): Offer {
  if (!('records' in offered)) return { choices: offered, isComplete: true }
  return { ...offered, choices: sortByLabel(offered.records, locale) }
}

/** The hint of a text field for an id: the selected record, and a link to the list of all records if there is a list. */
export function idHint(context: ViewContext, { collection }: Offer, selected?: Choice): Html {
  const name = selected && context.t('kit.present', { name: choiceLabel(selected, String) })
  const list = context.collections?.().find((link) => link.name === collection)
  return html`${name && html`${name} `}${
    list ? html`${context.t('kit.id_from')} ${linkTo(context, list)}` : context.t('kit.id')
  }`
}
