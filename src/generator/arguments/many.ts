import { CommandError } from '../../command-errors.js'
import { nearest } from '../../naming/spelling.js'
import type { Attribute } from './attributes.js'
import { namesIn, type ResourceArguments } from './command-line.js'
import type { AddedRoute } from './routes.js'

/** The options of a generated resource for many records at once. */
export interface ManyPlan {
  /** The columns of the CSV file; undefined without `--csv`. */
  csv: readonly string[] | undefined
  /** The attribute that finds the records to update, or true if each line creates a record; undefined without `--import`. */
  import: string | true | undefined
  /** The handlers that are called for many records. */
  bulk: readonly string[]
}

/**
 * Parses `--csv`, `--import` and `--bulk`.
 *
 * @param unique the attributes that are unique, alone or within the parent and the owner
 * @throws CommandError for a key or an action that the resource does not have
 */
export function parseMany(
  { csv, import: imports, bulk }: ResourceArguments,
  attributes: readonly Attribute[],
  unique: readonly string[],
  routes: readonly AddedRoute[],
): ManyPlan {
  const columns = attributes
    .filter(({ isSecret, isList, file }) => !isSecret && !isList && !file)
    .map(({ name }) => name)
  const keys = ['id', ...unique.filter((name) => columns.includes(name))]
  if (typeof imports === 'string' && !keys.includes(imports))
    throw new CommandError(
      `--import=${imports} must name a unique attribute, or id. ${
        columns.includes(imports) ? `Write ${imports}:string:unique.` : `Unique are: ${keys.join(', ')}.`
      }`,
    )
  if (imports !== undefined && routes.some(({ on, word }) => on === 'collection' && word === 'import'))
    throw new CommandError(
      '--import has the path of the --route import. Leave out one of them, or rename the route.',
    )
  const actions = routes.filter(({ on, method }) => on === 'item' && method !== 'GET')
  const handlers = ['update', 'destroy', ...actions.map(({ handler }) => handler)]
  const called = namesIn(bulk).map((name) => actions.find(({ word }) => word === name)?.handler ?? name)
  const unknown = called.find((name) => !handlers.includes(name))
  if (unknown !== undefined) {
    const near = nearest(unknown, handlers)
    throw new CommandError(
      `--bulk has "${unknown}", which does not change an item. ` +
        (near
          ? `Did you mean "${near}"?`
          : `Use some of ${handlers.join(', ')}, or add --route ${unknown}:post.`),
    )
  }
  return {
    csv: csv ? ['id', ...columns, 'created_at'] : undefined,
    import: imports || undefined,
    bulk: called,
  }
}
