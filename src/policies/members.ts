import type { Context } from '../context.js'
import type { DataMembers } from '../data/members.js'
import type { Model } from '../data/model.js'
import { isSaved } from '../data/records/save.js'
import type { ScopeFor } from '../data/records/scoped-ids.js'
import { beforeCommit } from '../data/transactions/before-commit.js'
import { PerRequest } from '../common/per-request.js'
import { AuthorizationTooLate, Forbidden, AuthorizationNotPerformed, NoPolicy } from '../errors.js'
import { isAllowed, scopeOf } from './abilities.js'
import type { PolicyClass } from './policy.js'

/** The members of a context that call policies. */
export interface PolicyMembers {
  /**
   * Calls the policy of a record's model, to check that the user may do what the handler does. The ability is the name of
   * the policy's method: `create` in `new` and `create`, `update` in `edit` and `update`, otherwise the name of the action.
   * If the record has another model than the resource, for example because it is the parent, the ability is `update`.
   *
   * @returns the record
   * @example const post = await ctx.authorize(await ctx.find(Post, ctx.params.post_id))
   * @throws Forbidden (403) when the policy does not allow it, or has no such method
   * @throws AuthorizationTooLate when `ctx.bind` has already changed a saved record
   */
  authorize<T extends Model>(record: T, ability?: string): Promise<T>

  /** Whether the user may do something with a record, or with a model: `ctx.can('create', Post)`. */
  can(ability: string, record: object): boolean

  /**
   * The members that find and write records, without policies: `ctx.unscoped.find(Post, id)` finds the posts of all users.
   */
  readonly unscoped: Pick<
    DataMembers,
    'find' | 'findOneBy' | 'findAll' | 'paginate' | 'load' | 'save' | 'destroy'
  >

  /**
   * The conditions of a model's policy for the user.
   *
   * @internal
   */
  readonly scopeFor: ScopeFor

  /**
   * Marks a record as written. Unless the policy of its model is called before the commit, the request fails. If the
   * owner or parent has changed since, the policy is called again.
   *
   * @internal
   */
  noteWrite(record: Model, ability: 'create' | 'update' | 'destroy'): Promise<void>

  /**
   * Rejects a request whose handler has not called a policy.
   *
   * @internal
   */
  checkAuthorized(): void
}

/** The actions that show a form have the ability of the action that the form submits to. */
const abilities: Record<string, string> = { new: 'create', edit: 'update' }

/** The abilities that each record of a request is authorized for, with the owner that it had then. */
const authorized = new PerRequest<Map<object, Map<string, string>>>()

const isUnscoped = Symbol('resource-kit:unscoped')

export function policyMembers(
  policies: ReadonlyMap<Function, PolicyClass>,
): PolicyMembers & ThisType<Context> {
  return {
    async authorize(record, given) {
      const ability = given ?? abilityFor(this, record)
      const policy = policyOf(this, record.constructor)
      if (!policy) throw new NoPolicy(record.constructor.name)
      if (isSaved(record) && !authorized.get(this)?.has(record) && this.bound(record).size > 0)
        throw new AuthorizationTooLate(this.route.handlerName, record.constructor.name)
      if (!(await isAllowed(policy, ability, userOf(this), record))) {
        this.log.info(
          { event: 'forbidden', ability, user_id: Object(userOf(this)).id, ip: this.ip },
          'forbidden',
        )
        throw new Forbidden()
      }
      noteAuthorized(this, record, ability)
      return record
    },

    can(ability, record) {
      const model = typeof record === 'function' ? record : record.constructor
      const policy = policyOf(this, model)
      if (!policy) throw new NoPolicy(model.name)
      const allowed = isAllowed(
        policy,
        ability,
        userOf(this),
        typeof record === 'function' ? undefined : record,
      )
      if (typeof allowed === 'boolean') return allowed
      throw new TypeError(`${policy.name}.${ability} is asynchronous, so a template cannot call it.`)
    },

    get unscoped() {
      return Object.create(this, { [isUnscoped]: { value: true } }) as Context
    },

    get scopeFor(): ScopeFor {
      return (model) => {
        const policy = typeof model === 'function' ? policyOf(this, model) : undefined
        return policy && !(isUnscoped in this) ? scopeOf(policy, userOf(this)) : undefined
      }
    },

    async noteWrite(record, ability) {
      if (isUnscoped in this || !policyOf(this, record.constructor)) return
      const { handlerName, resource } = this.route
      const own = resource?.action ?? ''
      const names = [ability, abilities[own] ?? own]
      const allowed = authorized.get(this)?.get(record)
      const given = names.find((name) => allowed?.has(name))
      if (given && allowed?.get(given) !== ownerOf(this, record)) await this.authorize(record, given)
      beforeCommit(this, () => {
        const known = authorized.get(this)?.get(record)
        if (!names.some((name) => known?.has(name)))
          throw new AuthorizationNotPerformed(handlerName, record.constructor.name)
      })
    },

    checkAuthorized() {
      const { handlerName, resource } = this.route
      const [policied] = resource?.policies.slice(-1) ?? []
      if (policied && !authorized.has(this))
        throw new AuthorizationNotPerformed(handlerName, policied.model.name)
    },
  }

  /** The policy of the route's own resource or of its parents takes precedence over that of another resource. */
  function policyOf(ctx: Context, model: Function): PolicyClass | undefined {
    const declared = ctx.route?.resource?.policies.find((one) => one.model === model)
    const policy = declared?.policy ?? policies.get(model)
    const parent: unknown = Object.getPrototypeOf(model)
    // A model that extends another one has its policy.
    return policy ?? (typeof parent === 'function' ? policyOf(ctx, parent) : undefined)
  }
}

/** Notes that a policy allows an ability for a record with its current owner. */
function noteAuthorized(ctx: Context, record: Model, ability: string): void {
  const known = authorized.get(ctx) ?? new Map<object, Map<string, string>>()
  const allowed = known.get(record) ?? new Map<string, string>()
  authorized.set(ctx, known.set(record, allowed.set(ability, ownerOf(ctx, record))))
}

/** The values that determine whose record it is: those of its foreign keys, and of the columns in its scope. */
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

function abilityFor(ctx: Context, record: object): string {
  const { resource } = ctx.route
  if (!resource || resource.model !== record.constructor) return 'update'
  return abilities[resource.action] ?? resource.action
}
