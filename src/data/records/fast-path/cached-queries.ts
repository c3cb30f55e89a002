import type { EntityManager, ObjectLiteral } from 'typeorm'
import { BoundedMap, memoizeByObject } from '../../../common/memoize.js'
import type { PlainModel } from './plain-model.js'

/** A query that TypeORM has built once, for all conditions on the same columns. */
export interface CachedQuery {
  sql: string
  /** The columns of the condition, in the order of the query's parameters. */
  names: string[]
}

/** The number of queries that are cached for a model. */
const maxQueries = 200

const queriesOf = memoizeByObject((_model: PlainModel) => new BoundedMap<CachedQuery>(maxQueries))

/**
 * Returns the query for the first record that meets a condition; undefined if TypeORM must do the work, because the condition
 * isn't only columns.
 */
export function queryFor(tx: EntityManager, model: PlainModel, where: object): CachedQuery | undefined {
  if (!isSimple(where)) return undefined
  const queries = queriesOf(model)
  const names = Object.keys(where)
  const key = names.join()
  let query = queries.get(key)
  if (!query) {
    query = build(tx, model, names)
    if (query) queries.set(key, query)
  }
  return query
}

/** Whether queries with a condition are cached: each column must be compared with a single text or number. */
function isSimple(where: object): boolean {
  if (Array.isArray(where)) return false
  for (const value of Object.values(where))
    if (typeof value !== 'string' && typeof value !== 'number') return false
  return true
}

/**
 * Lets TypeORM build a query. Markers instead of values show which parameter belongs to which column.
 *
 * @returns undefined if the query has other parameters
 */
function build(tx: EntityManager, { metadata }: PlainModel, names: string[]): CachedQuery | undefined {
  const columns = names.map((name) => metadata.findColumnWithPropertyPathStrict(name))
  if (columns.some((column) => !column || column.transformer || column.embeddedMetadata)) return undefined
  const signs = names.map((name) => `sign of ${name}`)
  const where = Object.fromEntries(names.map((name, index) => [name, signs[index]]))
  const builder = tx.createQueryBuilder<ObjectLiteral>(metadata.target, metadata.name)
  const [sql, parameters] = builder.setFindOptions({ where }).getQueryAndParameters()
  const asked = parameters.flatMap((parameter) => names[signs.indexOf(String(parameter))] ?? [])
  return asked.length === parameters.length ? { sql: `${sql} LIMIT 1`, names: asked } : undefined
}
