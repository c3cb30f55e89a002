import { expect } from 'chai'
import { Column, Entity, ManyToOne, OneToMany } from 'typeorm'
import type { EntityManager, Relation } from 'typeorm'
import { Database } from '../../src/database/database.js'
import { LazyTransaction } from '../../src/database/transactions/lazy-transaction.js'
import { Model } from '../../src/models/model.js'
import { RecordNotFound, ValidationErrors } from '../../src/errors.js'
import { Comment, newPost, openBlogDatabase, Post } from '../support/applications/blog-database.js'
import { newDatabase } from '../support/databases.js'
import { engine } from '../support/engine.js'
import { failure } from '../support/failure.js'
import { destroyRecord, findRecord, findRecordBy, saveRecord } from '../support/records.js'

@Entity('counters')
class Counter extends Model {
  @Column('int')
  value!: number

  override async validateCreate(errors: ValidationErrors, tx: EntityManager): Promise<void> {
    if ((await tx.count(Counter)) > 0) errors.add('value', 'single', 'There is one already.')
  }

  override validateUpdate(errors: ValidationErrors): void {
    if (this.value < 0) errors.add('value', 'positive', 'Value cannot be negative.')
  }
}

@Entity('shelves')
class Shelf extends Model {
  @Column('varchar')
  name!: string

  @OneToMany(() => Book, (book) => book.shelf)
  books!: Relation<Book>[]
}

@Entity('books')
class Book extends Model {
  @Column('varchar', { unique: true })
  title!: string

  @ManyToOne(() => Shelf, (shelf) => shelf.books)
  shelf!: Relation<Shelf>
}

const german = (id: string) => (id === 'validation.unique' ? 'Gibt es schon.' : undefined)

const NOBODY = '01a1f9dd-cc70-77ba-8126-083f65750f7f'

