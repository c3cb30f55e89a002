import { unreadable } from '../../attributes/coerce.js'
import { bounds, isTooLong } from './bounds.js'
import type { Include, ListDefinition, SortKey } from '../definition/definition.js'
import type { QueryErrors } from './query-errors.js'

/** The parameters of a request that its list has, with the values that were sent. */
export type SentParameters = ReadonlyMap<string, readonly string[]>

/** Reads the order of the parameter `sort`; undefined if it isn't given. */
export function readSort(
  sent: SentParameters,
  { sorts }: ListDefinition,
  errors: QueryErrors,
): SortKey[] | undefined {
  const names = listOf(sent, 'sort')
  if (names.length === 0) return undefined
  if (names.length > bounds.sorts) {
    rejectMany('sort', 'query.sorts', bounds.sorts, errors)
    return []
  }
  const keys = new Map<string, SortKey>()
  for (const name of names) {
    const isDescending = name.startsWith('-')
    const column = sorts.get(isDescending ? name.slice(1) : name)
    if (!column) errors.addUnknown('sort', name, 'query.sort', sorts.keys())
    else if (keys.has(column.name))
      errors.add('sort', 'sort', 'query.repeated', `"${column.name}" is repeated.`, { name: column.name })
    else keys.set(column.name, { column, isDescending })
  }
  return [...keys.values()]
}

/** Reads the words of the parameter `search`. */
export function readSearch(
  sent: SentParameters,
  { search: columns }: ListDefinition,
  errors: QueryErrors,
): string[] {
  const text = lastOf(sent, 'search')
  if (text === undefined) return []
  const words = [...new Set(text.split(/\s+/u).filter(Boolean))]
  const isReadable = (word: string) => columns.every(({ read }) => read(word) !== unreadable)
  if (words.length > bounds.words) rejectMany('search', 'query.words', bounds.words, errors)
  else if (words.some(isTooLong))
    errors.add('search', 'search', 'query.word', 'A word of the search is too long.', {
      max: bounds.characters,
    })
  else if (words.every(isReadable)) return words
  else errors.add('search', 'search', 'query.search', 'The search contains unreadable characters.')
  return []
}

/** Reads the relations of the parameter `include`. */
export function readInclude(
  sent: SentParameters,
  { includes }: ListDefinition,
  errors: QueryErrors,
): Include[] {
  const names = [...new Set(listOf(sent, 'include'))]
  if (names.length > bounds.includes) {
    rejectMany('include', 'query.includes', bounds.includes, errors)
    return []
  }
  return names.flatMap((name) => {
    const found = includes.get(name)
    if (!found) errors.addUnknown('include', name, 'query.include', includes.keys())
    return found ?? []
  })
}

/** The value of a parameter: the last one if it is repeated. */
export function lastOf(sent: SentParameters, name: string): string | undefined {
  return sent.get(name)?.at(-1)
}

/** The names that a parameter lists. */
function listOf(sent: SentParameters, name: string): string[] {
  return lastOf(sent, name)?.split(',').filter(Boolean) ?? []
}

function rejectMany(parameter: string, rule: string, max: number, errors: QueryErrors): void {
  errors.add(parameter, parameter, rule, `${parameter} can have at most ${max} names.`, { max })
}
