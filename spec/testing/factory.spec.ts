import { expect } from 'chai'
import { IsEmail, MaxLength, Matches } from 'class-validator'
import { Column, Entity, Table } from 'typeorm'
import type { MigrationInterface, QueryRunner } from 'typeorm'
import { column, Database, Model, primaryKey, timestamps } from '../../src/index.js'
import { Factory } from '../../src/testing/index.js'
import { Comment, openBlogDatabase, Post } from '../support/applications/blog-database.js'
import { Thing, thing } from '../support/applications/everything.js'
import { failure } from '../support/failure.js'

@Entity('users')
class User extends Model {
  @Matches(/@/)
  @MaxLength(20)
  @Column('varchar')
  email!: string
}

@Entity('readers')
class Reader extends Model {
  @IsEmail()
  @Column('varchar')
  address!: string
}

@Entity('codes')
class Code extends Model {
  @Column('varchar', { length: 20 })
  text!: string

  @Column('varchar', { length: 2 })
  initials!: string

  @Column('decimal', { precision: 1, scale: 0 })
  digit!: string

  @Column('decimal', { precision: 2, scale: 2 })
  part!: string

  @Column('decimal', { precision: 65, scale: 30 })
  exact!: string

  @Column('simple-enum', { enum: ['a', 'b', 'c'], unique: true })
  letter!: string

  @Column('simple-enum', { enum: ['low', 'high'] })
  level!: string
}

class CreateUsers1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const columns = [primaryKey(runner), column(runner, 'email', 'string'), ...timestamps(runner)]
    await runner.createTable(new Table({ name: 'users', columns }))
  }

  async down(): Promise<void> {}
}

/** Compares two values of a kind: numbers, also as text, and texts and dates. */
function compare(one: unknown, other: unknown): number {
  const [first, second] = [one, other].map((value) =>
    Number.isNaN(Number(value)) ? String(value) : Number(value),
  )
  return first! < second! ? -1 : first === second ? 0 : 1
}

describe('Factory', () => {
  let database: Database
  let factory: Factory

  beforeEach(async () => {
    database = await openBlogDatabase('sqlite::memory:')
    factory = new Factory(database)
  })

  afterEach(() => database.close())

  it('creates a record with a value in every required column', async () => {
    const post = await factory.make(Post)
    expect(post.title).to.match(/^title /)
    expect(post.description).to.equal(null)
    expect(await database.manager.existsBy(Post, { id: post.id })).to.equal(true)
  })

  it('creates referenced records, unless they are given', async () => {
    const comment = await factory.make(Comment)
    expect(await database.manager.existsBy(Post, { id: comment.post_id })).to.equal(true)
    const again = await factory.make(Comment, { post_id: comment.post_id })
    expect(again.post_id).to.equal(comment.post_id)
    const post = await database.manager.findOneByOrFail(Post, { id: comment.post_id })
    expect((await factory.make(Comment, { post })).post_id).to.equal(post.id)
    expect(await database.manager.count(Post)).to.equal(1)
  })

  it('creates records that differ', async () => {
    const posts = [await factory.make(Post), await factory.make(Post)]
    expect(new Set(posts.map((post) => post.title)).size).to.equal(2)
  })

  it('saves a record that was built or changed, and returns the errors of its rules', async () => {
    const post = factory.build(Post, { title: 'Hello' })
    expect(await factory.save(post)).to.equal(undefined)
    post.title = ' '
    expect((await factory.save(post))?.codes).to.deep.equal({ title: ['present'] })
    expect(await database.manager.existsBy(Post, { id: post.id, title: 'Hello' })).to.equal(true)
  })

  it('builds a record without saving it', async () => {
    expect(factory.build(Post, { description: 'mine' })).to.include({ description: 'mine' })
    expect(await database.manager.count(Post)).to.equal(0)
  })

  it('has a value for every kind of attribute', async () => {
    const things = new Database({ test: { url: 'sqlite::memory:' }, models: [Thing] }, 'test')
    await things.open()
    const built = new Factory(things).build(Thing)
    const empty = Object.keys(thing).filter((name) => Reflect.get(built, name) === undefined)
    expect(empty).to.deep.equal([])
    await things.close()
  })

  it('counts up from record to record', async () => {
    const things = new Database({ test: { url: 'sqlite::memory:' }, models: [Thing] }, 'test')
    await things.open()
    const own = new Factory(things)
    const built = Array.from({ length: 200 }, () => own.build(Thing))
    const ascending = Object.keys(thing).filter((name) => {
      const values = built.map((one) => Reflect.get(one, name) as string)
      const rises = (index: number) => compare(values[index - 1], values[index]) < 0
      return values.every((_, index) => index === 0 || rises(index))
    })
    expect(ascending).to.have.members(
      Object.keys(thing).filter((name) => !['bool', 'json', 'enum'].includes(name)),
    )
    await things.close()
  })

  it('repeats values of a short column only after all others', async () => {
    const codes = new Database({ test: { url: 'sqlite::memory:' }, models: [Code] }, 'test')
    await codes.open()
    const own = new Factory(codes)
    const built = Array.from({ length: 2000 }, () => own.build(Code))
    const different = (name: keyof Code) => new Set(built.map((one) => one[name])).size
    expect([different('text'), different('initials')]).to.deep.equal([2000, 36 ** 2])
    expect(built[0]).to.deep.include({
      text: '00000000000000000001',
      initials: '01',
      digit: '4',
      part: '0.01',
    })
    expect([different('digit'), different('part')]).to.deep.equal([7, 50])
    await codes.close()
  })

  it('gives an enum its first value, and each value in turn if it is unique', async () => {
    const codes = new Database({ test: { url: 'sqlite::memory:' }, models: [Code] }, 'test')
    await codes.open()
    const own = new Factory(codes)
    const built = Array.from({ length: 4 }, () => own.build(Code))
    expect(built.map(({ letter }) => letter).join('')).to.equal('abca')
    expect(new Set(built.map(({ level }) => level))).to.deep.equal(new Set(['low']))
    await codes.close()
  })

  it('fills the columns of email addresses', async () => {
    const readers = new Database(
      { test: { url: 'sqlite::memory:' }, models: [Reader], migrations: [] },
      'test',
    )
    await readers.open()
    await readers.synchronize()
    const own = new Factory(readers)
    const [first, second] = [await own.make(Reader), await own.make(Reader)]
    expect(first.address)
      .to.match(/^user-1-.*@example\.com$/)
      .and.not.to.equal(second.address)
    await readers.close()
  })

  it('uses the defaults that the application defines for a model', async () => {
    const users = new Database(
      { test: { url: 'sqlite::memory:' }, models: [User], migrations: [CreateUsers1700000000000] },
      'test',
    )
    await users.open()
    await users.migrate()
    const own = new Factory(users)
    expect(String(await failure(own.make(User)))).to.match(
      /cannot create a User: email: .*[a-z]\. Pass valid values, .*factory\.define\(User/,
    )
    own.define(User, (n) => ({ email: `user${n}@example` }))
    expect((await own.make(User)).email).to.match(/^user\d@example$/)
    expect((await own.make(User, { email: 'a@b' })).email).to.equal('a@b')
    await users.close()
  })
})
