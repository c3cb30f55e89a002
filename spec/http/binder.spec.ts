import { expect } from 'chai'
import { Exclude, Expose, Transform } from 'class-transformer'
import type { Attribute } from '../../src/data/attributes.js'
import { BadRequest } from '../../src/errors.js'
import { bind, submittedValue, unreadableOf } from '../../src/http/binder.js'

const attributes: Attribute[] = [
  { name: 'title', kind: 'string', nullable: false },
  { name: 'description', kind: 'text', nullable: true },
  { name: 'votes', kind: 'int', nullable: false },
  { name: 'data', kind: 'json', nullable: true },
]

class Post {
  id = 'own'
  title?: unknown
  description?: unknown
  votes?: unknown
  data?: unknown
}

function bound<T extends object>(record: T, body: unknown, isJson = true): T {
  return bind(record, attributes, { body, isJson, isForm: !isJson })
}

describe('bind(record, attributes, submission)', () => {
  it('copies the attributes, read as their column, and returns the record', () => {
    const post = new Post()
    expect(bound(post, { title: 'A', votes: '3', description: '' }, false)).to.equal(post)
    expect({ ...post }).to.deep.equal({ id: 'own', title: 'A', votes: 3, description: null })
  })

  it('takes the last value of a field that a form repeats, where a column takes one value', () => {
    const form = { title: ['A', 'B'], votes: ['0', '3'], data: ['1', '2'] }
    expect({ ...bound(new Post(), form, false) }).to.deep.equal({
      id: 'own',
      title: 'B',
      votes: 3,
      data: ['1', '2'],
    })
    const post = bound(new Post(), { title: ['A', 'B'] })
    expect(unreadableOf(post).map(({ attribute }) => attribute.name)).to.deep.equal(['title'])
  })

  it('keeps what the body does not name', () => {
    const post = Object.assign(new Post(), { title: 'before', votes: 1 })
    expect(bound(post, { votes: 2 })).to.include({ title: 'before', votes: 2 })
    expect(bound(post, { title: undefined })).to.include({ title: 'before' })
  })

  it('ignores unknown keys, and those that are no attribute', () => {
    expect({ ...bound(new Post(), { id: 'foreign', created_at: 'now', other: 1 }) }).to.deep.equal({
      id: 'own',
    })
  })

  it('ignores keys that objects inherit', () => {
    const body: unknown = JSON.parse(
      '{"__proto__":{"title":"polluted"},"constructor":{"prototype":{"x":1}},"toString":"x"}',
    )
    const post = bound(new Post(), body)
    expect(post.title).to.equal(undefined)
    expect(post.constructor).to.equal(Post)
    expect(String(post)).to.equal('[object Object]')
    expect({}).not.to.have.property('x')
  })

  it('takes no attribute from the prototype of the body', () => {
    expect(bound(new Post(), Object.create({ title: 'inherited' })).title).to.equal(undefined)
  })

  for (const body of [undefined, null, {}]) {
    it(`changes nothing when the body is ${JSON.stringify(body)}`, () => {
      expect({ ...bound(new Post(), body) }).to.deep.equal({ id: 'own' })
    })
  }

  for (const body of [[], [{ title: 'A' }], 'title', 1, true]) {
    it(`refuses ${JSON.stringify(body)}, which is no record`, () => {
      expect(() => bound(new Post(), body)).to.throw(
        BadRequest,
        'The body must be an object with the fields of one record',
      )
    })
  }

  it('remembers what it could not read, and leaves the record as it is there', () => {
    const post = bound(Object.assign(new Post(), { votes: 1 }), {
      title: ['A'],
      votes: 'many',
      description: 'fine',
    })
    expect({ ...post }).to.deep.equal({ id: 'own', votes: 1, description: 'fine' })
    expect(unreadableOf(post).map(({ attribute, value }) => [attribute.name, value])).to.deep.equal([
      ['title', ['A']],
      ['votes', 'many'],
    ])
    expect(submittedValue(post, 'votes')).to.equal('many')
    expect(submittedValue(post, 'title')).to.equal('')
    expect(submittedValue(post, 'description')).to.equal(undefined)
  })

  it('forgets it with the next body', () => {
    const post = bound(new Post(), { votes: 'many' })
    expect(unreadableOf(bound(post, { votes: '1' }))).to.deep.equal([])
  })

  it('forgets a field that is set by hand', () => {
    const post = bound(new Post(), { title: 5, votes: 'many' })
    post.title = 'by hand'
    expect(unreadableOf(post).map(({ attribute }) => attribute.name)).to.deep.equal(['votes'])
    expect(submittedValue(post, 'title')).to.equal(undefined)
  })

  it('knows nothing unreadable of a record that was never bound', () => {
    expect(unreadableOf(new Post())).to.deep.equal([])
  })

  it('reads a text in a JSON column as JSON when it comes from a form, and as itself when it comes in JSON', () => {
    expect(bound(new Post(), { data: '{"a":1}' }, false).data).to.deep.equal({ a: 1 })
    expect(bound(new Post(), { data: '{"a":1}' }, true).data).to.equal('{"a":1}')
    expect(unreadableOf(bound(new Post(), { data: '{' }, false))).to.have.length(1)
  })

  describe('of a class with rules of class-transformer', () => {
    class Account {
      @Expose({ name: 'headline' })
      title?: string

      @Exclude({ toClassOnly: true })
      votes?: number

      @Exclude({ toPlainOnly: true })
      description?: string

      @Transform(({ value }) => ({ wrapped: value as unknown }), { toClassOnly: true })
      data?: unknown
    }

    it('renames, leaves out and transforms the fields', () => {
      const account = bound(new Account(), { headline: 'A', votes: 1, description: 'secret', data: 2 })
      expect({ ...account }).to.deep.equal({ title: 'A', description: 'secret', data: { wrapped: 2 } })
    })

    it('keeps what the body does not name', () => {
      const account = bound(Object.assign(new Account(), { votes: 5, title: 'before' }), { description: 'x' })
      expect({ ...account }).to.deep.equal({ votes: 5, title: 'before', description: 'x' })
    })

    it('takes nothing but what is exposed where everything is excluded', () => {
      @Exclude()
      class Closed {
        title?: string

        @Expose()
        description?: string
      }
      expect({ ...bound(new Closed(), { title: 'A', description: 'B' }) }).to.deep.equal({ description: 'B' })
    })

    it('stands keys that objects inherit', () => {
      const body: unknown = JSON.parse(
        '{"__proto__":{"title":"x"},"constructor":{"a":1},"toString":1,"headline":"A"}',
      )
      const account = bound(new Account(), body)
      expect({ ...account }).to.deep.equal({ title: 'A' })
      expect(account.constructor).to.equal(Account)
    })
  })
})
