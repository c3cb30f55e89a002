import { expect } from 'chai'
import { Column, Entity, Exclusion } from 'typeorm'
import { Database, Model, type ValidationErrors } from '../../src/index.js'
import { newDatabase } from '../support/databases.js'
import { engine } from '../support/engine.js'
import { saveRecord } from '../support/records.js'

@Entity('bookings')
@Exclusion('seats WITH &&, tsrange(starts_at, ends_at) WITH &&')
class Booking extends Model {
  @Column('int4range')
  seats!: string

  @Column('timestamp')
  starts_at!: Date

  @Column('timestamp')
  ends_at!: Date
}

@Entity('offers')
@Exclusion('days WITH &&')
class Offer extends Model {
  @Column('daterange')
  days!: string
}

describe('An exclusion constraint of PostgreSQL', () => {
  let database: Database

  before(async function () {
    // The other engines have none.
    if (engine !== 'postgres') this.skip()
    const url = await newDatabase()
    database = await new Database({ test: { url }, models: [Booking, Offer] }, 'test').open()
    await database.query(
      'CREATE TABLE bookings (id uuid PRIMARY KEY, created_at timestamptz, updated_at timestamptz, seats int4range, ' +
        'starts_at timestamp, ends_at timestamp, EXCLUDE USING gist (seats WITH &&, tsrange(starts_at, ends_at) WITH &&))',
    )
    await database.query(
      'CREATE TABLE offers (id uuid PRIMARY KEY, created_at timestamptz, updated_at timestamptz, days daterange, ' +
        'EXCLUDE USING gist (days WITH &&))',
    )
  })
  after(() => database?.close())

  function summary(errors: ValidationErrors | undefined): unknown {
    const fields = [...(errors?.fields ?? [])].map(([field, violations]) => [
      field,
      violations.map(({ rule, message }) => [rule, message]),
    ])
    return errors && { status: errors.status, ...Object.fromEntries(fields) }
  }

  it('is 409 for the record if it has several columns, and for its column if it has one', async () => {
    const booking = (day: number) =>
      Object.assign(new Booking(), {
        seats: '[1,2]',
        starts_at: new Date(2026, 1, day),
        ends_at: new Date(2026, 1, day + 2),
      })
    expect(await saveRecord(database.manager, booking(1))).to.equal(undefined)
    expect(await saveRecord(database.manager, booking(3))).to.equal(undefined)
    expect(summary(await saveRecord(database.manager, booking(2)))).to.deep.equal({
      status: 409,
      base: [['exclusion', 'Booking conflicts with another record.']],
    })
    const offer = () => Object.assign(new Offer(), { days: '[2026-02-01,2026-02-03]' })
    expect(await saveRecord(database.manager, offer())).to.equal(undefined)
    expect(summary(await saveRecord(database.manager, offer()))).to.deep.equal({
      status: 409,
      days: [['exclusion', 'Days conflicts with another record.']],
    })
  })
})
