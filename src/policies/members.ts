import type { Context } from '../context.js'
import type { DataMembers } from '../records/members.js'
import type { Model } from '../models/model.js'
import { isSaved } from '../records/save.js'
import { combineAlternatives } from '../records/scope.js'
import { enclosuresOf } from '../records/within.js'
import type { Conditions, RecordWork } from '../records/work.js'
import { beforeCommit, transactionOf } from '../database/transactions/request-transaction.js'
import type { ObservedPromise } from '../common/observed-promise.js'
import { PerRequest } from '../common/per-request.js'
import {
  AsynchronousAbility,
  AuthorizationNotPerformed,
  AuthorizationTooLate,
  AuthorizedIdChanged,
  Forbidden,
  NoPolicy,
  NoTransaction,
  NotAwaited,
  UnknownAbility,
} from '../errors.js'
import { isAbility, isAllowed, scopeOfPolicy } from './abilities.js'
import type { PolicyClass } from './policy.js'

declare module '../context.js' {
  interface ContextMembers extends PolicyMembers {}
}

/** The methods of the context that call policies. */
export interface PolicyMembers {
  /**
   * Calls the policy of a record's model, to check that the user may do what the handler does. The ability is
   * the name of the policy's method: `create` in `new` and `create`, `update` in `edit` and `update`,
   * otherwise the name of the handler. If the record has another model than the resource, for example because
   * it is the parent, the ability is `update`.
   *
   * @returns the record
   * @example const post = await ctx.authorize(await ctx.find(Post, ctx.params.post_id))
   * @throws Forbidden (403) when the policy does not allow it, or has no such method
   * @throws AuthorizationTooLate when `ctx.bind` has already changed a saved record
   * @throws NotAwaited (500) at the end of a request that has not awaited it
   */
  authorize<T extends Model>(record: T, ability?: string): Promise<T>

  /**
   * Whether the user may do something with a record, or with a model: `await ctx.can('create', Post)`.
   *
   * @throws UnknownAbility in development and test when the policy has no method of this name
   */
  can(ability: string, record: object): Promise<boolean>

  /**
   * Whether the user may do something with a record or a model, without a promise, for templates.
   *
   * @throws AsynchronousAbility when the policy's method returns a promise
   * @internal
   */
  canNow(ability: string, record: object): boolean

  /**
   * Whether the policy of a model has a method of a name. A model without a policy allows everything.
   *
   * @internal
   */
  hasAbility(ability: string, model: Function): boolean

  /**
   * The methods that find and write records, without policies: `ctx.unscoped.find(Post, id)` finds the posts
   * of all users.
   */
  readonly unscoped: Pick<
    DataMembers,
    'find' | 'findOneBy' | 'findAll' | 'paginate' | 'load' | 'save' | 'destroy' | 'restore'
  >

  /**
   * The conditions of a model's policy for the user.
   *
   * @internal
   */
  scopeFor: RecordWork['scopeFor']

  /**
   * Marks a record as written. Unless the policy of its model is called before the commit, the request fails.
   * If the owner or parent has changed since, the policy is called again.
   *
   * @internal
   */
  noteWrite(record: Model, ability: 'create' | 'update' | 'destroy' | 'restore' | 'purge'): Promise<void>

  /**
   * Checks that the user may update a record as it was before it moves to another parent, and create it as it
   * is now.
   *
   * @internal
   */
  noteMove(record: Model, before: Model): Promise<void>

  /**
   * Marks a record as found, if its resource is a parent in the path. The policy of the parent then needs no
   * conditions in queries for the records in it.
   *
   * @internal
   */
  noteFound(record: Model): void

  /**
   * The ids of the records in the path that the request has found.
   *
   * @internal
   */
  foundInPath(model: Function): readonly string[]

  /**
   * Rejects a request whose handler has not called a policy.
   *
   * @internal
   */
  checkAuthorized(): void
}

/** Returns the ability for a handler. `new` shows the form of `create`, and `edit` the form of `update`. */
export function abilityOf(handler: string): string {
  return handler === 'new' ? 'create' : handler === 'edit' ? 'update' : handler
}

/** The permission for a record. */
interface Authorization {
  /** The id that the record had when it was authorized; undefined if it was new. */
  id: string | undefined
  /** The allowed abilities, with the owner that the record had (see `ownerOf`). */
  abilities: Map<string, string>
}

const authorizations = new PerRequest<Map<object, Authorization>>()

/** The calls of `ctx.authorize` in a request. */
const calls = new PerRequest<ObservedPromise<unknown>[]>()

/** The records in the path that the request has found, as its user may see them. */
const foundParents = new PerRequest<readonly Model[]>()

