import { SAFE_METHODS } from '../common/methods.js'
import type { Context } from '../context.js'
import { versionIn, versionOf } from '../models/attributes/attributes.js'
import { exposedName } from '../models/attributes/transform-metadata.js'
import { PreconditionFailed, PreconditionRequired } from '../errors.js'
import { hasForm } from './body/body-kind.js'
import { lastValue } from './body/form-fields.js'
import { isWildcard, namesVersion } from './entity-tags.js'

/**
 * The transactions of the requests whose conditions (RFC 9110, section 13) were compared with a record. If a
 * transaction is retried, the conditions are compared again in the new one.
 */
export const compared = new WeakSet<object>()

/** The field with a record's version in bodies, `{ name: 'lock_version', value: '7' }`; undefined without. */
export function versionField(record: object): { name: string; value: string } | undefined {
  const [property, version] = [versionOf(record.constructor), versionIn(record)]
  if (property === undefined || version === undefined) return undefined
  return { name: exposedName(record.constructor, property), value: String(version) }
}

/**
 * Compares the version of a saved record with the conditions of the request, if the path names this record.
 * It does so once in each transaction.
 *
 * @param attempt the manager of the transaction
 * @param foundBy the conditions of the query that found the record, such as `{ slug }`; undefined for a query
 *   by id
 * @returns `stale` if the body contains another version, `matched` if `If-Match` contains this one
 * @throws PreconditionRequired (428) when the resource requires a condition and the request has none
 * @throws PreconditionFailed (412) when a header does not allow the version
 */
export function compareVersion(
  ctx: Context,
  record: object,
  attempt: object,
  foundBy?: object,
): 'stale' | 'matched' | undefined {
  const property = versionOf(record.constructor)
  if (property === undefined || SAFE_METHODS.includes(ctx.method)) return undefined
  if (compared.has(attempt) || !isNamedByPath(ctx, record, foundBy)) return undefined
  compared.add(attempt)
  const version = String(versionIn(record))
  const name = exposedName(record.constructor, property)
  const sent = lastValue(Reflect.get(Object(ctx.request.body), name)) ?? undefined
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = ctx.req.headers
  if (ifMatch === undefined && sent === undefined) rejectMissing(ctx)
  const { name: model } = record.constructor
  if (ifMatch !== undefined && !namesVersion(ifMatch, version))
    throw new PreconditionFailed(`The ${model} has changed since you have read it.`)
  if (ifNoneMatch !== undefined && namesVersion(ifNoneMatch, version))
    throw new PreconditionFailed(`The ${model} has a version that If-None-Match excludes.`)
  if (ifMatch !== undefined) return isWildcard(ifMatch) ? undefined : 'matched'
  return sent === undefined || isVersion(sent, version) ? undefined : 'stale'
}

/**
 * Rejects a successful request whose conditions were compared with nothing, before its transaction is
 * committed.
 *
 * @throws PreconditionFailed (412) when the request has conditions other than `If-Match: *`
 * @throws PreconditionRequired (428) when the resource requires a condition and the request has none
 */
export function rejectUncompared(ctx: Context, attempt: object): void {
  if (SAFE_METHODS.includes(ctx.method) || compared.has(attempt)) return
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = ctx.req.headers
  if (ifNoneMatch !== undefined || (ifMatch !== undefined && !isWildcard(ifMatch)))
    throw new PreconditionFailed(
      'No version was compared with the condition of this request, so nothing was saved.',
    )
  if (ifMatch === undefined) rejectMissing(ctx)
}

/** @throws PreconditionRequired (428) when a write lacks the condition that its resource requires */
function rejectMissing(ctx: Context): void {
  // Without an App, a request has no route.
  const { requiresMatch, model, action } = (ctx as Partial<Context>).route?.resource ?? {}
  if (!requiresMatch || !model || (action !== 'update' && action !== 'destroy') || hasForm(ctx)) return
  throw new PreconditionRequired(exposedName(model, versionOf(model) ?? ''))
}

/** Whether the path names a record: by its id or another key, or in a singular resource by its model. */
function isNamedByPath({ route, params }: Context, record: object, foundBy?: object): boolean {
  const { resource, pattern } = route
  if (resource?.isSingular) return resource.model !== undefined && record instanceof resource.model
  // UUIDs may be in upper case.
  const pathValue = params[resource?.param ?? pattern.params.at(-1) ?? '']?.toLowerCase()
  const has = (object: object | undefined, key: string) =>
    pathValue !== undefined && String(Reflect.get(Object(object), key)).toLowerCase() === pathValue
  if (has(record, 'id')) return true
  const { itemKey, model } = resource ?? {}
  if (itemKey === undefined || (model && !(record instanceof model))) return false
  return has(record, itemKey) || has(foundBy, itemKey)
}

/** Whether a value of a body is the version, even with leading zeros or spaces. */
function isVersion(sent: unknown, version: string): boolean {
  const text = typeof sent === 'string' || typeof sent === 'number' ? String(sent).trim() : ''
  return text.replace(/^0+(?=\d)/, '') === version
}
