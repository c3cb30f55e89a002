import { BadNested } from '../../command-errors.js'
import { collectionName, itemName } from '../../naming/words.js'
import { parseAttributes, withoutUnique, type Attribute } from './attributes.js'
import { namesOf, type Names } from './names.js'

/** A list of records that are a part of a record, as the command line describes it: `line item:references quantity:int`. */
export interface NestedPlan {
  /** The property with the list: `lines`. */
  name: string
  /** `line`: the end of the translation id of a row. */
  item: string
  /** The names of its model, whose parent is the record: `order_line`. */
  names: Names
  attributes: readonly Attribute[]
  /** The columns of each unique index. A value is unique in a list. */
  uniques: readonly (readonly string[])[]
  /** The least number of lines. */
  min: number
}

/**
 * Parses the `--nested` options of a command line.
 *
 * @param model the names of the record
 * @param taken the names that other properties of the record already have
 * @param min the least number of lines
 * @throws CommandError when a list or an attribute is malformed, or when a name is taken
 */
export function parseNested(
  words: readonly string[],
  model: Names,
  taken: readonly string[],
  min: number,
): NestedPlan[] {
  const lists = words.map((word) => parseList(word, model, taken, min))
  const names = lists.map(({ name }) => name)
  const repeated = names.findIndex((name, index) => names.indexOf(name) < index)
  if (repeated === -1) return lists
  throw new BadNested(words[repeated] ?? '', `"${names[repeated]}" is used twice. Use another name`)
}

function parseList(text: string, model: Names, taken: readonly string[], min: number): NestedPlan {
  const [word = '', ...words] = text.trim().split(/\s+/)
  const item = itemName(word)
  const name = collectionName(item)
  // The name of a list is a property, as that of an attribute is.
  for (const property of new Set([name, item])) {
    parseAttributes([property])
    if (taken.includes(property))
      throw new BadNested(text, `a ${model.words.one} has "${property}" already. Choose another name`)
  }
  const names = { ...namesOf(`${model.singular}_${item}`), parent: model }
  const key = `${model.singular}_id`
  const parsed = parseAttributes(words)
  for (const attribute of parsed) rejectOutside(text, attribute, model, names)
  if (parsed.every(({ isSecret }) => isSecret))
    throw new BadNested(text, `it needs an attribute that a form can set, as in "${item} quantity:int"`)
  const attributes = parsed.map(withoutUnique)
  const uniques = parsed.filter(({ isUnique }) => isUnique).map((one) => [key, one.name])
  return { name, item, names, attributes, uniques, min }
}

/** @throws BadNested for an attribute that a line cannot have */
function rejectOutside(text: string, attribute: Attribute, model: Names, names: Names): void {
  const { name, isList, file, reference } = attribute
  const taken = ['position', model.singular, `${model.singular}_id`]
  if (file) throw new BadNested(text, `"${name}" is a file. Add it to the model by hand`)
  if (isList) throw new BadNested(text, `"${name}" is a many-to-many relation, which a line does not have`)
  if (taken.includes(name) || (reference && taken.includes(reference.property)))
    throw new BadNested(text, `each line has "${name}" already, which is set when its record is saved`)
  if (reference && [model.model, names.model].includes(reference.model.model))
    throw new BadNested(
      text,
      `"${reference.property}" refers to ${reference.model.model}, and a line is a part of it`,
    )
}
