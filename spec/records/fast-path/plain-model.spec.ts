import { expect } from 'chai'
import {
  AfterInsert,
  AfterLoad,
  BeforeUpdate,
  ChildEntity,
  Column,
  CreateDateColumn,
  DeleteDateColumn,
  Entity,
  JoinColumn,
  ManyToOne,
  OneToMany,
  TableInheritance,
  VersionColumn,
} from 'typeorm'
import type { EntitySubscriberInterface, FindOptionsWhere, ValueTransformer } from 'typeorm'
import { Database } from '../../../src/database/database.js'
import { Model } from '../../../src/models/model.js'
import { fastPath } from '../../../src/records/fast-path/fast-path.js'
import { databaseWithTables } from '../../support/databases.js'
import { engine } from '../../support/engine.js'
import { destroyRecord, findRecord, paginate, saveRecord } from '../../support/records.js'

const reversed: ValueTransformer = {
  to: (text: string) => [...text].toReversed().join(''),
  from: (text: string) => [...text].toReversed().join(''),
}

abstract class Titled extends Model {
  @Column('varchar')
  title!: string
}

@Entity('plain_things')
class Plain extends Titled {
  @Column('varchar', { name: 'other_name', nullable: true })
  renamed!: string | null

  @Column('boolean', { nullable: true })
  done!: boolean | null

  @Column('int', { nullable: true })
  count!: number | null

  /** A property that is not a column. */
  label = 'made by the class'

  get shouted(): string {
    return this.title.toUpperCase()
  }
}

@Entity('hidden_things')
class Hidden extends Titled {
  @Column('varchar', { select: false, nullable: true })
  secret!: string | null
}

@Entity('transformed_things')
class Transformed extends Titled {
  @Column('varchar', { transformer: reversed })
  word!: string
}

@Entity('listened_things')
class Listened extends Titled {
  events: string[] = []

  @AfterLoad()
  loaded(): void {
    this.events.push('loaded')
  }

  @AfterInsert()
  inserted(): void {
    this.events.push('inserted')
  }

  @BeforeUpdate()
  updating(): void {
    this.events.push('updating')
  }
}

@Entity('kept_things')
class Kept extends Titled {
  @DeleteDateColumn()
  deleted_at!: Date | null
}

@Entity('versioned_things')
class Versioned extends Titled {
  @VersionColumn()
  version!: number
}

class Address {
  @Column('varchar', { nullable: true })
  street!: string | null
}

@Entity('dated_things')
class Dated extends Titled {
  @CreateDateColumn()
  joined_at!: Date
}

@Entity('short_things')
class Short extends Model {
  @Column('varchar', { length: 10 })
  title!: string
}

@Entity('owners')
class Owner extends Titled {
  @OneToMany(() => Pet, (pet) => pet.owner)
  pets?: Pet[]
}

@Entity('pets')
class Pet extends Titled {
  @Column('uuid', { nullable: true })
  owner_id!: string | null

  @ManyToOne(() => Owner, (owner) => owner.pets)
  @JoinColumn({ name: 'owner_id' })
  owner?: Owner | null
}

@Entity('embedding_things')
class Embedding extends Titled {
  @Column(() => Address)
  address!: Address
}

@Entity('referring_things')
class Referring extends Titled {
  @Column('uuid', { nullable: true })
  plain_id!: string | null

  @ManyToOne(() => Plain, { eager: true })
  @JoinColumn({ name: 'plain_id' })
  plain?: Plain | null
}

@Entity('inherited_things')
@TableInheritance({ column: { type: 'varchar', name: 'kind', length: 50 } })
class Parent extends Titled {}

@ChildEntity()
class Child extends Parent {
  @Column('varchar', { nullable: true })
  toy!: string | null
}

type ModelClass = new () => Titled

const samples: Array<[model: ModelClass, values: object]> = [
  [Plain, { title: 'one', renamed: 'x', done: true, count: 7 }],
  [Hidden, { title: 'one', secret: 'hush' }],
  [Transformed, { title: 'one', word: 'abc' }],
  [Listened, { title: 'one' }],
  [Kept, { title: 'one' }],
  [Versioned, { title: 'one' }],
  [Dated, { title: 'one' }],
  [Owner, { title: 'one' }],
  [Pet, { title: 'one' }],
  [Embedding, { title: 'one', address: Object.assign(new Address(), { street: 'Main Street' }) }],
  [Referring, { title: 'one' }],
  [Parent, { title: 'one' }],
  [Child, { title: 'one', toy: 'ball' }],
]

function open(url: string): Promise<Database> {
  const models = [...samples.map(([model]) => model), Short]
  return new Database({ test: { url }, models }, 'test').open()
}

async function createTables(url: string): Promise<void> {
  const database = await open(url)
  await database.synchronize()
  await database.close()
}

