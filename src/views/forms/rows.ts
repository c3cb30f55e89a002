import { DeclarationError } from '../../errors.js'
import { nestedListsOf } from '../../models/attributes/attributes.js'
import { placeOf } from '../../models/record-state.js'
import { itemName, wordsOf } from '../../naming/words.js'
import { isTranslated, label } from '../labels.js'
import type { ViewContext } from '../view-context.js'

/** A row of a list in a form. */
export interface FormRow {
  line: object
  /** The name of the list: `lines`. */
  list: string
  index: number
  /** The title: "Line 2". */
  title: string
  /** Whether its box "Remove" is ticked. */
  isRemoved: boolean
  /** Whether it is offered for a new line. */
  isEmpty: boolean
}

/** The number of rows that the button adds. */
const moreRows = 2

/** The rows of a list: those that were sent, or those of the record, and empty ones. */
export function rowsOf(context: ViewContext, record: object, model: string, name: string): FormRow[] {
  const { constructor } = record
  const list = nestedListsOf(constructor).find((one) => one.name === name)
  if (!list)
    throw new DeclarationError(
      `${constructor.name} has no list "${name}" with @Nested, which form.rows shows.`,
    )
  if (context.fields && !context.fields.includes(name))
    throw new DeclarationError(
      `form.rows('${name}') shows rows that the resource does not read. Add '${name}' to its \`fields\`.`,
    )
  const sent = context.sentRows?.(record, name)
  const own: unknown = Reflect.get(record, name)
  const lines: object[] = Array.isArray(own) ? own : []
  const rows = sent?.rows ?? lines.map((line) => ({ line, isRemoved: false }))
  const toRow = (line: object, index: number) => {
    return { line, list: name, index, title: rowTitle(context, model, name, index) }
  }
  const shown = rows.map(({ line, isRemoved }, index): FormRow => {
    return { ...toRow(line, placeOf(line, index)), isRemoved, isEmpty: false }
  })
  const isAsked = new URLSearchParams(context.currentUrl.split('?')[1]).get('rows') === name
  const wanted = isAsked ? (sent?.blank ?? 0) + moreRows : list.extra
  const next = Math.max(-1, ...shown.map(({ index }) => index)) + 1
  const length = Math.max(0, Math.min(wanted, list.max - shown.length))
  const empty = Array.from({ length }, (_row, place): FormRow => {
    return { ...toRow(Reflect.construct(list.line, []), next + place), isRemoved: false, isEmpty: true }
  })
  return [...shown, ...empty]
}

/**
 * The title of a row: "Line 2".
 *
 * @param name the model's name, for the translation of the line: `order.line`
 */
export function rowTitle(context: ViewContext, name: string, list: string, index: number): string {
  return context.t('kit.row', { name: label(context, `${name}.${itemName(list)}`), number: index + 1 })
}

/** An entry of a list in a sentence: its translation, else "a line". */
export function aRow(context: ViewContext, name: string, list: string): string {
  const id = `${name}.${itemName(list)}`
  return isTranslated(context, id) ? context.t(id) : wordsOf(itemName(list), list).aOne
}
