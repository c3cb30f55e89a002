import type {
  EntityManager,
  EntityTarget,
  FindOptionsOrder,
  FindOptionsRelations,
  FindOptionsWhere,
} from 'typeorm'
import { readAlternatives, type Where } from './conditions.js'
import { fastPath, type FastPath } from './fast-path/fast-path.js'
import type { Model } from '../model.js'

/** Where a page stands among the others. */
export class Pagination {
  /** How many pages there are; a list without records has one, empty page. */
  readonly pages: number

  /**
   * @param page the page that was asked for; it may lie beyond the last one
   * @param perPage the most records of a page
   * @param total the records of all pages
   * @param isTotalKnown whether they were counted; else `total` and `pages` are what is known up to this page
   */
  constructor(
    readonly page: number,
    readonly perPage: number,
    readonly total: number,
    readonly isTotalKnown = true,
  ) {
    this.pages = Math.max(1, Math.ceil(total / perPage))
  }

  /** The page before this one, if any; before a page beyond the end it is the last one. */
  get previous(): number | undefined {
    return this.page > 1 ? Math.min(this.page - 1, this.pages) : undefined
  }

  /** The page after this one, if any. */
  get next(): number | undefined {
    return this.page < this.pages ? this.page + 1 : undefined
  }

  /** How many records come before this page. */
  get offset(): number {
    return (this.page - 1) * this.perPage
  }
}

/** Which records are listed, and how. */
export interface PageOptions<T> {
  where?: Where<T> | Where<T>[]
  /** Newest first unless given. The id decides between records that are equal in this order. */
  order?: FindOptionsOrder<T>
  relations?: FindOptionsRelations<T>
  /** Records of a page when the client does not say (20). */
  perPage?: number
  /** The most records of a page that a client can ask for (100). */
  maxPerPage?: number
  /**
   * Whether all records are counted (yes). Without that, a page of a large table costs as much as one of a small
   * table: there is no `X-Total-Count` and no link to the last page, and one record more than the page has tells whether
   * there is a next one.
   */
  total?: boolean
}

/** One page of records. */
export interface Page<T> {
  records: T[]
  pagination: Pagination
}

/** What a client asks for: the query parameters as they come. */
export interface PageQuery {
  page?: string | string[] | undefined
  per_page?: string | string[] | undefined
}

/**
 * Reads one page of records, newest first. What is unreadable or below 1 in the query counts as not given; of a
 * repeated parameter the last one counts. A page beyond the last one is empty.
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
  return isCounted
    ? readCounted(tx, model, page, size, readable)
    : readUncounted(tx, model, page, size, readable)
}

/** Where a query reads from, with conditions as TypeORM takes them. */
interface ReadOptions<T> extends Omit<PageOptions<T>, 'where'> {
  where?: FindOptionsWhere<T> | FindOptionsWhere<T>[]
}

/** The options with their conditions read as the columns' kinds; undefined if no record can meet them. */
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

/** Reads one record more than the page has. */
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
  const total = await fastPathFor(tx, model, relations)?.count(where)
  return total ?? tx.count(model, { ...(where && { where }) })
}

async function read<T extends Model>(
  tx: EntityManager,
  model: EntityTarget<T>,
  offset: number,
  limit: number,
  { where, order, relations }: ReadOptions<T>,
): Promise<T[]> {
  // Every model has an id, which the compiler cannot see through the conditional types of FindOptionsOrder.
  const fullOrder = { ...order, id: order?.id ?? 'DESC' } as FindOptionsOrder<T>
  const path = fastPathFor(tx, model, relations)
  const found = await path?.select({ where, order: fullOrder, limit, offset })
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

/** A whole number from 1, in decimal digits; undefined for everything else. Numbers beyond counting are cut there. */
function readNumber(parameter: string | string[] | undefined): number | undefined {
  const text = Array.isArray(parameter) ? parameter.at(-1) : parameter
  if (text === undefined || !/^[0-9]+$/.test(text)) return undefined
  const number = Math.min(Number(text), Number.MAX_SAFE_INTEGER)
  return number >= 1 ? number : undefined
}
