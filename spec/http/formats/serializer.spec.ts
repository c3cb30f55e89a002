import { expect } from 'chai'
import { Exclude, Expose, Transform, Type } from 'class-transformer'
import { ValidationErrors } from '../../../src/errors.js'
import { toPlain } from '../../../src/http/formats/serializer.js'

class Account {
  name = 'Ann'

  @Exclude()
  password = 'secret'

  @Expose({ name: 'mail' })
  email = 'ann@example.com'
}

class Team {
  title = 'A'

  @Type(() => Account)
  accounts = [new Account()]
}

class Plain {
  id = 1
  at = new Date(0)
}

describe('toPlain(value)', () => {
  it('returns a value without rules as it is', () => {
    for (const value of [new Plain(), [new Plain()], { a: 1 }, 'text', null, undefined, 1]) {
      expect(toPlain(value)).to.equal(value)
    }
  })

  it('applies @Exclude and @Expose', () => {
    expect(toPlain(new Account())).to.deep.equal({ name: 'Ann', mail: 'ann@example.com' })
  })

  it('applies @Exclude and @Expose in lists, and in nested records', () => {
    const shown = { name: 'Ann', mail: 'ann@example.com' }
    expect(toPlain([new Account()])).to.deep.equal([shown])
    expect(toPlain(new Team())).to.deep.equal({ title: 'A', accounts: [shown] })
    expect(toPlain({ account: new Account(), at: new Date(0) })).to.deep.equal({
      account: shown,
      at: new Date(0),
    })
  })

  it('keeps all names of data that a record with such rules contains', () => {
    const data = { a: 1, constructor: 'x', list: [{ valueOf: null, hasOwnProperty: 1 }] }
    const account = Object.assign(new Account(), { data })
    const shown = { name: 'Ann', mail: 'ann@example.com', data }
    expect(JSON.stringify(toPlain([account]))).to.equal(JSON.stringify([shown]))
    expect(account.data).to.equal(data)
  })

  it('applies @Transform', () => {
    class Loud {
      @Transform(({ value }) => String(value).toUpperCase(), { toPlainOnly: true })
      name = 'ann'
    }
    expect(toPlain(new Loud())).to.deep.equal({ name: 'ANN' })
  })

  it('puts the id first, also in a list, whatever was set before it', () => {
    const record = { active: false, id: '1', created_at: 'a', updated_at: 'b', name: 'x' }
    const expected = ['id', 'created_at', 'updated_at', 'active', 'name']
    for (const shown of [toPlain(record), [toPlain([record])].flat(2)[0]]) {
      expect(Object.keys(Object(shown))).to.deep.equal(expected)
    }
  })

  it('keeps the toJSON of a record that was just created', () => {
    class Secretive {
      name = 'Ann'
      secret = 'hunter2'
      created_at = 1
      updated_at = 2
      id = '1'

      toJSON() {
        return { id: this.id, name: this.name }
      }
    }
    expect(JSON.stringify(toPlain([new Secretive()]))).to.equal('[{"id":"1","name":"Ann"}]')
  })

  it('applies the rules of an ancestor', () => {
    class Admin extends Account {
      level = 1
    }
    expect(toPlain(new Admin())).to.deep.equal({ name: 'Ann', mail: 'ann@example.com', level: 1 })
  })

  it('returns the messages of an invalid record', () => {
    expect(toPlain(new ValidationErrors().add('name', 'present', 'No name.'))).to.deep.equal({
      name: ['No name.'],
    })
  })

  it('ends with a value that contains itself', () => {
    const circle: Record<string, unknown> = {}
    circle['self'] = circle
    expect(toPlain(circle)).to.equal(circle)
  })
})
