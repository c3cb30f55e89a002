import type {
  EntityManager,
  EntityTarget,
  FindOptionsOrder,
  FindOptionsRelations,
  FindOptionsWhere,
} from 'typeorm'
import type { Model } from './model.js'

/** Where a page stands among the others. */
export class Pagination {
  /** How many pages there are; a list without records has one, empty page. */
  readonly pages: number

  /**
   * @param page the page that was asked for; it may lie beyond the last one
   * @param perPage the most records of a page
   * @param total the records of all pages
   */
  constructor(
    readonly page: number,
    readonly perPage: number,
    readonly total: number,
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
  where?: FindOptionsWhere<T> | FindOptionsWhere<T>[]
  /** Newest first unless given. The id decides between records that are equal in this order. */
  order?: FindOptionsOrder<T>
  relations?: FindOptionsRelations<T>
  /** Records of a page when the client does not say (20). */
  perPage?: number
  /** The most records of a page that a client can ask for (100). */
  maxPerPage?: number
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
  const { where, order, relations, perPage = 20, maxPerPage = 100 } = options
  const size = Math.min(readNumber(query.per_page) ?? perPage, maxPerPage)
  const total = await tx.count(model, { ...(where && { where }) })
  const pagination = new Pagination(readNumber(query.page) ?? 1, size, total)
  if (pagination.page > pagination.pages) return { records: [], pagination }

  const records = await tx.find(model, {
    ...(where && { where }),
    ...(relations && { relations }),
    // Every model has an id, which the compiler can not see through the conditional types of FindOptionsOrder.
    order: { ...order, id: order?.id ?? 'DESC' } as FindOptionsOrder<T>,
    skip: pagination.offset,
    take: size,
  })
  return { records, pagination }
}

/**
 * The value of a `Link` header (RFC 8288) with the first, previous, next and last page.
 *
 * @example linkHeader(pagination, (page) => `/posts?page=${page}`)
 */
export function linkHeader(pagination: Pagination, urlForPage: (page: number) => string): string {
  const links = [
    ['first', 1],
    ['prev', pagination.previous],
    ['next', pagination.next],
    ['last', pagination.pages],
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
