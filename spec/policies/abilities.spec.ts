import { expect } from 'chai'
import { In } from 'typeorm'
import { Model, nothing, Policy, Resource, BaseResource, App } from '../../src/index.js'
import { isAllowed, scopeOfPolicy } from '../../src/policies/abilities.js'

class Post extends Model {
  user_id!: string
}

/** A policy with this scope. */
function withScope(scope: unknown) {
  return class PostPolicy extends Policy<Post> {
    override scope() {
      return scope as typeof nothing
    }
  }
}

describe('The scope of a policy', () => {
  it('is an error if it is undefined or has an undefined value, and never every record', () => {
    const wrong = [undefined, null, [], { user_id: undefined }, [{ user_id: 'a' }, { user_id: undefined }]]
    const nested = [{ author: { id: undefined } }, { author: {} }, [{ user_id: 'a' }, { author: [] }]]
    for (const scope of [...wrong, ...nested, true, 'a', () => ({})])
      expect(() => scopeOfPolicy(withScope(scope), undefined)).to.throw('PostPolicy.scope returned undefined')
  })

  it('is an error if it is not a plain object or a list of them, and never every record', () => {
    class Getters {
      get user_id() {
        return 'a'
      }
    }
    const key = Symbol('user_id')
    const wrong: unknown[] = [
      new Getters(),
      new Map([['user_id', 'a']]),
      new Set(),
      new Date(),
      { [key]: 'a' },
    ]
    const inherited: unknown = Object.create({ user_id: 'a' })
    const hidden = Object.defineProperty({}, 'user_id', { value: 'a' })
    for (const one of [...wrong, Promise.resolve({ user_id: 'a' }), inherited, hidden, new Post(), [[]]])
      for (const scope of [one, [{ user_id: 'a' }, one], { author: one instanceof Date ? undefined : one }])
        expect(() => scopeOfPolicy(withScope(scope), undefined)).to.throw('PostPolicy.scope returned')
  })

  it('has conditions, alternatives, no record, or every record', () => {
    const author = Object.assign(new Post(), { id: 'a' })
    const more = [{}, { author }, { author: { user_id: 'a' } }, { author: [{ id: 'a' }] }, { at: new Date() }]
    for (const scope of [
      { user_id: 'a' },
      [{ user_id: 'a' }, { user_id: 'b' }],
      { user_id: In(['a']) },
      ...more,
    ])
      expect(scopeOfPolicy(withScope(scope), undefined)).to.equal(scope)
    expect(scopeOfPolicy(withScope(nothing), undefined)).to.deep.equal({ id: In([]) })
  })
})

describe('An ability', () => {
  class Base extends Policy<Post> {
    override scope() {
      return nothing
    }
    inherited() {
      return true
    }
    forgotten() {}
  }
  class PostPolicy extends Base {
    own = () => true
    truthy() {
      return 'yes'
    }
    async later() {
      return true
    }
  }

  it('is a method of the policy that returns true', async () => {
    expect(isAllowed(PostPolicy, 'inherited', undefined, undefined)).to.equal(true)
    expect(await isAllowed(PostPolicy, 'later', undefined, undefined)).to.equal(true)
    for (const name of ['forgotten', 'truthy', 'scope', 'constructor', 'toString', '__proto__', 'own', ''])
      expect(isAllowed(PostPolicy, name, undefined, undefined), name).to.equal(false)
  })
})

describe('A resource with a policy', () => {
  it('needs a model', () => {
    @Resource('/posts', { policy: withScope(nothing) })
    class PostsResource extends BaseResource {}
    expect(() => new App().resource(PostsResource)).to.throw(
      "PostsResource has the policy PostPolicy, but no model. Add it: @Resource('/...', { model: Post }).",
    )
  })
})
