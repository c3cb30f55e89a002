import type { EntityManager, ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { BoundedMap, memoizeByObject } from '../../../memoize.js'
import { lockClause } from '../locking.js'
import type { PlainModel, Row } from './plain-model.js'
import { COUNTED } from '../../engines/sqlite/cached-counts.js'

/** The records that a query selects. */
export interface Selection {
  /** The columns and the values that they must have. */
  where?: object | undefined
  order?: object | undefined
  /** The number of records, and the number of records to skip. */
  limit?: number
  offset?: number
  /** Whether the rows are locked until the transaction ends. */
  lock?: boolean
}

/** A query that TypeORM has built once, for all conditions on the same columns. */
interface CachedQuery {
  sql: string
  /** The columns of the condition, in the order of the query's parameters. */
  names: string[]
}

/** The number of queries that are cached for a model. */
const maxQueries = 200

const queriesOf = memoizeByObject((_model: PlainModel) => new BoundedMap<CachedQuery>(maxQueries))

/** Whether queries with a condition are cached: each column must be compared with a single text or number. */
function isSimple(where: unknown): where is Record<string, string | number> {
  if (typeof where !== 'object' || where === null || Array.isArray(where)) return false
  for (const value of Object.values(where))
    if (typeof value !== 'string' && typeof value !== 'number') return false
  return true
}

/** Selects the records that meet a condition; undefined if the condition isn't only columns, so that TypeORM must do it. */
export async function selectRecords(
  tx: EntityManager,
  model: PlainModel,
  { where = {}, order, limit, offset, lock }: Selection,
): Promise<object[] | undefined> {
  if (!isSimple(where)) return undefined
  const query = queryFor(tx, model, where, order, 'records')
  if (!query) return undefined
  const values: unknown[] = query.names.map((name) => where[name])
  let { sql } = query
  // SQLite would plan a statement again for each limit that is a parameter.
  if (limit !== undefined) sql += ` LIMIT ${Number(limit)}`
  if (offset) sql += ` OFFSET ${place(tx, values.push(offset))}`
  if (lock) sql += lockClause(tx)
  const rows = await run(tx, sql, values)
  return rows.map((row) => model.toRecord(row))
}

/** Counts the records that meet a condition; undefined if TypeORM must do it. */
export async function countRecords(
  tx: EntityManager,
  model: PlainModel,
  where: object = {},
): Promise<number | undefined> {
  if (!isSimple(where)) return undefined
  const query = queryFor(tx, model, where, undefined, 'count')
  if (!query) return undefined
  const [row] = await run(
    tx,
    query.sql,
    query.names.map((name) => where[name]),
  )
  return Number(row?.[COUNTED])
}

/** Runs a statement. The request's query runner tracks it, so the manager need not. */
export function run(tx: EntityManager, sql: string, values: unknown[]): Promise<Row[]> {
  return tx.queryRunner ? tx.queryRunner.query(sql, values) : tx.query(sql, values)
}

function queryFor(
  tx: EntityManager,
  model: PlainModel,
  where: Record<string, string | number>,
  order: object | undefined,
  what: 'records' | 'count',
): CachedQuery | undefined {
  const queries = queriesOf(model)
  const names = Object.keys(where)
  const key = JSON.stringify([what, names, order])
  let query = queries.get(key)
  if (!query) {
    query = build(tx, model, names, order, what)
    if (query) queries.set(key, query)
  }
  return query
}

/**
 * Lets TypeORM build a query. Markers instead of values show which parameter belongs to which column.
 *
 * @returns undefined if the query has other parameters, or if a record could be in several of its rows
 */
function build(
  tx: EntityManager,
  { metadata }: PlainModel,
  names: string[],
  order: object | undefined,
  what: 'records' | 'count',
): CachedQuery | undefined {
  const columns = names.map((name) => metadata.findColumnWithPropertyPathStrict(name))
  if (columns.some((column) => !column || column.transformer || column.embeddedMetadata)) return undefined
  const signs = names.map((name) => `sign of ${name}`)
  const where = Object.fromEntries(names.map((name, index) => [name, signs[index]]))
  const builder: SelectQueryBuilder<ObjectLiteral> = tx
    .createQueryBuilder(metadata.target, metadata.name)
    .setFindOptions({ where, ...(order && { order }) })
  if (what === 'count') builder.select('COUNT(*)', COUNTED).orderBy().setOption('disable-global-order')
  const [sql, parameters] = builder.getQueryAndParameters()
  if (builder.expressionMap.joinAttributes.some(({ relation }) => !relation?.isManyToOne)) return undefined
  const asked = parameters.flatMap((parameter) => names[signs.indexOf(String(parameter))] ?? [])
  return asked.length === parameters.length ? { sql, names: asked } : undefined
}

/** The placeholder of a query's n-th parameter. */
function place(tx: EntityManager, position: number): string {
  return tx.dataSource.driver.createParameter('', position - 1)
}
