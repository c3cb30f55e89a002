import type {
  EntityManager,
  EntityTarget,
  FindOptionsOrder,
  FindOptionsRelations,
  FindOptionsWhere,
} from 'typeorm'
import { readAlternatives, type Where } from '../records/conditions.js'
import { fastPath, type FastPath } from '../records/fast-path/fast-path.js'
import { loadLinks } from '../records/links.js'
import type { Queryable } from './declaration.js'
import type { ListQuery } from './query/list-query.js'
import type { Model } from '../model.js'
import type { RecordWork } from '../records/work.js'

/** The position of a page in a list. */
export class Pagination {
  /** The number of pages. An empty list has one, empty page. */
  readonly pages: number

  /**
   * @param page the requested page, which may be beyond the last one
   * @param perPage the maximum number of records on a page
   * @param total the number of records on all pages
   * @param isTotalKnown whether the records were counted; otherwise `total` and `pages` only count up to this page
   */
  constructor(
    readonly page: number,
    readonly perPage: number,
    readonly total: number,
    readonly isTotalKnown = true,
  ) {
    this.pages = Math.max(1, Math.ceil(total / perPage))
  }

  /** The previous page, if there is one. For a page beyond the end, it is the last page. */
  get previous(): number | undefined {
    return this.page > 1 ? Math.min(this.page - 1, this.pages) : undefined
  }

  /** The next page, if there is one. */
  get next(): number | undefined {
    return this.page < this.pages ? this.page + 1 : undefined
  }

  /** The number of records before this page. */
  get offset(): number {
    return (this.page - 1) * this.perPage
  }
}

/** The position of a page of a list with `pages: 'cursor'`. Its records are not counted. */
export class CursorPagination extends Pagination {
  /**
   * @param cursors the positions after which the next page begins, and before which the previous page ends
   */
  constructor(
    perPage: number,
    length: number,
    readonly cursors: { readonly next?: string | undefined; readonly previous?: string | undefined },
  ) {
    super(1, perPage, length, false)
  }

  override get previous(): undefined {
    return undefined
  }

  override get next(): undefined {
    return undefined
  }
}

/** The options of a list: its records, their order and the page size. */
export interface PageOptions<T> {
  where?: Where<T> | Where<T>[]
  /** The order, by default newest first. The id decides between records that are equal in this order. */
  order?: FindOptionsOrder<T>
  relations?: FindOptionsRelations<T>
  /** The number of records on a page if the client does not set `per_page` (20). */
  perPage?: number
  /** The maximum of `per_page` (100). */
  maxPerPage?: number
  /**
   * Whether all records are counted (yes). Without the count, a page of a large table is as fast as one of a small table,
   * but there is no `X-Total-Count` and no link to the last page. Reading one additional record shows whether there is a
   * next page.
   */
  total?: boolean
  /**
   * The queries that clients may send. The default is `@Queryable` of the handler. Declare it outside of the handler,
   * because it is checked once.
   */
  queryable?: Queryable<T>
}

/** The records of one page, and its position. */
export interface RecordPage<T> {
  records: T[]
  pagination: Pagination
}

/** One page of records. */
export interface Page<T> extends RecordPage<T> {
  /** The filters, search and order of the request. */
  query: ListQuery
}

/** The query parameters of a request, as they are. */
export interface PageQuery {
  page?: string | string[] | undefined
  per_page?: string | string[] | undefined
}

/**
 * Reads one page of records, newest first. Unreadable parameters, and numbers below 1, are ignored. If a parameter is
 * repeated, the last one counts. A page beyond the last one is empty.
 *
 * @example const { records, pagination } = await paginate(work, Post, { page: '2', per_page: '10' })
 */
export async function paginate<T extends Model>(
  work: RecordWork,
  model: EntityTarget<T>,
  query: PageQuery,
  options: PageOptions<T> = {},
): Promise<RecordPage<T>> {
  const { tx } = work
  const { where, total: isCounted = true } = options
  const position = pagePosition(query, options)
  const readable = where ? readAlternatives(tx.dataSource.getMetadata(model), where) : undefined
  if (where && !readable) return emptyPage(position, isCounted)
  // The conditions have been converted to those of TypeORM.
  const { where: _where, ...others } = options
  const found: ReadOptions<T> = { ...others, ...(readable && { where: readable as FindOptionsWhere<T> }) }
  const source: PageSource<T> = {
    count: () => count(tx, model, found),
    read: (offset, limit) => read(tx, model, offset, limit, found),
  }
  const page = await readPage(source, position, isCounted)
  await loadLinks(work, tx.dataSource.getMetadata(model), page.records)
  return page
}

/** A page of a list whose conditions no record can meet. */
export function emptyPage<T>({ page, size }: PagePosition, isCounted: boolean): RecordPage<T> {
  return { records: [], pagination: new Pagination(page, size, 0, isCounted) }
}

