import { BadNested } from '../command-errors.js'
import { requireReference, textOf } from './application.js'
import { isReference, type Attribute, type ReferenceAttribute } from './arguments/attributes.js'
import type { NestedPlan } from './arguments/nested.js'
import { quote } from './files/lines.js'
import { itemName } from '../naming/words.js'
import type { ResourcePlan } from './resource-plan.js'

/**
 * Checks that the models to which lines refer exist, and that no model has the name of the lines' model.
 *
 * @param recorded the lists of an earlier command for the same model, whose files `--force` overwrites
 * @throws CommandError
 */
export function requireLines(
  folder: string,
  { nested }: ResourcePlan,
  recorded: readonly string[] = [],
): void {
  for (const { names, item, attributes } of nested) {
    const file = `src/models/${names.singular}.ts`
    const isOwn = recorded.some((text) => itemName(text.trim().split(/\s/)[0] ?? '') === item)
    if (!isOwn && textOf(folder, file) !== undefined)
      throw new BadNested(
        item,
        `its model would be ${names.model}, which ${file} contains already. Use another name`,
      )
    for (const attribute of attributes) requireReference(folder, names.plural, attribute)
  }
}

/** The lists of a record as the scaffolds of the record show them. */
export function nestedLocals({ nested, names, model }: ResourcePlan) {
  return nested.map((list) => {
    const shown = shownOf(list)
    const references = referencesOf(list)
    const lines = `${names.one}.${list.name}`
    const fields = shown.map(({ name }) => quote(name)).join(', ')
    const loaded = references.map(({ reference }) => quote(reference.property)).join(', ')
    return {
      ...list,
      attributes: shown,
      /** The name of the list for people. */
      words: list.name.replaceAll('_', ' '),
      /** The arguments of `@Nested`. */
      options: `{ fields: [${fields}]${list.min > 0 ? `, min: ${list.min}` : ''} }`,
      /** The relation of a line to the record. */
      relation: model.singular,
      /** The lines on the page of the record. Those with references are loaded into another variable. */
      shownLines: references.length > 0 ? list.names.many : lines,
      variables: references.length > 0 ? [`${list.names.many}: await ctx.load(${lines}, ${loaded})`] : [],
    }
  })
}

/** The attributes of lines that pages and requests have. */
function shownOf({ attributes }: NestedPlan): Attribute[] {
  return attributes.filter(({ isSecret }) => !isSecret)
}

/** The references of lines. */
export function referencesOf(list: NestedPlan): ReferenceAttribute[] {
  return shownOf(list).filter(isReference)
}

/** The source of the ids to which the lines of a record refer. A new record has no list yet. */
export function selectedOf(one: string, { name: list, attributes }: NestedPlan, many: string): string[] {
  return attributes
    .filter(isReference)
    .filter(({ reference }) => reference.model.many === many)
    .map(({ name }) => `...(${one}.${list} ?? []).map(({ ${name} }) => ${name})`)
}
