import { expect } from 'chai'
import { Column, Entity, ManyToOne, type EntityManager, type Relation } from 'typeorm'
import { newId } from '../../src/models/ids.js'
import { App, Database, Model, RelationIds, transaction } from '../../src/index.js'
import { newDatabase } from '../support/databases.js'
import { countQueries } from '../support/count-queries.js'
import { failure } from '../support/failure.js'
import { openTickets, Person, Tag, Ticket } from '../support/applications/tickets.js'
import { destroyRecord, findRecord, loadRelations, paginate, saveRecord } from '../support/records.js'

describe('A property with @RelationIds', () => {
  let database: Database
  let tx: EntityManager
  let tags: string[]

  beforeEach(async () => {
    database = await openTickets()
    tx = database.manager
    tags = []
    for (const name of ['bug', 'urgent', 'docs']) {
      const tag = Object.assign(new Tag(), { name })
      await saveRecord(tx, tag)
      tags.push(tag.id)
    }
  })
  afterEach(() => database.close())

  const [first, second, third] = [0, 1, 2].map((index) => () => tags[index] ?? '') as [
    () => string,
    () => string,
    () => string,
  ]

  async function aTicket(values: Partial<Ticket> = {}): Promise<string> {
    const ticket = Object.assign(new Ticket(), { title: 'first' }, values)
    expect(await saveRecord(tx, ticket)).to.equal(undefined)
    return ticket.id
  }

  async function linksOf(id: string): Promise<string[]> {
    return (await findRecord(tx, Ticket, id)).tag_ids
  }

  /** Changes the links as another request would. */
  async function elsewhere(id: string, tag_ids: string[]): Promise<void> {
    await saveRecord(tx, Object.assign(await findRecord(tx, Ticket, id), { tag_ids }))
  }

  it('contains the ids of the related records, in the order of the ids', async () => {
    const id = await aTicket({ tag_ids: [third(), first()] })
    expect(await linksOf(id)).to.deep.equal([first(), third()].toSorted())
    expect(await linksOf(await aTicket())).to.deep.equal([])
  })

  it('is read with one query for each relation of a page', async () => {
    for (let number = 0; number < 5; number++) await aTicket({ tag_ids: [first(), second()] })
    const count = async (perPage: number) =>
      countQueries(database, () => paginate(tx, Ticket, {}, { perPage }))
    const queries = await count(2)
    expect(await count(5)).to.equal(queries)
    const { records } = await paginate(tx, Ticket, {})
    expect(records.map(({ tag_ids }) => tag_ids.length)).to.deep.equal([2, 2, 2, 2, 2])
    expect(records.map(({ watcher_ids }) => watcher_ids.length)).to.deep.equal([0, 0, 0, 0, 0])
  })

  it('is an empty list of a new record that was saved without one', async () => {
    const ticket = Object.assign(new Ticket(), { title: 'new' })
    await saveRecord(tx, ticket)
    expect(ticket.tag_ids).to.deep.equal([])
  })

  it('is written when it is assigned, even if its content is equal', async () => {
    const id = await aTicket({ tag_ids: [first(), second()] })
    const ticket = await findRecord(tx, Ticket, id)
    await elsewhere(id, [third()])
    ticket.tag_ids = [second(), first()]
    expect(await saveRecord(tx, ticket)).to.equal(undefined)
    expect(await linksOf(id)).to.deep.equal([first(), second()].toSorted())
  })

  it('is written when the list is changed', async () => {
    const id = await aTicket({ tag_ids: [first()] })
    const ticket = await findRecord(tx, Ticket, id)
    ticket.tag_ids.push(second())
    await saveRecord(tx, ticket)
    expect(await linksOf(id)).to.deep.equal([first(), second()].toSorted())
  })

  it('is not written when it was only read, with or without the records', async () => {
    const id = await aTicket({ tag_ids: [first()] })
    const ticket = await findRecord(tx, Ticket, id)
    await loadRelations(tx, [ticket], ['tags', 'watchers'])
    await elsewhere(id, [second(), third()])
    ticket.title = 'changed'
    expect(await saveRecord(tx, ticket)).to.equal(undefined)
    expect(await linksOf(id)).to.deep.equal([second(), third()].toSorted())
  })

  it('is written again only after it was assigned again', async () => {
    const id = await aTicket()
    const ticket = await findRecord(tx, Ticket, id)
    ticket.tag_ids = [first()]
    await saveRecord(tx, ticket)
    await elsewhere(id, [second()])
    ticket.title = 'changed'
    await saveRecord(tx, ticket)
    expect(await linksOf(id)).to.deep.equal([second()])
  })

  it('keeps more ids than a statement can contain', async () => {
    const count = 33_000
    const all = Array.from({ length: count }, (_, number) =>
      Object.assign(new Tag(), { id: newId(), name: `${number}` }),
    )
    for (let start = 0; start < count; start += 3000) {
      const insert = tx.createQueryBuilder().insert().into(Tag)
      await insert
        .values(all.slice(start, start + 3000))
        .updateEntity(false)
        .execute()
    }
    const kept = all.map(({ id }) => id)
    const id = await aTicket({ tag_ids: [...kept, first()] })
    const ticket = Object.assign(await findRecord(tx, Ticket, id), { tag_ids: [...kept, second()] })
    expect(await saveRecord(tx, ticket)).to.equal(undefined)
    const linked = new Set(await linksOf(id))
    expect([linked.size, linked.has(first()), linked.has(second())]).to.deep.equal([count + 1, false, true])
  })

  it('contains each id once', async () => {
    const id = await aTicket({ tag_ids: [first(), first(), second()] })
    expect(await linksOf(id)).to.deep.equal([first(), second()].toSorted())
  })

  it('removes loaded records that are no longer linked', async () => {
    const id = await aTicket({ tag_ids: [first()] })
    const ticket = await findRecord(tx, Ticket, id)
    await loadRelations(tx, [ticket], ['tags'])
    ticket.tag_ids = [second()]
    await saveRecord(tx, ticket)
    expect(ticket).to.not.have.property('tags')
    expect(ticket.tag_ids).to.deep.equal([second()])
  })

  it('can belong to the side without the join table', async () => {
    const id = await aTicket()
    const person = Object.assign(new Person(), { name: 'Ada', watched_ids: [id] })
    await saveRecord(tx, person)
    expect((await findRecord(tx, Ticket, id)).watcher_ids).to.deep.equal([person.id])
    expect((await findRecord(tx, Person, person.id)).watched_ids).to.deep.equal([id])
  })

  for (const [what, unknown] of Object.entries({
    'a record that does not exist': '0193b6a2-7c3e-7000-8000-00000000000a',
    'text that is not an id': 'bug',
  })) {
    it(`has an error, and nothing is saved, when it contains ${what}`, async () => {
      const id = await aTicket({ tag_ids: [first()] })
      const ticket = await findRecord(tx, Ticket, id)
      Object.assign(ticket, { title: 'changed', tag_ids: [second(), unknown] })
      const errors = await saveRecord(tx, ticket)
      expect(errors?.status).to.equal(422)
      expect(errors?.messages).to.deep.equal({ tag_ids: ['Tags contains a record that does not exist.'] })
      expect(await findRecord(tx, Ticket, id)).to.deep.include({ title: 'first', tag_ids: [first()] })
    })
  }

  it('is undone together with the record', async () => {
    const id = await aTicket({ tag_ids: [first()] })
    await failure(
      database.transaction(async (manager) => {
        const ticket = Object.assign(await findRecord(manager, Ticket, id), { tag_ids: [] })
        await saveRecord(manager, ticket)
        throw new Error('undo')
      }),
    )
    expect(await linksOf(id)).to.deep.equal([first()])
  })

  it('leaves no links when the record is deleted', async () => {
    const ticket = await findRecord(tx, Ticket, await aTicket({ tag_ids: [first()] }))
    await destroyRecord(tx, ticket)
    expect(ticket.tag_ids).to.deep.equal([first()])
    const [row] = await database.query('SELECT COUNT(*) AS count FROM tickets_tags')
    expect(Number(row.count)).to.equal(0)
  })

  it('has the links of one of two requests that write them at the same time', async () => {
    const id = await aTicket()
    let another: Promise<void> | undefined
    await database.transaction(async (manager) => {
      await write(manager, [first()])
      another = database.transaction((other) => write(other, [second()]))
      // Unless it waits for this transaction, it ends meanwhile.
      await Promise.race([another, manyQueries(manager)])
    })
    await another
    expect(await linksOf(id)).to.deep.equal([second()])

    async function write(manager: EntityManager, tag_ids: string[]) {
      await saveRecord(manager, Object.assign(await findRecord(manager, Ticket, id), { tag_ids }))
    }

    async function manyQueries(manager: EntityManager) {
      for (let number = 0; number < 50; number++) await manager.query('SELECT 1')
    }
  })
})

describe('@RelationIds(relation)', () => {
  it('prevents the start if the relation has no join table', async () => {
    @Entity('sheets')
    class Sheet extends Model {
      @Column('varchar')
      title!: string

      @ManyToOne(() => Sheet)
      parents?: Relation<Sheet[]>

      @RelationIds('parents')
      parent_ids!: string[]
    }
    const database = new Database(
      { test: { url: await newDatabase(), logging: false }, models: [Sheet] },
      'test',
    )
    try {
      const app = new App({ env: 'test', api: true })
      app.use(transaction(database))
      expect(String(await failure(app.start()))).to.contain(
        "@RelationIds('parents') of Sheet.parent_ids needs a relation that is declared with @ManyToMany. " +
          'Declare parents so, or remove parent_ids.',
      )
    } finally {
      await database.close()
    }
  })

  it('does not compile with a name that is not a relation', () => {
    class Sheet extends Model {
      title!: string

      // @ts-expect-error: the relation is misspelled.
      @RelationIds('titels')
      title_ids!: string[]

      // @ts-expect-error: a title isn't a list of records.
      @RelationIds('title')
      other_ids!: string[]
    }
    expect(new Sheet()).to.be.instanceOf(Model)
  })
})