/** The size of a page, and its number. */
export interface PagePosition {
  page: number
  size: number
}

/** Reads the parameters of a page. Unreadable ones are ignored. */
export function pagePosition(
  query: PageQuery,
  { perPage = 20, maxPerPage = 100 }: Pick<PageOptions<unknown>, 'perPage' | 'maxPerPage'>,
): PagePosition {
  return {
    page: readNumber(query.page) ?? 1,
    size: Math.min(readNumber(query.per_page) ?? perPage, maxPerPage),
  }
}

/** The records of a list. */
export interface PageSource<T> {
  count(): Promise<number>
  read(offset: number, limit: number): Promise<T[]>
}

/** Reads a page. Without the total, reads one more record than the page has. */
export async function readPage<T>(
  source: PageSource<T>,
  { page, size }: PagePosition,
  isCounted: boolean,
): Promise<RecordPage<T>> {
  const offset = (page - 1) * size
  if (isCounted) {
    const pagination = new Pagination(page, size, await source.count())
    return { records: page > pagination.pages ? [] : await source.read(offset, size), pagination }
  }
  const records = Number.isSafeInteger(offset) ? await source.read(offset, size + 1) : []
  const pagination = new Pagination(page, size, offset + records.length, false)
  return { records: records.slice(0, size), pagination }
}

/** The source of a list's query, with TypeORM's conditions. */
interface ReadOptions<T> extends Omit<PageOptions<T>, 'where'> {
  where?: FindOptionsWhere<T> | FindOptionsWhere<T>[]
}

async function count<T extends Model>(
  tx: EntityManager,
  model: EntityTarget<T>,
  { where, relations }: ReadOptions<T>,
): Promise<number> {
  const total = await fastPathFor(tx, model, relations)?.count(tx, where)
  return total ?? tx.count(model, { ...(where && { where }) })
}

async function read<T extends Model>(
  tx: EntityManager,
  model: EntityTarget<T>,
  offset: number,
  limit: number,
  { where, order, relations }: ReadOptions<T>,
): Promise<T[]> {
  // Every model has an id, but the compiler cannot see it through the conditional types of FindOptionsOrder.
  const fullOrder = { ...order, id: order?.id ?? 'DESC' } as FindOptionsOrder<T>
  const path = fastPathFor(tx, model, relations)
  const found = await path?.select(tx, { where, order: fullOrder, limit, offset })
  // The fast path's records are of the model's class.
  if (found) return found as T[]
  return tx.find(model, {
    ...(where && { where }),
    ...(relations && { relations }),
    order: fullOrder,
    skip: offset,
    take: limit,
  })
}

function fastPathFor(
  tx: EntityManager,
  model: EntityTarget<Model>,
  relations: unknown,
): FastPath | undefined {
  return relations ? undefined : fastPath(tx, tx.dataSource.getMetadata(model))
}

/** A position in a list: the parameters of the page that is there. Undefined removes one. */
type Position = Record<string, string | undefined>

/**
 * The value of a `Link` header (RFC 8288) with the first, previous and next page, and the last one where it is known.
 *
 * @example linkHeader(pagination, ({ page }) => `/posts?page=${page}`)
 */
export function linkHeader(pagination: Pagination, urlFor: (position: Position) => string): string {
  const links = pagination instanceof CursorPagination ? cursorLinks(pagination) : pageLinks(pagination)
  return links
    .flatMap(([rel, position]) => (position ? [`<${urlFor(position)}>; rel="${rel}"`] : []))
    .join(', ')
}

type Link = [rel: string, position: Position | undefined]

function pageLinks({ previous, next, isTotalKnown, pages }: Pagination): Link[] {
  const at = (page: number | undefined) => (page === undefined ? undefined : { page: String(page) })
  return [
    ['first', at(1)],
    ['prev', at(previous)],
    ['next', at(next)],
    ['last', isTotalKnown ? at(pages) : undefined],
  ]
}

function cursorLinks({ cursors: { previous, next } }: CursorPagination): Link[] {
  return [
    ['first', { after: undefined, before: undefined }],
    ['prev', previous === undefined ? undefined : { after: undefined, before: previous }],
    ['next', next === undefined ? undefined : { after: next, before: undefined }],
  ]
}

/** A whole number from 1 in decimal digits; undefined for everything else. Numbers that are too large are clamped. */
function readNumber(parameter: string | string[] | undefined): number | undefined {
  const text = Array.isArray(parameter) ? parameter.at(-1) : parameter
  if (text === undefined || !/^[0-9]+$/.test(text)) return undefined
  const number = Math.min(Number(text), Number.MAX_SAFE_INTEGER)
  return number >= 1 ? number : undefined
}
