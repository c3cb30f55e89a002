import { expect } from 'chai'
import { Column, Entity, In, IsNull, MoreThan, type EntityManager, type FindOptionsWhere } from 'typeorm'
import type { AttributeKind } from '../../src/models/attributes/attributes.js'
import { Database } from '../../src/database/database.js'
import { Model } from '../../src/models/model.js'
import { RecordNotFound } from '../../src/errors.js'
import { newDatabase } from '../support/databases.js'
import { Thing } from '../support/applications/everything.js'
import { Book, withLibrary } from '../support/applications/library.js'
import { Issue, openTracker, Project, titled } from '../support/applications/tracker.js'
import { findRecordBy, paginate } from '../support/records.js'

enum Level {
  Low = 1,
  High = 2,
}

class Address {
  @Column('varchar', { nullable: true })
  street!: string | null
}

@Entity('members')
class Member extends Model {
  @Column('varchar', {
    transformer: { to: (text: string) => text.toLowerCase(), from: (text: string) => text },
  })
  email!: string

  @Column('simple-enum', { enum: Level })
  level!: Level

  @Column('smallint')
  rank!: number

  @Column(() => Address)
  address!: Address
}

const uuid = '0193b6a2-7c3e-7000-8000-00000000000a'

const values: Record<AttributeKind, unknown> = {
  string: 'a',
  text: 'b',
  int: 5,
  bigint: '9007199254740993',
  float: 1.5,
  decimal: '2.50',
  bool: true,
  date: '2026-01-02',
  time: '03:04:05',
  datetime: new Date('2026-01-02T03:04:05Z'),
  uuid,
  json: { a: [1] },
  enum: 'low',
}

/** The values that find the record, and values that find nothing, in addition to those that never find anything. */
const conditions: Record<AttributeKind, { found: unknown[]; missed: unknown[] }> = {
  string: { found: ['a'], missed: ['b', 'A', 'a ', 'a\0', '\ud800', 0, 1, true, false] },
  text: { found: ['b'], missed: ['a', 0, true, false, 'b\0'] },
  int: {
    found: [5, '5', ' 5', '+5', 5n],
    missed: [6, 'x', '', '5x', true, 5.5, '5.5', 2 ** 31, '9'.repeat(400)],
  },
  bigint: {
    found: ['9007199254740993', 9007199254740993n],
    missed: ['x', '', true, 1.5, 2n ** 64n, '9'.repeat(400)],
  },
  float: { found: [1.5, '1.5', '15e-1'], missed: ['x', '', true, '1e999', NaN, Infinity] },
  decimal: { found: ['2.5', '2.50', 2.5], missed: ['x', '', true, '2.501', '9'.repeat(30), NaN] },
  bool: { found: [true, 'true', 1, '1', 'on'], missed: [false, 0, 'x', '', 2] },
  date: { found: ['2026-01-02'], missed: ['2026-01-03', '2026-02-30', 'x', '', 0, true] },
  time: { found: ['03:04:05'], missed: ['03:04', '25:00', 'x', '', 0, true] },
  datetime: {
    found: [new Date('2026-01-02T03:04:05Z'), '2026-01-02T03:04:05Z', '2026-01-02T04:04:05+01:00'],
    missed: [new Date(0), new Date(NaN), '2026-02-30', 'x', '', 0, true],
  },
  uuid: { found: [uuid, uuid.toUpperCase()], missed: ['x', '', `${uuid} `, 0, true] },
  json: { found: [], missed: ['{"a":[1]}', { a: [1] }, 'x', '[', 0, true] },
  enum: { found: ['low'], missed: ['high', 'LOW', 'x', '', 0, 1, true] },
}

const never = [null, undefined, [], {}, [[]], [null], { a: 1 }, ['a'], [5]]

