import type { FindOptionsOrder, FindOptionsRelations } from 'typeorm'
import { DeclarationError } from '../../errors.js'
import type { Where } from '../conditions.js'
import type { TrashOptions } from '../locking.js'
import type { Queryable } from './declaration.js'
import type { ListQuery } from './query/list-query.js'

/** The position of a page in a list. */
export class Pagination {
  /** The number of pages. An empty list has one, empty page. */
  readonly pages: number

  /**
   * @param page the requested page, which may be beyond the last one
   * @param perPage the maximum number of records on a page
   * @param total the number of records on all pages
   * @param isTotalKnown whether the records were counted; otherwise `total` and `pages` only count up to this
   *   page
   */
  constructor(
    readonly page: number,
    readonly perPage: number,
    readonly total: number,
    readonly isTotalKnown = true,
  ) {
    this.pages = Math.max(1, Math.ceil(total / perPage))
  }

  /** The number of the previous page, if there is one. Beyond the end, that of the last page. */
  get previous(): number | undefined {
    return this.page > 1 ? Math.min(this.page - 1, this.pages) : undefined
  }

  /** The number of the next page, if there is one. */
  get next(): number | undefined {
    return this.page < this.pages ? this.page + 1 : undefined
  }

  /** The number of records before this page. */
  get offset(): number {
    return (this.page - 1) * this.perPage
  }
}

/** The position of a page of a list with `pages: 'cursor'`. It has no numbers and no count. */
export class CursorPagination extends Pagination {
  /**
   * @param length the number of records on this page
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
export interface PageOptions<T> extends TrashOptions {
  where?: Where<T> | Where<T>[]
  /** The order, by default newest first. The id decides between records that are equal in this order. */
  order?: FindOptionsOrder<T>
  relations?: FindOptionsRelations<T>
  /** The number of records on a page if the client does not set `per_page` (20). */
  perPage?: number
  /** The maximum of `per_page` (100). */
  maxPerPage?: number
  /**
   * Whether all records are counted (yes). Without the count, a page of a large table is as fast as a page of
   * a small table, but there is no `X-Total-Count` and no link to the last page. One more record is read to
   * find out whether there is a next page.
   */
  total?: boolean
  /**
   * The queries that clients may send. The default is `@Queryable` of the handler. Declare it outside of the
   * handler, because it is checked once.
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

/** The query parameters of a request, as the client has sent them. */
export interface PageQuery {
  page?: string | string[] | undefined
  per_page?: string | string[] | undefined
}

/** The size of a page, and its number. */
export interface PagePosition {
  page: number
  size: number
}

/** Reads the number and the size of a page. Ignores values that are not whole numbers from 1. */
export function readPagePosition(
  query: PageQuery,
  { perPage = 20, maxPerPage = 100 }: Pick<PageOptions<unknown>, 'perPage' | 'maxPerPage'>,
): PagePosition {
  checkSize('perPage', perPage)
  checkSize('maxPerPage', maxPerPage)
  return {
    page: readNumber(query.page) ?? 1,
    size: Math.min(readNumber(query.per_page) ?? perPage, Math.max(perPage, maxPerPage)),
  }
}

/** Unlike `checkNumbers`, it costs a request nothing. */
function checkSize(name: string, size: number): void {
  if (Number.isInteger(size) && size >= 1) return
  throw new DeclarationError(`The \`${name}\` of ctx.paginate() is ${size}. Use a whole number from 1.`)
}

/** Reads the last value of a parameter as a whole number from 1; undefined for all else. Clamps it. */
function readNumber(parameter: string | string[] | undefined): number | undefined {
  const text = Array.isArray(parameter) ? parameter.at(-1) : parameter
  if (text === undefined || !/^[0-9]+$/.test(text)) return undefined
  const number = Math.min(Number(text), Number.MAX_SAFE_INTEGER)
  return number >= 1 ? number : undefined
}
