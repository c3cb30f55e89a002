import { expect } from 'chai'
import { TableIndex } from 'typeorm'
import { findCrossings, findWideIndexes } from '../../src/records/crossings.js'
import type { Database } from '../../src/index.js'
import { Factory } from '../../src/testing/index.js'
import {
  Branch,
  Customer,
  Label,
  Line,
  open,
  Rental,
  rentalApplication,
  rentalDatabase,
} from '../support/applications/branches.js'
import { newDatabase } from '../support/databases.js'
import { countQueries } from '../support/count-queries.js'

describe('Records within a parent', () => {
  let database: Database
  let factory: Factory

  before(async () => {
    database = await rentalDatabase()
    // The paths of its resources imply what its records are within.
    rentalApplication(database).implyWithin()
    factory = new Factory(database)
  })

  after(() => database.close())

  const branchOf = async (model: typeof Customer | typeof Rental, id: string) =>
    (await database.manager.findOneByOrFail<Customer | Rental>(model, { id })).branch_id

  it('are made by the factory with the records of the same parent', async () => {
    const branch = await factory.make(Branch)
    const rental = await factory.make(Rental, { branch_id: branch.id })
    expect(await branchOf(Customer, rental.customer_id)).to.equal(branch.id)
    const alone = await factory.make(Rental)
    expect(await branchOf(Customer, alone.customer_id)).to.equal(alone.branch_id)
  })

  it('are made by the factory in the parent of the records that are given', async () => {
    const customer = await factory.make(Customer)
    expect(await factory.make(Rental, { customer_id: customer.id })).to.include({
      branch_id: customer.branch_id,
    })
    const label = await factory.make(Label)
    const rental = await factory.make(Rental, { label_ids: [label.id] })
    expect([rental.branch_id, await branchOf(Customer, rental.customer_id)]).to.deep.equal([
      label.branch_id,
      label.branch_id,
    ])
    const line = await factory.make(Line, { customer_id: customer.id })
    expect(await branchOf(Rental, line.rental_id)).to.equal(customer.branch_id)
  })

  it('are counted if they refer to records of another parent, with one query for each relation', async () => {
    expect(await findCrossings(database)).to.deep.equal([])
    const [label, customer] = [await factory.make(Label), await factory.make(Customer)]
    for (let number = 0; number < 2; number++) {
      const { id } = await factory.make(Rental)
      await database.manager.update(Rental, id, { payer_id: customer.id, from_branch_id: customer.branch_id })
      await database.createQueryBuilder().relation(Rental, 'labels').of(id).add(label.id)
      const line = await factory.make(Line, { rental_id: id })
      await database.manager.update(Line, line.id, { customer_id: customer.id })
    }
    const found = [
      { name: 'Line.customer', count: 2 },
      { name: 'Rental.labels', count: 2 },
      { name: 'Rental.payer', count: 2 },
    ]
    const sorted = async () => (await findCrossings(database)).toSorted((a, b) => (a.name < b.name ? -1 : 1))
    expect(await sorted()).to.deep.equal(found)
    const relations = database.entityMetadatas.flatMap((model) => model.relations)
    expect(await countQueries(database, sorted)).to.be.at.most(relations.length)
  })

  it('have unique indexes over all parents, or within one', async () => {
    const own = await open(await newDatabase())
    await own.migrate()
    expect(await findWideIndexes(own)).to.deep.equal([])
    const runner = own.createQueryRunner()
    await runner.query('ALTER TABLE customers ADD COLUMN token_hash varchar(64)')
    for (const [table, ...columnNames] of [
      ['customers', 'branch_id', 'name'],
      ['customers', 'token_hash'],
      ['rentals', 'customer_id', 'number'],
      ['branches', 'name'],
      ['labels', 'name'],
    ] as const)
      await runner.createIndex(
        table,
        new TableIndex({
          name: `${table}_${columnNames.length}_unique`,
          columnNames: [...columnNames],
          isUnique: true,
        }),
      )
    await runner.release()
    const found = await findWideIndexes(own)
    await own.close()
    expect(found).to.deep.equal([
      { table: 'labels', name: 'labels_1_unique', columns: ['name'], keys: ['branch_id'] },
    ])
  })
})
