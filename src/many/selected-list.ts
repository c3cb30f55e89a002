import type { Context, Middleware } from '../context.js'
import { CsvNotRecords, ValidationErrors } from '../errors.js'
import type { Responses } from '../http/responder.js'
import { inTransaction, type DataMembers } from '../records/members.js'
import { Pagination } from '../records/lists/pagination.js'
import { selectRequested, type RequestedList } from '../records/lists/request.js'

/** A list, and the status with which its handler responds. */
interface SelectedList {
  list: RequestedList
  status: number
}

/**
 * Runs the handler of a list as for JSON, but selects all of its records instead of reading a page.
 *
 * @param list the handler
 * @param members the properties of the request that differ for the handler, such as `route`
 * @throws CsvNotRecords (500) when the handler does not respond with the records of `ctx.paginate`
 * @throws ValidationErrors (400) when the query of the request is wrong
 */
export async function selectList(
  ctx: Context,
  list: Middleware,
  members: object = {},
): Promise<SelectedList> {
  const lists = new Map<unknown, RequestedList>()
  const { route }: { route: { handlerName: string } } = { route: ctx.route, ...members }
  let selected: SelectedList | undefined

  const paginate: DataMembers['paginate'] = function (this: Context, model, options = {}) {
    return inTransaction(this, async (work) => {
      const requested = selectRequested(work, model, options, this, true)
      const records: never[] = []
      lists.set(records, requested)
      return { records, pagination: new Pagination(1, 1, 0, false), query: requested.query }
    })
  }

  async function respond(
    first: Responses | ValidationErrors | number,
    second: Responses = {},
  ): Promise<void> {
    if (first instanceof ValidationErrors) throw first
    const [status, { json, data }] = typeof first === 'number' ? [first, second] : [200, first]
    const value: unknown = json ?? data
    const requested = lists.get(typeof value === 'function' ? await value() : value)
    if (!requested) throw new CsvNotRecords(route.handlerName)
    selected = { list: requested, status }
  }

  const own = Object.getOwnPropertyDescriptors({ ...members, paginate, respond })
  await list(Object.create(ctx, own) as Context, () => Promise.resolve())
  if (!selected) throw new CsvNotRecords(route.handlerName)
  return selected
}