describe('Records', () => {
  let database: Database
  let tx: EntityManager

  beforeEach(async () => {
    database = await openBlogDatabase()
    tx = database.manager
  })
  afterEach(() => database.close())

  describe('findRecord(tx, model, id)', () => {
    it('finds by id in lower or upper case', async () => {
      const post = await tx.save(newPost('one'))
      expect((await findRecord(tx, Post, post.id)).title).to.equal('one')
      expect((await findRecord(tx, Post, post.id.toUpperCase())).title).to.equal('one')
    })

    it('throws RecordNotFound for a malformed id', async () => {
      const { id: taken } = await tx.save(newPost('one'))
      const texts = ['', 'new', '1', NOBODY, `${NOBODY}\0`, `${NOBODY} `, '\0', '💥']
      const others = [undefined, null, true, 0, 1, {}, [], [taken], { id: taken }, { title: 'one' }]
      for (const id of [...texts, ...others]) {
        const error = await failure(findRecord(tx, Post, id))
        expect(error, JSON.stringify(id)).to.be.instanceOf(RecordNotFound)
        expect(String(error)).to.contain('Post not found')
      }
    })
  })

  describe('findRecordBy(tx, model, conditions)', () => {
    it('finds by several columns', async () => {
      const post = await tx.save(newPost('one'))
      const comment = await tx.save(Object.assign(new Comment(), { body: 'x', post_id: post.id }))
      const { id } = comment
      expect((await findRecordBy(tx, Comment, { id, post_id: post.id })).id).to.equal(id)
      expect((await findRecordBy(tx, Comment, { id, post: { id: post.id } })).id).to.equal(id)
      expect(await failure(findRecordBy(tx, Comment, { id, post_id: NOBODY }))).to.be.instanceOf(
        RecordNotFound,
      )
    })

    it('throws RecordNotFound for values that no record can have', async () => {
      await tx.save(newPost('one'))
      const all = [{ title: undefined }, { title: 'o\0ne' }, { id: undefined, title: 'one' }]
      for (const conditions of all)
        expect(await failure(findRecordBy(tx, Post, conditions))).to.be.instanceOf(RecordNotFound)
    })

    it('throws RecordNotFound without conditions', async () => {
      await tx.save(newPost('one'))
      for (const conditions of [{}, [], [{ title: 'one' }], null, undefined, 'one', true])
        // Handlers pass values from a request: the compiler does not see all of them.
        expect(await failure(findRecordBy(tx, Post, conditions as object))).to.be.instanceOf(RecordNotFound)
    })
  })

  describe('saveRecord(tx, record)', () => {
    it('inserts a new record, and updates a loaded one', async () => {
      const post = newPost('one')
      expect(await saveRecord(tx, post)).to.equal(undefined)
      const found = await findRecord(tx, Post, post.id)
      found.title = 'two'
      expect(await saveRecord(tx, found)).to.equal(undefined)
      expect((await tx.find(Post)).map(({ title }) => title)).to.deep.equal(['two'])
    })

    it('returns validation errors, and saves nothing', async () => {
      const errors = await saveRecord(tx, newPost(' '))
      expect(errors?.status).to.equal(422)
      expect(errors?.messages).to.deep.equal({ title: ['Title cannot be blank.'] })
      expect(await tx.count(Post)).to.equal(0)
    })

    it('returns errors of the database, and a rejected record is still new', async () => {
      await saveRecord(tx, newPost('taken'))
      const post = newPost('taken')
      const errors = await saveRecord(tx, post)
      expect(errors?.status).to.equal(409)
      expect(errors?.messages).to.deep.equal({ title: ['Title has already been taken.'] })
      expect(post.id).to.equal(undefined)
      post.title = 'free'
      expect(await saveRecord(tx, post)).to.equal(undefined)
    })

    it('names a reference that does not exist', async () => {
      const errors = await saveRecord(tx, Object.assign(new Comment(), { body: 'x', post_id: NOBODY }))
      expect(errors?.status).to.equal(422)
      expect(errors?.messages).to.deep.equal({ post_id: ['Post does not exist.'] })
    })

    it('sets the foreign key of an assigned record before the hook, which follows the rules', async () => {
      const post = newPost('one')
      await saveRecord(tx, post)
      const seen: string[] = []
      const validateCreate = (): void => void seen.push(comment.post_id)
      const comment = Object.assign(new Comment(), { body: 'x', post, validateCreate })
      expect(await saveRecord(tx, comment)).to.equal(undefined)
      expect(seen).to.deep.equal([post.id])
    })

    it('names a column that must not be null', async () => {
      const errors = await saveRecord(tx, new Comment())
      expect(errors?.status).to.equal(422)
      expect(errors?.messages).to.deep.equal({ body: ['Body cannot be blank.'] })
    })

    it('translates errors of the database', async () => {
      await saveRecord(tx, newPost('taken'))
      expect((await saveRecord(tx, newPost('taken'), german))?.on('title')).to.deep.equal(['Gibt es schon.'])
    })

    it('calls the hook for new records, or the hook for changed ones', async () => {
      const counters = new Database(
        { test: { url: await newDatabase(), logging: false }, models: [Counter] },
        'test',
      )
      await counters.open()
      await counters.synchronize()
      const counter = Object.assign(new Counter(), { value: -1 })
      expect(await saveRecord(counters.manager, counter)).to.equal(undefined)
      expect((await saveRecord(counters.manager, counter))?.messages).to.deep.equal({
        value: ['Value cannot be negative.'],
      })
      const second = Object.assign(new Counter(), { value: 1 })
      expect((await saveRecord(counters.manager, second))?.messages).to.deep.equal({
        value: ['There is one already.'],
      })
      await counters.close()
    })

    it('calls no hook while a rule is broken or a field could not be read, so that a hook can rely on both', async () => {
      const asked: string[] = []
      const validateCreate = () => void asked.push('validateCreate')
      const blank = Object.assign(newPost(''), { validateCreate })
      expect((await saveRecord(tx, blank))?.messages).to.deep.equal({ title: ['Title cannot be blank.'] })

      const known = new ValidationErrors().add('title', 'type.string', 'Title must be text.')
      const unreadable = Object.assign(newPost('one'), { validateCreate })
      expect((await saveRecord(tx, unreadable, undefined, known))?.messages).to.deep.equal({
        title: ['Title must be text.'],
      })
      expect([...known.fields.keys()]).to.deep.equal(['title'])
      expect(asked).to.deep.equal([])
    })

    it('inserts a record whose id was chosen, and returns an error of the id if it is taken', async () => {
      const parents = new Database({ test: { url: await newDatabase() }, models: [Shelf, Book] }, 'test')
      await parents.open()
      await parents.synchronize()
      try {
        let titles = 0
        const title = () => `title ${(titles += 1)}`
        const shelf = (id: string) => Object.assign(new Shelf(), { id, name: 'shelf' })
        const cases = [
          [tx, (id: string) => Object.assign(newPost(title()), { id })],
          [parents.manager, shelf],
        ] as const
        for (const [manager, make] of cases) {
          const first = make(NOBODY)
          expect(await saveRecord(manager, first)).to.equal(undefined)
          expect(first.id).to.equal(NOBODY)
          const second = make(NOBODY)
          const errors = await saveRecord(manager, second)
          expect([errors?.status, errors?.codes]).to.deep.equal([409, { id: ['unique'] }])
          expect([second.id, second.created_at]).to.deep.equal([NOBODY, undefined])
          Reflect.deleteProperty(second, 'id')
          expect(await saveRecord(manager, second)).to.equal(undefined)
          expect(second.id).to.not.equal(NOBODY)
        }
        expect(await parents.manager.count(Shelf)).to.equal(2)
      } finally {
        await parents.close()
      }
    })

    it('needs no savepoint for one statement, which SQLite and MariaDB undo themselves', async () => {
      const asked: string[] = []
      const lazy = new LazyTransaction(database, 'write')
      const { logger } = database
      database.logger = {
        ...logger,
        logQuery: (query: string) => asked.push(query.split(' ')[0] ?? ''),
      } as never
      database.logger.logQueryError = () => undefined
      await saveRecord(lazy.manager, newPost('one'))
      await saveRecord(lazy.manager, newPost('one'))
      await lazy.commit()
      database.logger = logger
      // A further query finds the column on PostgreSQL.
      const statements = asked.slice(1).filter((word) => word !== 'SELECT')
      expect(statements).to.deep.equal(
        engine === 'postgres'
          ? ['INSERT', 'SAVEPOINT', 'INSERT', 'ROLLBACK', 'COMMIT']
          : ['INSERT', 'INSERT', 'COMMIT'],
      )
      expect(await tx.count(Post)).to.equal(1)
    })

    it('saves a record whose model lacks the hooks', async () => {
      const post = Object.assign(newPost('one'), { validateCreate: undefined })
      // A JavaScript model may lack a member of the type.
      expect(await saveRecord(tx, post as unknown as Post)).to.equal(undefined)
    })

    it('throws errors that the record did not cause', async () => {
      const broken = await openBlogDatabase(await newDatabase())
      await broken.query('DROP TABLE comments')
      const comment = Object.assign(new Comment(), { body: 'x', post_id: NOBODY })
      const error = await failure(saveRecord(broken.manager, comment))
      await broken.close()
      expect(String(error)).to.match(/no such table|does not exist|doesn't exist/)
    })
  })

  describe('destroyRecord(tx, record)', () => {
    it('deletes a record, which keeps its id', async () => {
      const post = await tx.save(newPost('one'))
      const { id } = post
      await destroyRecord(tx, post)
      expect(post.id).to.equal(id)
      expect(await tx.count(Post)).to.equal(0)
    })

    it('throws RecordNotFound for a record that has no id', async () => {
      expect(String(await failure(destroyRecord(tx, newPost('one'))))).to.include('The record has no id.')
    })

    it('throws 409 with a clear message if other records refer to it', async () => {
      const post = await tx.save(newPost('one'))
      await saveRecord(tx, Object.assign(new Comment(), { body: 'x', post_id: post.id }))
      const error = await failure(destroyRecord(tx, post))
      expect(error).to.be.instanceOf(ValidationErrors)
      expect((error as ValidationErrors).status).to.equal(409)
      expect((error as ValidationErrors).messages).to.deep.equal({
        base: ['Post is referred to by another record.'],
      })
      expect(post.id).to.be.a('string')
      expect(await tx.count(Post)).to.equal(1)
    })
  })
})