describe('A plain model and a model with extras', () => {
  let database: Database

  beforeEach(async () => {
    database = await open(await databaseWithTables('plain models', createTables))
  })
  afterEach(() => database.close())

  for (const [model, values] of samples) {
    describe(model.name, () => {
      it('has the results of TypeORM when it is found and listed', async () => {
        const tx = database.manager
        const { id } = await tx.save(Object.assign(new model(), values))
        const byId = { id } as FindOptionsWhere<Titled>
        const expected = await tx.findOneByOrFail<Titled>(model, byId)
        for (let time = 0; time < 2; time += 1) {
          const found = await findRecord<Titled>(tx, model, id)
          expect(found).to.deep.equal(expected)
          expect(Object.keys(found)).to.deep.equal(Object.keys(expected))
          expect(found).to.be.instanceOf(model)
        }
        const { records, pagination } = await paginate<Titled>(tx, model, {}, { where: { title: 'one' } })
        expect(records).to.deep.equal([expected])
        expect(pagination.total).to.equal(1)
      })

      it('has the results of TypeORM when it is saved, changed and deleted', async () => {
        const tx = database.manager
        const record = Object.assign(new model(), values)
        expect(await saveRecord(tx, record)).to.equal(undefined)
        const first = await tx.findOneByOrFail<Titled>(model, { id: record.id })
        expect(JSON.parse(JSON.stringify(record))).to.deep.include({ id: first.id, title: 'one' })

        record.title = 'two'
        expect(await saveRecord(tx, record)).to.equal(undefined)
        const second = await tx.findOneByOrFail<Titled>(model, { id: record.id })
        expect(second.title).to.equal('two')
        expect(second.created_at).to.deep.equal(first.created_at)
        expect(second.updated_at.getTime()).to.be.at.least(first.updated_at.getTime())

        await destroyRecord(tx, record)
        expect(await tx.countBy(model, { id: record.id })).to.equal(0)
      })
    })
  }

  it('differ: a plain model has only columns, and no listeners or subscribers', () => {
    const plain = samples
      .filter(([model]) => fastPath(database.manager, database.getMetadata(model)))
      .map(([model]) => model.name)
    expect(plain).to.deep.equal([
      'Plain',
      'Hidden',
      'Transformed',
      'Kept',
      'Versioned',
      'Dated',
      'Owner',
      'Pet',
    ])
  })

  it('do not find soft-deleted records', async () => {
    const tx = database.manager
    const record = await tx.save(Object.assign(new Kept(), { title: 'one' }))
    await tx.softRemove(record)
    expect((await paginate(tx, Kept, {})).records).to.deep.equal([])
    expect((await paginate(tx, Kept, {})).pagination.total).to.equal(0)
  })

  it('call the listeners of their class', async () => {
    const record = Object.assign(new Listened(), { title: 'one' })
    await saveRecord(database.manager, record)
    record.title = 'two'
    await saveRecord(database.manager, record)
    expect(record.events).to.deep.equal(['inserted', 'updating'])
    expect((await findRecord(database.manager, Listened, record.id)).events).to.deep.equal(['loaded'])
  })

  it('notify a subscriber, also one that is added later', async () => {
    const tx = database.manager
    const record = Object.assign(new Plain(), { title: 'one' })
    await saveRecord(tx, record)
    await findRecord(tx, Plain, record.id)
    const heard: string[] = []
    const subscriber: EntitySubscriberInterface = {
      afterLoad: () => void heard.push('load'),
      afterInsert: () => void heard.push('insert'),
      afterUpdate: () => void heard.push('update'),
      afterRemove: () => void heard.push('remove'),
      beforeQuery: ({ query }) => void heard.push(query.slice(0, 6)),
    }
    database.subscribers.push(subscriber)
    const found = await findRecord(tx, Plain, record.id)
    expect(heard).to.deep.equal(['SELECT', 'load'])
    heard.length = 0
    found.title = 'two'
    await saveRecord(tx, found)
    expect(heard).to.include.members(['UPDATE', 'update'])
    await destroyRecord(tx, found)
    await saveRecord(tx, Object.assign(new Plain(), { title: 'three' }))
    expect(heard).to.include.members(['DELETE', 'remove', 'INSERT', 'insert'])
  })

  it('are written in a transaction that continues after the database has rejected one of them', async () => {
    for (const model of [Plain, Versioned]) {
      await database.transaction(async (tx) => {
        expect((await saveRecord(tx, new model()))?.status).to.equal(422)
        expect(await saveRecord(tx, Object.assign(new model(), { title: 'one' }))).to.equal(undefined)
      })
      expect(await database.manager.count(model)).to.equal(1)
    }
  })

  it('write nothing and keep the timestamps if nothing has changed', async () => {
    const tx = database.manager
    const record = Object.assign(new Plain(), { title: 'one', done: false, count: 0 })
    await saveRecord(tx, record)
    const found = await findRecord(tx, Plain, record.id)
    await saveRecord(tx, found)
    expect(found.updated_at).to.deep.equal(record.updated_at)
    expect(await findRecord(tx, Plain, record.id)).to.deep.equal(found)
  })

  it('keep columns that a loaded record lacks, and store null for those of a new record', async () => {
    const tx = database.manager
    const record = Object.assign(new Plain(), { title: 'one', renamed: 'x' })
    await saveRecord(tx, record)
    expect(record).to.include({ done: null, count: null })
    const part = Object.assign(new Plain(), { id: record.id, created_at: record.created_at })
    for (const title of ['two', 'three']) await saveRecord(tx, Object.assign(part, { title }))
    expect(await findRecord(tx, Plain, record.id)).to.include({ title: 'three', renamed: 'x' })
  })

  it('keep a column that queries do not select, even if a record is saved twice', async () => {
    const tx = database.manager
    const { id } = await tx.save(Object.assign(new Hidden(), { title: 'one', secret: 'hush' }))
    const record = await findRecord(tx, Hidden, id)
    for (const title of ['two', 'three']) await saveRecord(tx, Object.assign(record, { title }))
    expect(record.secret).to.equal(undefined)
    const select = { id: true, title: true, secret: true }
    expect(await tx.findOneByOrFail(Hidden, { id })).to.include({ title: 'three' })
    expect((await tx.findOneOrFail(Hidden, { where: { id }, select })).secret).to.equal('hush')
    const fresh = Object.assign(new Hidden(), { title: 'new' })
    await saveRecord(tx, fresh)
    expect(fresh.secret).to.equal(undefined)
  })

  it('insert a record again that has been deleted in the meantime, as TypeORM does', async () => {
    const tx = database.manager
    const record = Object.assign(new Plain(), { title: 'one' })
    await saveRecord(tx, record)
    await tx.delete(Plain, { id: record.id })
    await saveRecord(tx, record)
    expect(await tx.countBy(Plain, { id: record.id })).to.equal(1)
  })

  it('have their other dates set by the database', async () => {
    const tx = database.manager
    const record = Object.assign(new Dated(), { title: 'one' })
    expect(await saveRecord(tx, record)).to.equal(undefined)
    expect((await findRecord(tx, Dated, record.id)).joined_at).to.be.instanceOf(Date)
  })

  it('save a shorter text after one that was too long', async function () {
    // The other engines truncate such a text, or reject to shorten the column.
    if (engine !== 'sqlite') return this.skip()
    const tx = database.manager
    const record = Object.assign(new Short(), { title: 'short' })
    await saveRecord(tx, record)
    await tx.query("UPDATE short_things SET title = 'from before it was bounded'")
    const found = await findRecord(tx, Short, record.id)
    found.title = 'short again'
    expect((await saveRecord(tx, found))?.messages).to.deep.equal({ title: ['Title is too long.'] })
    found.title = 'short'
    expect(await saveRecord(tx, found)).to.equal(undefined)
  })

  it('record each change with milliseconds, however quickly it follows', async () => {
    const tx = database.manager
    const begun = Date.now()
    for (const model of [Plain, Transformed]) {
      const record = Object.assign(new model(), { title: 'one', word: 'abc' })
      await saveRecord(tx, record)
      for (let time = 0; time < 20; time += 1) {
        const { updated_at: before } = record
        record.title = `title ${time}`
        await saveRecord(tx, record)
        const { updated_at: after } = await findRecord(tx, model, record.id)
        expect(after.getTime()).to.be.at.least(begun).and.to.not.equal(before.getTime())
      }
    }
  })

  it('are ordered by a relation, and each record is listed once', async () => {
    const tx = database.manager
    const owners = ['b', 'a'].map((title) => Object.assign(new Owner(), { title }))
    for (const owner of owners) await saveRecord(tx, owner)
    for (const { id: owner_id } of [...owners, ...owners])
      await saveRecord(tx, Object.assign(new Pet(), { title: 'pet', owner_id }))
    const order = { owner: { title: 'ASC' } } as const
    const pets = (await paginate(tx, Pet, {}, { order })).records
    expect(pets.map(({ owner_id }) => owner_id === owners[1]?.id)).to.deep.equal([true, true, false, false])
    const byPets = paginate(tx, Owner, {}, { order: { pets: { title: 'ASC' } } })
    // TypeORM does not support it either, and says so in its error.
    expect(await byPets.then(({ records }) => records.length).catch(() => 'rejected')).to.equal('rejected')
  })

  it('reject an unknown column, whatever was queried before', async () => {
    const tx = database.manager
    await paginate(tx, Plain, {}, { where: { title: 'a', count: 1 } })
    const where = { 'title,count': 'a' } as FindOptionsWhere<Plain>
    const error = await paginate(tx, Plain, {}, { where }).catch((reason: unknown) => reason)
    expect(String(error)).to.contain('Property "title,count" was not found in "Plain"')
  })
})
