import { expect } from 'chai'
import { MaxLength, Matches } from 'class-validator'
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

@Entity('codes')
class Code extends Model {
  @Column('varchar', { length: 20 })
  text!: string
}

class CreateUsers1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const columns = [primaryKey(runner), column(runner, 'email', 'string'), ...timestamps(runner)]
    await runner.createTable(new Table({ name: 'users', columns }))
  }

  async down(): Promise<void> {}
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
    expect(await database.manager.count(Post)).to.equal(1)
  })

  it('creates records that differ', async () => {
    const posts = [await factory.make(Post), await factory.make(Post)]
    expect(new Set(posts.map((post) => post.title)).size).to.equal(2)
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

  it('creates different texts that are as short as their columns', async () => {
    const codes = new Database({ test: { url: 'sqlite::memory:' }, models: [Code] }, 'test')
    await codes.open()
    const own = new Factory(codes)
    const [one, two] = [own.build(Code), own.build(Code)]
    expect(one.text).to.have.length(20)
    expect(two.text).to.have.length(20).and.not.equal(one.text)
    await codes.close()
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
      /cannot create a User: email: .*factory\.define\(User/,
    )
    own.define(User, (n) => ({ email: `user${n}@example` }))
    expect((await own.make(User)).email).to.match(/^user\d@example$/)
    expect((await own.make(User, { email: 'a@b' })).email).to.equal('a@b')
    await users.close()
  })
})
