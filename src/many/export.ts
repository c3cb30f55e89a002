import { Readable } from 'node:stream'
import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm'
import { SAFE_METHODS } from '../common/methods.js'
import type { Context, Middleware } from '../context.js'
import { transactionOf } from '../database/transactions/request-transaction.js'
import { NoTransaction } from '../errors.js'
import { addLogFields } from '../logging/request-logger.js'
import { addScope, scopeOf } from '../records/scope.js'
import { readAlternatives } from '../records/conditions.js'
import type { RequestedList } from '../records/lists/request.js'
import { dialectOf, plainDialect, writeCell, type Dialect } from './cells.js'
import { columnsOf, type Column } from './columns.js'
import { selectList } from './selected-list.js'

/** The characters of a part of the file that is written at a time. */
const partLength = 16 * 1024

/** The types of a list, the preferred one first. */
const types = [
  'application/json',
  'application/xml',
  'text/xml',
  'text/html',
  'application/xhtml+xml',
  'text/csv',
]

/** Whether a request of a list asks for CSV: by its path, `/parts.csv`, or by `Accept: text/csv`. Groups of types never mean CSV. */
export function wantsCsv(ctx: Context): boolean {
  if (!SAFE_METHODS.includes(ctx.method)) return false
  return (
    isFile(ctx) || (/\btext\/csv\b/i.test(ctx.req.headers.accept ?? '') && ctx.accepts(types) === 'text/csv')
  )
}

/** Whether the file is for a spreadsheet. */
function isFile({ path }: Context): boolean {
  return path.endsWith('.csv')
}

/**
 * Responds with all records of a list as CSV, which are read from the database at the pace of the client.
 *
 * @param list the handler of the list
 * @throws CsvNotRecords (500), ValidationErrors (400)
 */
export async function exportList(ctx: Context, list: Middleware): Promise<void> {
  const { resource } = ctx.route
  const selected = await selectList(ctx, list)
  const columns = columnsOf(selected.list.metadata, resource?.many?.csv)
  const dialect = isFile(ctx) ? dialectOf(ctx.locale) : plainDialect
  const rows = ctx.method === 'HEAD' ? [] : await readRows(ctx, selected.list, columns)
  if (isFile(ctx)) ctx.attachment(`${resource?.plural ?? 'records'}.csv`)
  else ctx.vary('Accept')
  ctx.status = selected.status
  ctx.set('Content-Type', 'text/csv; charset=utf-8')
  ctx.body = Readable.from(write(ctx, rows, columns, dialect), { objectMode: false })
}

/** A row of the statement. Its columns are named by their position: `c0`. */
type Row = Record<string, unknown>

/** The rows of a list. The statement runs in the request's transaction. */
async function readRows(
  ctx: Context,
  { selection }: RequestedList,
  columns: readonly Column[],
): Promise<AsyncIterable<Row> | Row[]> {
  if (!selection) return []
  const transaction = transactionOf(ctx)
  if (!transaction) throw new NoTransaction()
  const { sql, values } = selection.whole((builder) => selectColumns(ctx, builder, columns))
  // A stream of rows has no other values.
  return (await transaction.stream(sql, values)) as AsyncIterable<Row>
}

/** Selects the columns of a file. Each relation is joined once, within the scope of its model. */
function selectColumns(
  ctx: Context,
  builder: SelectQueryBuilder<ObjectLiteral>,
  columns: readonly Column[],
): void {
  builder.select([])
  const joined = new Set<unknown>()
  for (const [index, { metadata, relation }] of columns.entries()) {
    const alias = relation ? `csv_${relation.propertyName}` : builder.alias
    if (relation && !joined.has(relation)) join(ctx, builder, relation, alias)
    joined.add(relation)
    builder.addSelect(`${alias}.${metadata.propertyPath}`, `c${index}`)
  }
}

/** Joins the record that a key refers to, if the policy shows it. */
function join(
  ctx: Context,
  builder: SelectQueryBuilder<ObjectLiteral>,
  { joinColumns: [key], inverseEntityMetadata: related }: NonNullable<Column['relation']>,
  alias: string,
): void {
  const { propertyName: referred = 'id' } = key?.referencedColumn ?? {}
  const scope = addScope(related, undefined, scopeOf(ctx, related))
  const where = scope && readAlternatives(related, scope)
  const visible = builder.subQuery().select(`visible.${referred}`).from(related.target, 'visible')
  if (where) visible.setFindOptions({ where, loadEagerRelations: false })
  else visible.where('1 = 0')
  const isSame = `${alias}.${referred} = ${builder.alias}.${key?.propertyPath}`
  builder.leftJoin(
    related.target,
    alias,
    scope ? `${isSame} AND ${alias}.${referred} IN ${visible.getQuery()}` : isSame,
  )
}

/** Writes the heading and the rows, some at a time. */
async function* write(
  ctx: Context,
  rows: AsyncIterable<Row> | Row[],
  columns: readonly Column[],
  dialect: Dialect,
): AsyncGenerator<string> {
  const { separator } = dialect
  const cells = columns.map(({ metadata, kind }, index) => {
    const { driver } = metadata.entityMetadata.dataSource
    return (row: Row) => writeCell(driver.prepareHydratedValue(row[`c${index}`], metadata), kind, dialect)
  })
  // Excel needs the byte order mark.
  yield `${isFile(ctx) ? '\uFEFF' : ''}${columns.map(({ name }) => name).join(separator)}\r\n`
  let [part, count] = ['', 0]
  for await (const row of rows) {
    count += 1
    for (const [index, cell] of cells.entries()) part += index === 0 ? cell(row) : separator + cell(row)
    part += '\r\n'
    if (part.length < partLength) continue
    addLogFields(ctx, { rows: count })
    yield part
    part = ''
  }
  addLogFields(ctx, { rows: count })
  if (part) yield part
}