describe('Conditions', () => {
  let database: Database
  let tx: EntityManager

  before(async () => {
    const models = [Thing, Member]
    database = await new Database({ test: { url: await newDatabase() }, models }, 'test').open()
    await database.synchronize()
    tx = database.manager
    await tx.save(Object.assign(new Thing(), values))
    const member = { email: 'ada@example.org', level: Level.High, rank: 3, address: { street: 'Main' } }
    await tx.save(Object.assign(new Member(), member))
  })
  after(() => database.close())

  /** How many records a condition finds, with each function that takes conditions. */
  async function found<T extends Model>(model: new () => T, where: object): Promise<number> {
    // Handlers pass values from a request: the compiler does not see all of them.
    const given = where as FindOptionsWhere<T>
    const one = await findRecordBy(tx, model, where).then(
      () => 1,
      (error: unknown) => {
        expect(error).to.be.instanceOf(RecordNotFound)
        return 0
      },
    )
    const pages = [
      await paginate(tx, model, {}, { where: given }),
      await paginate(tx, model, {}, { where: [given] }),
      await paginate(tx, model, {}, { where: given, total: false }),
    ]
    for (const { records, pagination } of pages)
      expect([records.length, pagination.total]).to.deep.equal([one, one])
    return one
  }

  for (const [kind, { found: finding, missed }] of Object.entries(conditions)) {
    it(`on a column of the kind ${kind} are coerced to it, and find nothing if that fails`, async () => {
      for (const value of finding)
        expect(await found(Thing, { [kind]: value }), `${kind} = ${String(value)}`).to.equal(1)
      for (const value of [...missed, ...never])
        expect(await found(Thing, { [kind]: value }), `${kind} = ${String(value)}`).to.equal(0)
    })
  }

  it('find nothing with a value that is too long for a column', async () => {
    await withLibrary({}, async ({ database: library }) => {
      const where = { title: 'longer than ten characters' }
      expect((await paginate(library.manager, Book, {}, { where })).records).to.deep.equal([])
    })
  })

  it('find nothing in an empty list of alternatives', async () => {
    const { records, pagination } = await paginate(tx, Thing, {}, { where: [] })
    expect([records.length, pagination.total]).to.deep.equal([0, 0])
  })

  it('find nothing with null and undefined, for which IsNull() exists', async () => {
    for (const value of never) expect(await found(Thing, { maybe_string: value })).to.equal(0)
    expect(await found(Thing, { maybe_string: IsNull() })).to.equal(1)
  })

  it('keep the operators of TypeORM unchanged', async () => {
    expect(await found(Thing, { int: MoreThan(4), string: In(['a', 'c']) })).to.equal(1)
    expect(await found(Thing, { int: MoreThan(5) })).to.equal(0)
  })

  it('must all be met, or one of them in a list', async () => {
    expect(await found(Thing, { int: '5', string: 'a' })).to.equal(1)
    expect(await found(Thing, { int: '5', string: 0 })).to.equal(0)
    const where = [{ string: 0 }, { int: 'x' }, { int: '5' }] as unknown as FindOptionsWhere<Thing>[]
    expect((await paginate(tx, Thing, {}, { where })).pagination.total).to.equal(1)
    expect((await paginate(tx, Thing, {}, { where: where.slice(0, 2) })).records).to.deep.equal([])
  })

  it('on an enum of numbers match its numbers, not its indexes', async () => {
    for (const level of [Level.High, '2']) expect(await found(Member, { level })).to.equal(1)
    for (const level of [1, 0, 3, 'High', true, ...never]) expect(await found(Member, { level })).to.equal(0)
  })

  it('on a column with a transformer match values that the transformer accepts', async () => {
    expect(await found(Member, { email: 'Ada@Example.org' })).to.equal(1)
    for (const email of ['', 0, true, 'x\0', ...never]) expect(await found(Member, { email })).to.equal(0)
  })

  it('on a small integer must be within its range', async () => {
    expect(await found(Member, { rank: '3' })).to.equal(1)
    for (const rank of [2 ** 15, -(2 ** 15) - 1, '100000']) expect(await found(Member, { rank })).to.equal(0)
  })

  it('on an embedded class are coerced like its columns', async () => {
    expect(await found(Member, { address: { street: 'Main' } })).to.equal(1)
    for (const street of [0, true, ...never]) expect(await found(Member, { address: { street } })).to.equal(0)
    for (const address of ['Main', 0, true, ...never.filter((one) => !isUnknownName(one))])
      expect(await found(Member, { address })).to.equal(0)
  })

  it('on a relation are conditions on the other model, or one of its records', async () => {
    const tracker = await openTracker()
    try {
      tx = tracker.manager
      const project = await tx.save(titled(Project, 'one'))
      await tx.save(titled(Issue, 'first', { project_id: project.id }))
      for (const one of [{ id: project.id.toUpperCase() }, { title: 'one' }, project, [{ title: 'one' }]])
        expect(await found(Issue, { project: one })).to.equal(1)
      const others = [{ id: 'x' }, { title: 0 }, { title: null }, [{ title: 0 }], titled(Project, 'new')]
      for (const other of [...others, 'one', 0, true, null, undefined, {}, []])
        expect(await found(Issue, { project: other })).to.equal(0)
    } finally {
      tx = database.manager
      await tracker.close()
    }
  })

  it('on an unknown property are an error', async () => {
    for (const name of ['nope', '__proto__', 'constructor']) {
      const where = JSON.parse(`{ "${name}": "x" }`) as object
      const error: unknown = await findRecordBy(tx, Member, where).catch((reason: unknown) => reason)
      expect(String(error)).to.contain(`Property "${name}" was not found in "Member"`)
    }
  })
})

/** Whether TypeORM rejects the names in a value, which are unknown columns. */
function isUnknownName(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}