const isUnscoped = Symbol('resource-kit:unscoped')

/** The policies of an application, by their models. */
type Policies = ReadonlyMap<Function, PolicyClass>

export function policyMembers(policies: Policies): PolicyMembers & ThisType<Context> {
  return {
    authorize(record, name) {
      return observe(this, () => authorize(this, policies, record, name))
    },

    async can(ability, record) {
      return decide(this, policies, ability, record).allowed
    },

    canNow(ability, record) {
      const { policy, allowed } = decide(this, policies, ability, record)
      if (typeof allowed === 'boolean') return allowed
      throw new AsynchronousAbility(policy.name, ability)
    },

    hasAbility(ability, model) {
      const policy = policyOf(this, policies, model)
      return !policy || isAbility(policy, ability)
    },

    get unscoped() {
      return Object.create(this, { [isUnscoped]: { value: true } }) as Context
    },

    scopeFor(model, where) {
      if (policies.size === 0 || typeof model !== 'function' || isUnscoped in this) return undefined
      const policy = policyOf(this, policies, model)
      return policy ? scopeOfPolicy(policy, userOf(this), model) : inheritScope(this, model, where)
    },

    noteFound(record) {
      if (isUnscoped in this || !this.route?.parents.some(({ model }) => model === record.constructor)) return
      const list = foundParents.get(this) ?? []
      foundParents.set(this, [...list, record])
    },

    foundInPath(model) {
      return (foundParents.get(this) ?? []).flatMap((it) => (it.constructor === model ? it.id : []))
    },

    noteWrite(record, ability) {
      return isUnscoped in this ? Promise.resolve() : noteWrite(this, policies, record, ability)
    },

    noteMove(record, before) {
      return isUnscoped in this ? Promise.resolve() : noteMove(this, policies, record, before)
    },

    checkAuthorized() {
      const { handlerName, resource } = this.route
      // The policies of the parents come before that of the resource.
      const [lastPolicy] = resource?.policies.slice(-1) ?? []
      if (lastPolicy) rejectUnawaited(this)
      if (lastPolicy && !authorizations.has(this))
        throw new AuthorizationNotPerformed(handlerName, lastPolicy.model.name)
    },
  }
}

async function noteMove(ctx: Context, policies: Policies, record: Model, before: Model): Promise<void> {
  const policy = policyOf(ctx, policies, record.constructor)
  if (!policy) return
  const storeAuthorization = prepareAuthorization(ctx, record, 'update')
  await requireAbility(ctx, policy, 'update', before)
  await requireAbility(ctx, policy, 'create', record)
  storeAuthorization()
}

async function authorize<T extends Model>(
  ctx: Context,
  policies: Policies,
  record: T,
  name: string | undefined,
): Promise<T> {
  const { handlerName, resource } = ctx.route
  const isOwn = resource?.model === record.constructor
  const ability = name ?? (resource && isOwn ? abilityOf(resource.action) : 'update')
  const policy = policyOf(ctx, policies, record.constructor)
  if (!policy) throw new NoPolicy(record.constructor.name)
  const isAuthorized = authorizations.get(ctx)?.get(record)?.abilities.has(ability)
  if (isSaved(record) && !isAuthorized && ctx.bound(record).size > 0)
    throw new AuthorizationTooLate(handlerName, record.constructor.name)
  // The handler can change the record while the policy decides.
  const storeAuthorization = prepareAuthorization(ctx, record, ability)
  await requireAbility(ctx, policy, ability, record)
  storeAuthorization()
  return record
}

/** Requires that the policy of a written record is called before the commit. */
async function noteWrite(ctx: Context, policies: Policies, record: Model, ability: string): Promise<void> {
  if (!policyOf(ctx, policies, record.constructor)) return
  const { handlerName, resource } = ctx.route
  // The handler may have authorized the write itself, or what the handler is named after, such as `publish`.
  const names = [ability, abilityOf(resource?.action ?? '')]
  const authorization = authorizations.get(ctx)?.get(record)
  if (authorization?.id !== undefined && authorization.id !== record.id)
    throw new AuthorizedIdChanged(handlerName, record.constructor.name)
  const allowed = names.find((name) => authorization?.abilities.has(name))
  if (allowed && authorization?.abilities.get(allowed) !== ownerOf(ctx, record))
    await ctx.authorize(record, allowed)
  beforeCommit(ctx, () => {
    const abilities = authorizations.get(ctx)?.get(record)?.abilities
    if (!names.some((name) => abilities?.has(name)))
      throw new AuthorizationNotPerformed(handlerName, record.constructor.name)
  })
}

