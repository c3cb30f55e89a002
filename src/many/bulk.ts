import type { Context } from '../context.js'
import { HttpError, RecordNotFound, ValidationErrors } from '../errors.js'
import { addLogFields } from '../logging/request-logger.js'
import { unreadable } from '../models/attributes/coerce.js'
import { readUuid } from '../models/attributes/readers.js'
import type { Model } from '../models/model.js'
import { recordName } from '../naming/words.js'
import { chain } from '../routing/chain.js'
import type { RouteResource } from '../routing/declared-route.js'
import { Calls } from './calls.js'
import { errorsAt, maxProblems, problemsOf, respondWithProblems } from './problem.js'
import { selectList } from './selected-list.js'

/** The maximum number of records of a bulk action. */
export const maxRecords = 1000

/**
 * Calls the handler of an item for each of the selected records, in ascending order of their ids, so that two requests cannot wait
 * for each other. All of them are changed, or none.
 */
export async function runBulk(ctx: Context): Promise<void> {
  const { resource, handlerName } = ctx.route
  const route = resource?.routes.get(resource.action)
  if (!resource || !route) throw new TypeError(`${handlerName} belongs to no resource.`)
  const body: Record<string, unknown> = { ...Object(ctx.request.body) }
  const { ids, all, _method, authenticity_token: _token, idempotency_key: _key, ...fields } = body
  if (!isEmpty(all) && !isEmpty(ids)) throw errorsAt(ctx, 'ids', 'bulk.both')
  const keys = isEmpty(all) ? await readKeys(ctx, resource, ids) : await selectAll(ctx, resource, all)
  const calls = new Calls(ctx)
  const failed: Failed[] = []
  for (const key of keys) {
    const params = { ...ctx.params, [resource.param]: key }
    const errors = await calls.callForRecord({ place: `Record ${key}`, route, params, body: { ...fields } })
    if (errors) failed.push({ id: key, errors })
    if (failed.length === maxProblems) break
  }
  addLogFields(ctx, { records: keys.length })
  await (failed.length > 0
    ? respondWithErrors(ctx, resource, failed)
    : respondWithCount(ctx, resource, keys.length))
}

/** A record that could not be changed. */
interface Failed {
  id: string
  errors: ValidationErrors
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

/** Returns the selected values of the parameter of the item, in ascending order of the ids. */
async function readKeys(ctx: Context, resource: RouteResource, ids: unknown): Promise<string[]> {
  const given = [ids].flat().filter((id) => !isEmpty(id))
  const keys = [...new Set(given.map((id) => (typeof id === 'string' ? id : '')))]
  if (keys.length === 0) throw errorsAt(ctx, 'ids', 'bulk.none')
  if (keys.length > maxRecords) throw errorsAt(ctx, 'ids', 'arrayMaxSize', { max: maxRecords })
  if (resource.itemKey !== undefined) {
    const found = await findByKeys(ctx, resource, keys)
    // Those without a record come last: they are 404.
    const idOf = (key: string): string => found.get(key)?.id ?? '~'
    return keys.toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1))
  }
  if (keys.some((id) => readUuid(id) === unreadable))
    throw new RecordNotFound(resource.model?.name ?? 'record')
  return [...new Set(keys.map((id) => id.toLowerCase()))].toSorted()
}

/** Finds the records with some values of the parameter of the item. */
async function findByKeys(
  ctx: Context,
  { model, itemKey = 'id' }: RouteResource,
  keys: readonly string[],
): Promise<Map<string, Model>> {
  const where = keys.map((key) => ({ [itemKey]: key }))
  const found = await ctx.findAll(model as new () => Model, { where: where as [] })
  return new Map(found.map((record) => [String(Reflect.get(record, itemKey)), record]))
}

/**
 * Selects all records of the list, by the query of the request.
 *
 * @throws HttpError (409) when they are not as many as the client has seen
 */
async function selectAll(ctx: Context, resource: RouteResource, all: unknown): Promise<string[]> {
  const route = resource.routes.get('list')
  const expected = typeof all === 'number' ? all : Number(typeof all === 'string' && all.trim() ? all : NaN)
  if (!Number.isInteger(expected) || expected < 1 || !route) throw errorsAt(ctx, 'ids', 'bulk.all')
  if (expected > maxRecords) throw errorsAt(ctx, 'ids', 'arrayMaxSize', { max: maxRecords })
  // The guards of the list also guard the records that are selected by it.
  const guards = route.declaredMiddleware.filter((guard) => !ctx.route.declaredMiddleware.includes(guard))
  let keys: string[] = []
  const select = async (): Promise<void> => {
    const { list } = await selectList(ctx, route.handler, { route })
    const records = (await list.selection?.read(maxRecords + 1, 0)) ?? []
    const sorted = records.toSorted((a, b) => (Reflect.get(a, 'id') < Reflect.get(b, 'id') ? -1 : 1))
    keys = sorted.map((record) => String(Reflect.get(record, resource.itemKey ?? 'id')))
  }
  await chain([...guards, select])(ctx)
  if (keys.length === expected) return keys
  const found = keys.length > maxRecords ? `more than ${maxRecords}` : keys.length
  throw new HttpError(409, `You selected ${expected} records, and there are ${found} now.`)
}

/** The path of the list, with the query of the request. */
function listUrl(ctx: Context, { routes, parentPath }: RouteResource): string {
  const path = routes.get('list')?.url(ctx.params) ?? (parentPath || '/')
  return path + ctx.search
}

async function respondWithCount(ctx: Context, resource: RouteResource, count: number): Promise<void> {
  const own = `${recordName(resource.model?.name ?? '')}.bulk.${resource.action}.success`
  const id = ctx.catalog.has(ctx.locale, own) ? own : 'kit.bulk.success'
  const html = (): void => ctx.seeOther(listUrl(ctx, resource), { success: ctx.t(id, { count }) })
  await ctx.respond({ ...(ctx.defaultFormat === 'html' && { html }), data: { count } })
}

/** Responds with the errors of the records. The page also has their titles, and links to them. */
async function respondWithErrors(
  ctx: Context,
  resource: RouteResource,
  failed: readonly Failed[],
): Promise<void> {
  const detail = ctx.t('kit.bulk.errors', { count: failed.length })
  const records = failed.map(({ id, errors }) => ({ id, ...problemsOf(errors) }))
  await respondWithProblems(ctx, { detail, records }, async () => {
    const found = await findByKeys(
      ctx,
      resource,
      failed.map(({ id }) => id),
    )
    const items = failed.map(({ id, errors }) => {
      const record = found.get(id)
      const messages = Object.values(errors.messages).flat()
      return { record: record ?? id, path: ctx.recordPath(record), messages }
    })
    ctx.render('many_bulk', { detail, items, back: listUrl(ctx, resource) })
  })
}
