import type {
  EntityManager,
  EntityTarget,
  FindOptionsOrder,
  FindOptionsRelations,
  FindOptionsWhere,
} from 'typeorm'
import { readAlternatives, type Where } from './conditions.js'
import { fastPath, type FastPath } from './fast-path/fast-path.js'
import { loadLinks } from './links.js'
import type { Model } from '../model.js'

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
}

/** One page of records. */
export interface Page<T> {
  records: T[]
  pagination: Pagination
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
 * @example const { records, pagination } = await paginate(tx, Post, { page: '2', per_page: '10' })
 */
export async function paginate<T extends Model>(
  tx: EntityManager,
  model: EntityTarget<T>,
  query: PageQuery,
  options: PageOptions<T> = {},
): Promise<Page<T>> {
  const { perPage = 20, maxPerPage = 100, total: isCounted = true } = options
  const size = Math.min(readNumber(query.per_page) ?? perPage, maxPerPage)
  const page = readNumber(query.page) ?? 1
  const readable = withReadConditions(tx, model, options)
  if (!readable) return { records: [], pagination: new Pagination(page, size, 0, isCounted) }
  const read = isCounted ? readCounted : readUncounted
  const found = await read(tx, model, page, size, readable)
  await loadLinks(tx, tx.dataSource.getMetadata(model), found.records)
  return found
}

/** The source of a list's query, with TypeORM's conditions. */
interface ReadOptions<T> extends Omit<PageOptions<T>, 'where'> {
  where?: FindOptionsWhere<T> | FindOptionsWhere<T>[]
}

/** The options with conditions converted to their columns' kinds; undefined if no record can meet them. */
function withReadConditions<T extends Model>(
  tx: EntityManager,
  model: EntityTarget<T>,
  { where, ...options }: PageOptions<T>,
): ReadOptions<T> | undefined {
  if (!where) return options
  const read = readAlternatives(tx.dataSource.getMetadata(model), where)
  return read && { ...options, where: read as FindOptionsWhere<T> }
}

async function readCounted<T extends Model>(
  tx: EntityManager,
  model: EntityTarget<T>,
  page: number,
  size: number,
  options: ReadOptions<T>,
): Promise<Page<T>> {
  const pagination = new Pagination(page, size, await count(tx, model, options))
  if (pagination.page > pagination.pages) return { records: [], pagination }
  return { records: await read(tx, model, pagination.offset, size, options), pagination }
}

/** Reads one more record than the page has. */
async function readUncounted<T extends Model>(
  tx: EntityManager,
  model: EntityTarget<T>,
  page: number,
  size: number,
  options: ReadOptions<T>,
): Promise<Page<T>> {
  const offset = (page - 1) * size
  const records = Number.isSafeInteger(offset) ? await read(tx, model, offset, size + 1, options) : []
  const pagination = new Pagination(page, size, offset + records.length, false)
  return { records: records.slice(0, size), pagination }
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

/**
 * The value of a `Link` header (RFC 8288) with the first, previous and next page, and the last one where it is known.
 *
 * @example linkHeader(pagination, (page) => `/posts?page=${page}`)
 */
export function linkHeader(pagination: Pagination, urlForPage: (page: number) => string): string {
  const links = [
    ['first', 1],
    ['prev', pagination.previous],
    ['next', pagination.next],
    ['last', pagination.isTotalKnown ? pagination.pages : undefined],
  ] as const
  return links
    .flatMap(([rel, page]) => (page === undefined ? [] : [`<${urlForPage(page)}>; rel="${rel}"`]))
    .join(', ')
}

/** A whole number from 1 in decimal digits; undefined for everything else. Numbers that are too large are clamped. */
function readNumber(parameter: string | string[] | undefined): number | undefined {
  const text = Array.isArray(parameter) ? parameter.at(-1) : parameter
  if (text === undefined || !/^[0-9]+$/.test(text)) return undefined
  const number = Math.min(Number(text), Number.MAX_SAFE_INTEGER)
  return number >= 1 ? number : undefined
}