function decide(ctx: Context, policies: Policies, ability: string, record: object) {
  const [model, item] = typeof record === 'function' ? [record, undefined] : [record.constructor, record]
  const policy = policyOf(ctx, policies, model)
  if (!policy) throw new NoPolicy(model.name)
  if ((ctx.env === 'development' || ctx.env === 'test') && !isAbility(policy, ability))
    throw new UnknownAbility(policy.name, ability)
  const tx = transactionOf(ctx)?.manager
  return { policy, allowed: isAllowed(policy, ability, userOf(ctx), item, tx) }
}

/** Returns the policy of a model, which the route's resource or its parents declare, or another. */
function policyOf(ctx: Context, policies: Policies, model: Function): PolicyClass | undefined {
  const declared = ctx.route?.resource?.policies.find((declaration) => declaration.model === model)
  const policy = declared?.policy ?? policies.get(model)
  const parent: unknown = Object.getPrototypeOf(model)
  // A model inherits the policy of the model that it extends.
  return policy ?? (typeof parent === 'function' ? policyOf(ctx, policies, parent) : undefined)
}

/**
 * The scope of a model without a policy: its records are in those that the user may see. A record that the
 * request has found needs no condition.
 *
 * @param where the conditions that the records meet already
 */
function inheritScope(ctx: Context, model: Function, where: object = {}): Conditions | undefined {
  const { dataSource } = ctx.tx
  if (!dataSource.hasMetadata(model)) return undefined
  return enclosuresOf(dataSource.getMetadata(model)).reduce<Conditions | undefined>(
    (all, { relation, key }) => {
      const { target } = relation.inverseEntityMetadata
      const id: unknown = Reflect.get(where, key.propertyName)
      if (typeof target !== 'function' || ctx.foundInPath(target).some((found) => found === id)) return all
      const scope = ctx.scopeFor(target, Object(Reflect.get(where, relation.propertyName)))
      const isOpen = !scope || [scope].flat().some((conditions) => Object.keys(conditions).length === 0)
      return isOpen ? all : combineAlternatives(all ?? {}, { [relation.propertyName]: scope })
    },
    undefined,
  )
}

/** @throws Forbidden (403) when a policy does not allow an ability, or has no such method */
async function requireAbility(
  ctx: Context,
  policy: PolicyClass,
  ability: string,
  record: Model,
): Promise<void> {
  if (await isAllowed(policy, ability, userOf(ctx), record, ctx.tx)) return
  const fields = { event: 'forbidden', ability, user_id: Object(userOf(ctx)).id, ip: ctx.ip }
  ctx.log.info(fields, 'forbidden')
  const isMissing = ctx.env === 'development' && !isAbility(policy, ability)
  throw new Forbidden(isMissing ? `${policy.name} has no method "${ability}".` : undefined)
}

/** Authorizes as work of the transaction, which fails if the handler has not awaited it before the commit. */
function observe<T>(ctx: Context, authorize: () => Promise<T>): Promise<T> {
  const transaction = transactionOf(ctx)
  if (!transaction) throw new NoTransaction()
  const promise = transaction.work.run(authorize)
  const promises = calls.get(ctx)
  if (promises) promises.push(promise)
  else {
    calls.set(ctx, [promise])
    beforeCommit(ctx, () => rejectUnawaited(ctx))
  }
  return promise
}

function rejectUnawaited(ctx: Context): void {
  if (calls.get(ctx)?.some(({ isAwaited }) => !isAwaited)) throw new NotAwaited()
}

/** Returns a function that stores that a policy allows an ability for a record as it is now. */
function prepareAuthorization(ctx: Context, record: Model, ability: string): () => void {
  const [owner, id] = [ownerOf(ctx, record), isSaved(record) ? record.id : undefined]
  return () => {
    const records = authorizations.get(ctx) ?? new Map<object, Authorization>()
    const { abilities } = records.get(record) ?? { abilities: new Map<string, string>() }
    authorizations.set(ctx, records.set(record, { id, abilities: abilities.set(ability, owner) }))
  }
}

/** The values that say whose record it is, as JSON: its foreign keys, and the columns in its scope. */
function ownerOf(ctx: Context, record: Model): string {
  const { relations } = ctx.tx.dataSource.getMetadata(record.constructor)
  const keys = relations.flatMap(({ isManyToMany, joinColumns }) => (isManyToMany ? [] : joinColumns))
  const scopes = [ctx.scopeFor(record.constructor) ?? []].flat()
  const names = [...keys.map(({ propertyName }) => propertyName), ...scopes.flatMap(Object.keys)]
  return JSON.stringify(names.map((name): unknown => Reflect.get(record, name)))
}

function userOf(ctx: Context): unknown {
  return Reflect.get(ctx, 'user')
}
