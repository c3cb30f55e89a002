import { expect } from 'chai'
import type { Database } from '../../../src/database/database.js'
import { newId } from '../../../src/models/ids.js'
import { countQueries } from '../../support/count-queries.js'
import { openTickets, Person } from '../../support/applications/tickets.js'
import { findChoices } from '../../support/records.js'

describe('findChoices(tx, model, present)', () => {
  let database: Database
  let ids: string[]

  beforeEach(async () => {
    database = await openTickets()
    ids = Array.from({ length: 1000 }, newId)
    // SQLite reads all rows of an insertion back in one expression, which has a limit.
    for (const start of [0, 500]) {
      const rows = ids.slice(start, start + 500).map((id) => ({ id, name: `person ${id}` }))
      await database.manager.insert(Person, rows)
    }
  })
  afterEach(() => database.close())

  it('returns all of 1,000 records, with one query', async () => {
    const queries = await countQueries(database, async () => {
      const missing = newId()
      const choices = await findChoices(database.manager, Person, [ids[3], missing, 'no id'])
      expect(choices).to.include({ isComplete: true, collection: 'people' })
      expect(choices.unavailable).to.deep.equal([missing])
      expect(choices.records.map(({ id }) => id)).to.deep.equal(ids.toReversed())
    })
    expect(queries).to.equal(1)
  })

  it('returns only the selected ones of more records', async () => {
    await database.manager.insert(Person, { name: 'one more' })
    const choices = await findChoices(database.manager, Person, [
      ids[3],
      null,
      undefined,
      'not an id',
      newId(),
    ])
    expect(choices.isComplete).to.equal(false)
    expect(choices.records.map(({ id }) => id)).to.deep.equal([ids[3]])
    expect((await findChoices(database.manager, Person, [null])).records).to.deep.equal([])
  })
})
