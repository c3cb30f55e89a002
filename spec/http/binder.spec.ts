import { expect } from 'chai'
import { Exclude, Expose, Transform } from 'class-transformer'
import type { Attribute } from '../../src/models/attributes/attributes.js'
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
  it('copies the attributes, coerced to the type of their column, and returns the record', () => {
    const post = new Post()
    expect(bound(post, { title: 'A', votes: '3', description: '' }, false)).to.equal(post)
    expect({ ...post }).to.deep.equal({ id: 'own', title: 'A', votes: 3, description: null })
  })

  it('uses the last value of a repeated field, if the column holds one value', () => {
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

  it('uses the last value of a field with names in brackets', () => {
    expect(bound(new Post(), { title: { a: 'A', b: 'B' } }, false).title).to.equal('B')
  })

  it('keeps attributes that the body does not contain', () => {
    const post = Object.assign(new Post(), { title: 'before', votes: 1 })
    expect(bound(post, { votes: 2 })).to.include({ title: 'before', votes: 2 })
    expect(bound(post, { title: undefined })).to.include({ title: 'before' })
  })

  it('ignores keys that are not attributes', () => {
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

  it('copies no attribute from the prototype of the body', () => {
    expect(bound(new Post(), Object.create({ title: 'inherited' })).title).to.equal(undefined)
  })

  for (const body of [undefined, null, {}]) {
    it(`changes nothing when the body is ${JSON.stringify(body)}`, () => {
      expect({ ...bound(new Post(), body) }).to.deep.equal({ id: 'own' })
    })
  }

  for (const body of [[], [{ title: 'A' }], 'title', 1, true]) {
    it(`rejects ${JSON.stringify(body)}, which isn't an object`, () => {
      expect(() => bound(new Post(), body)).to.throw(
        BadRequest,
        'The body must be an object with the fields of one record',
      )
    })
  }

  it('records the fields that it could not read, and keeps their values in the record', () => {
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

  it('clears the unreadable fields with the next body', () => {
    const post = bound(new Post(), { votes: 'many' })
    expect(unreadableOf(bound(post, { votes: '1' }))).to.deep.equal([])
  })

  it('clears an unreadable field that is assigned', () => {
    const post = bound(new Post(), { title: 5, votes: 'many' })
    post.title = 'by hand'
    expect(unreadableOf(post).map(({ attribute }) => attribute.name)).to.deep.equal(['votes'])
    expect(submittedValue(post, 'title')).to.equal(undefined)
  })

  it('has no unreadable fields for a record that was never bound', () => {
    expect(unreadableOf(new Post())).to.deep.equal([])
  })

  it('parses a text for a JSON column if it comes from a form, and keeps it if it comes from JSON', () => {
    expect(bound(new Post(), { data: '{"a":1}' }, false).data).to.deep.equal({ a: 1 })
    expect(bound(new Post(), { data: '{"a":1}' }, true).data).to.equal('{"a":1}')
    expect(unreadableOf(bound(new Post(), { data: '{' }, false))).to.have.length(1)
  })

  it('keeps the values of a list of checkboxes for a JSON column, without the empty one', () => {
    expect(bound(new Post(), { data: ['', 'mon', 'tue'] }, false).data).to.deep.equal(['mon', 'tue'])
  })

  it('cannot read JSON with a key that prevents later updates of the row', () => {
    const data = [{ hasOwnProperty: 1 }]
    expect(unreadableOf(bound(new Post(), { data }))).to.have.length(1)
    expect(unreadableOf(bound(new Post(), { data: JSON.stringify(data) }, false))).to.have.length(1)
    expect(unreadableOf(bound(new Post(), { data }, false))).to.have.length(1)
  })

  describe('with rules of class-transformer', () => {
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

    it('keeps fields that the body does not contain', () => {
      const account = bound(Object.assign(new Account(), { votes: 5, title: 'before' }), { description: 'x' })
      expect({ ...account }).to.deep.equal({ votes: 5, title: 'before', description: 'x' })
    })

    it('keeps attributes that the body does not contain, or may not set, if the class has a default', () => {
      class Task {
        title = ''

        @Exclude()
        votes = 0
      }
      const task = Object.assign(new Task(), { title: 'before', votes: 5 })
      expect({ ...bound(task, { description: 'x', votes: 6 }) }).to.deep.equal({
        title: 'before',
        votes: 5,
        description: 'x',
      })
      expect({ ...bound(task, { title: '', constructor: {}, votes: 6 }) }).to.include({ title: '', votes: 5 })
    })

    it('copies only exposed fields if all fields are excluded', () => {
      @Exclude()
      class Closed {
        title?: string

        @Expose()
        description?: string
      }
      expect({ ...bound(new Closed(), { title: 'A', description: 'B' }) }).to.deep.equal({ description: 'B' })
    })

    it('ignores keys that objects inherit, with such rules', () => {
      const body: unknown = JSON.parse(
        '{"__proto__":{"title":"x"},"constructor":{"a":1},"toString":1,"headline":"A"}',
      )
      const account = bound(new Account(), body)
      expect({ ...account }).to.deep.equal({ title: 'A' })
      expect(account.constructor).to.equal(Account)
    })

    it('keeps all names of a JSON value, with such rules', () => {
      class Ruled {
        @Exclude()
        title?: string

        data?: unknown
      }
      const data = {
        constructor: 'Ferrari',
        list: [{ constructor: null, valueOf: 1 }],
        '\0toString': { toString: 2 },
      }
      const record = bound(new Ruled(), { data, title: { constructor: 'x' }, other: { constructor: {} } })
      expect(JSON.stringify(record)).to.equal(JSON.stringify({ data }))
    })
  })
})
