import { CommandError } from '../../command-errors.js'
import { listParameters } from '../../records/lists/declaration.js'
import { nearest } from '../../naming/spelling.js'
import type { Attribute } from './attributes.js'
import { namesIn, type ResourceArguments } from './command-line.js'
import { SOURCES } from './kinds.js'

/** The queries that clients may send to a generated list. */
export interface ListPlan {
  filters: readonly ListAttribute[]
  sorts: readonly ListAttribute[]
  /** Whether the list is sorted by the first of `sorts` in descending order by default. */
  isDescending: boolean
  searches: readonly ListAttribute[]
}

/** An attribute of a list: one of the model, or a timestamp. */
export type ListAttribute = Pick<Attribute, 'name' | 'kind' | 'isNullable' | 'isUnique' | 'reference'>

const timestamp = { kind: 'datetime', isNullable: false, isUnique: false, reference: undefined } as const

/** The columns of every model that a list may use. */
export const timestampAttributes: readonly ListAttribute[] = [
  { name: 'created_at', ...timestamp },
  { name: 'updated_at', ...timestamp },
]

/**
 * Parses the names of `--filter`, `--sort` and `--search`.
 *
 * @returns undefined without any name
 * @throws CommandError for an attribute that the resource lacks, that is a secret, or that the option does not support
 */
export function parseList(
  { filter, sort, search }: ResourceArguments,
  attributes: readonly Attribute[],
): ListPlan | undefined {
  if ([filter, sort, search].every((names) => namesIn(names).length === 0)) return undefined
  const columns = attributes.filter(({ isSecret, isList }) => !isSecret && !isList)
  const known = [...columns, ...timestampAttributes]
  const find = (option: string, name: string) => findAttribute(option, name, known)
  const filters = namesIn(filter).map((name) => find('--filter', name))
  const searches = namesIn(search).map((name) => find('--search', name))
  const names = namesIn(sort)
  const misplaced = names.slice(1).find((name) => name.startsWith('-'))
  if (misplaced !== undefined) {
    throw new CommandError(
      `--sort has "${misplaced}". Only its first name can have a minus, for the default order.`,
    )
  }
  const sorts = names.map((name) => find('--sort', name.replace('-', '')))
  const parameter = listParameters.find((name) => filters.some((filter) => filter.name === name))
  if (parameter !== undefined) {
    throw new CommandError(
      `--filter has "${parameter}", which is a parameter of every list. Leave it out, and add a filter with another name ` +
        `to @Queryable: ${parameter}_key: as('${parameter}', ['eq']).`,
    )
  }
  for (const { name, kind } of searches) {
    if (SOURCES[kind].isSearchable) continue
    throw new CommandError(`--search has "${name}", which has the type ${kind}. Use attributes of text.`)
  }
  return { filters, sorts, isDescending: names[0]?.startsWith('-') ?? false, searches }
}

function findAttribute(option: string, name: string, known: readonly ListAttribute[]): ListAttribute {
  const found = known.find((one) => one.name === name || one.reference?.property === name)
  const names = known.map((one) => one.name)
  if (!found) {
    const near = nearest(name, names)
    throw new CommandError(
      `${option} has "${name}", which isn't an attribute of the resource. ` +
        (near ? `Did you mean "${near}"?` : `Use some of ${names.join(', ')}.`),
    )
  }
  if (SOURCES[found.kind].operators.length > 0) return found
  throw new CommandError(`${option} has "${name}", which has the type ${found.kind}. Leave it out.`)
}
