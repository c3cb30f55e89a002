import type { Attribute } from './arguments/attributes.js'
import { specVariable, type Names } from './arguments/names.js'
import { SOURCES } from './arguments/kinds.js'
import { timestampAttributes, type ListAttribute, type ListPlan } from './arguments/lists.js'
import { quote } from './files/lines.js'

/** The columns that a list needs an index for: those that it sorts by, except unique columns and unlimited values. */
export function sortedColumns(list: ListPlan | undefined, attributes: readonly Attribute[]): string[] {
  return [...attributes, ...timestampAttributes]
    .filter((one) => list?.sorts.includes(one))
    .filter(({ kind, isUnique }) => !SOURCES[kind].isUnbounded && !isUnique)
    .map(({ name }) => name)
}

/** The columns that a list finds by their beginning. */
export function prefixColumns(list: ListPlan | undefined): string[] {
  return (list?.filters ?? []).filter(({ kind }) => kind === 'string').map(({ name }) => name)
}

/**
 * The variables of the scaffolds for a list; undefined if clients cannot query it.
 *
 * @param includes the relations that clients can include, with their attributes
 */
export function listLocals(list: ListPlan | undefined, names: Names, includes: readonly string[]) {
  if (!list) return undefined
  const record = specVariable(names)
  const { filters, sorts, isDescending, searches } = list
  const declared = filters.map(
    ({ name, kind }) => `${name}: [${SOURCES[kind].operators.map(quote).join(', ')}]`,
  )
  const sorted = sorts.map(({ name }, index) => quote(isDescending && index === 0 ? `-${name}` : name))
  return {
    declaration: [
      declared.length > 0 && `filter: { ${declared.join(', ')} },`,
      sorted.length > 0 && `sort: [${sorted.join(', ')}],`,
      searches.length > 0 && `search: [${searches.map(({ name }) => quote(name)).join(', ')}],`,
      includes.length > 0 && `include: { ${includes.join(', ')} },`,
    ].filter((line) => line !== false),
    isSorted: (name: string) => sorts.some((one) => one.name === name),
    /** The parameters of a query that finds the record of a spec. */
    query: [
      ...filters.flatMap((attribute) => parameterOf(attribute, record)),
      ...sorts.slice(0, 1).map(({ name }) => `sort: '${name}'`),
      ...searches
        .slice(0, 1)
        .map(({ name, isNullable }) => `search: ${record}.${name}${isNullable ? " ?? ''" : ''}`),
    ],
    /** The choices of references in the filter form. */
    choices: choicesOf(filters, names.many),
  }
}

/** The column that a list is sorted by in descending order unless a client asks for another order; undefined for the newest first. */
export function defaultSort(list: ListPlan | undefined): string | undefined {
  const name = list?.isDescending ? list.sorts[0]?.name : undefined
  return name === 'created_at' ? undefined : name
}

/** The default order of a list in words. */
export function orderOf(list: ListPlan | undefined): string {
  const name = defaultSort(list)
  return name === undefined ? 'newest first' : `sorted by ${name} in descending order`
}

/** The timestamps that a list is sorted by. */
export function timestampsOf(list: ListPlan | undefined): string[] {
  return timestampAttributes.filter((one) => list?.sorts.includes(one)).map(({ name }) => name)
}

/** `, { choices: { author_id: authors } }` */
function choicesOf(filters: readonly ListAttribute[], many: string): string {
  const choices = filters.flatMap(({ name, reference }) =>
    // Choices of the list's own model are left out: their variable would have the name of the list.
    reference && reference.model.many !== many ? [`${name}: ${reference.model.many}`] : [],
  )
  return choices.length > 0 ? `, { choices: { ${choices.join(', ')} } }` : ''
}

/** The first operator of a filter, with the value of the record. An empty value counts as not given. */
function parameterOf({ name, kind, isNullable }: ListAttribute, record: string): string {
  const { operators, type } = SOURCES[kind]
  const [operator = ''] = operators
  const parameter = operator === 'eq' || operator === 'in' ? name : `'${name}.${operator}'`
  const value = `${record}.${name}`
  const [optional, otherwise] = isNullable ? ['?', " ?? ''"] : ['', '']
  if (type === 'string') return `${parameter}: ${value}${otherwise}`
  if (type === 'Date') return `${parameter}: ${value}${optional}.toISOString()${otherwise}`
  return `${parameter}: String(${value}${otherwise})`
}
