import { expect } from 'chai'
import { Column, Entity } from 'typeorm'
import { Length } from 'class-validator'
import { takePart, type RecordWrite } from '../../src/extension.js'
import {
  App,
  Database,
  Model,
  Present,
  transaction,
  ValidationErrors,
  type Context,
} from '../../src/index.js'
import { databaseWithTables } from '../support/databases.js'
import { failure } from '../support/failure.js'
import { destroyRecord, findRecord, paginate, saveRecord } from '../support/records.js'
import { Site } from '../support/site.js'

@Entity('ledgers')
class Ledger extends Model {
  @Present()
  @Length(2, 10)
  @Column('varchar', { unique: true })
  title!: string

  override validateCreate(): void {
    calls.push('hook')
  }
}

@Entity('ledger_lines')
class Line extends Model {
  @Column('varchar')
  text!: string
}

/** A model that nobody concerns. */
@Entity('notebooks')
class Notebook extends Model {
  @Column('varchar')
  title!: string
}

const calls: string[] = []
const asked: string[] = []
/** The participants call it, so that a spec can let them write. */
let act: (name: string, write: RecordWrite) => Promise<void> | void = () => {}
let check: (name: string) => ValidationErrors | undefined = () => undefined

for (const name of ['first', 'second'])
  takePart({
    concerns: ({ targetName }) => {
      if (name === 'first') asked.push(targetName)
      return targetName === 'Ledger'
    },
    check: async ({ action }) => {
      calls.push(`${name} check ${action}`)
      return check(name)
    },
    before: async (write) => {
      calls.push(`${name} before`)
      await act(`${name} before`, write)
    },
    after: async (write) => {
      calls.push(`${name} after`)
      await act(`${name} after`, write)
    },
    loaded: async (_work, { targetName }, records) => {
      calls.push(`${name} loaded ${records.length} ${targetName}`)
    },
  })

function open(url: string): Promise<Database> {
  return new Database({ test: { url, logging: false }, models: [Ledger, Line, Notebook] }, 'test').open()
}

async function createTables(url: string): Promise<void> {
  const database = await open(url)
  await database.synchronize()
  await database.close()
}

const writeLine = async ({ work, record }: RecordWrite): Promise<void> => {
  await work.tx.save(Object.assign(new Line(), { text: `of ${record.id}` }))
}

describe('takePart(participant)', () => {
  let database: Database

  beforeEach(async () => {
    database = await open(await databaseWithTables('participants', createTables))
    calls.length = 0
    check = () => undefined
    act = () => {}
  })
  afterEach(() => database.close())

  const ledger = (title: string) => Object.assign(new Ledger(), { title })
  const count = () => Promise.all([Ledger, Line].map((model) => database.manager.count(model)))

  it('is called before the rules, and in the savepoint before and after the row is written', async () => {
    const statements: string[] = []
    act = async (name, { work, record, action }) => {
      const isStored = await work.tx.existsBy(Ledger, {
        id: record.id,
        title: (record as Ledger).title,
      })
      statements.push(`${name} ${action} ${isStored}`)
    }
    await database.transaction(async (tx) => {
      const record = ledger('one')
      expect(await saveRecord(tx, record)).to.equal(undefined)
      expect(calls).to.deep.equal([
        'first check create',
        'second check create',
        'hook',
        'first before',
        'second before',
        'first after',
        'second after',
      ])
      expect(await saveRecord(tx, Object.assign(record, { title: 'two' }))).to.equal(undefined)
      await destroyRecord(tx, record)
    })
    expect(statements).to.deep.equal([
      ...['first before', 'second before'].map((name) => `${name} create false`),
      ...['first after', 'second after'].map((name) => `${name} create true`),
      ...['first before', 'second before'].map((name) => `${name} update false`),
      ...['first after', 'second after'].map((name) => `${name} update true`),
      ...['first before', 'second before'].map((name) => `${name} destroy true`),
      ...['first after', 'second after'].map((name) => `${name} destroy false`),
    ])
  })

  it('is undone together with a row that the database rejects', async () => {
    act = async (name, write) => {
      if (name === 'first before') await writeLine(write)
    }
    await database.transaction(async (tx) => {
      await saveRecord(tx, ledger('one'))
      const rejected = await saveRecord(tx, ledger('one'))
      expect(rejected?.codes).to.deep.equal({ title: ['unique'] })
    })
    expect(await count()).to.deep.equal([1, 1])
  })

  it('undoes the row if it throws after it, and a record looks as if it was not saved', async () => {
    act = async (name, write) => {
      if (name === 'first after') await writeLine(write)
      if (name === 'second after') throw new ValidationErrors(409).add('lines', 'full', 'Lines are full.')
    }
    await database.transaction(async (tx) => {
      const record = ledger('one')
      const rejected = await saveRecord(tx, record)
      expect([rejected?.status, rejected?.messages]).to.deep.equal([409, { lines: ['Lines are full.'] }])
      expect([record.id, record.created_at]).to.deep.equal([undefined, undefined])
      act = () => {}
      expect(await saveRecord(tx, record)).to.equal(undefined)
      act = (name) => {
        if (name === 'second after') throw new ValidationErrors().add('base', 'kept')
      }
      const error = await failure(destroyRecord(tx, record))
      expect(error instanceof ValidationErrors && error.codes).to.deep.equal({ base: ['kept'] })
    })
    expect(await count()).to.deep.equal([1, 0])
  })

  it('joins the errors of its check with those of the rules, and nothing is written', async () => {
    check = (name) =>
      new ValidationErrors().add('title', `${name}_odd`, 'Odd.').add('lines', 'missing', `No ${name} lines.`)
    const rejected = await saveRecord(database.manager, ledger(' '))
    expect(rejected?.codes).to.deep.equal({
      title: ['isLength', 'present', 'first_odd', 'second_odd'],
      lines: ['missing', 'missing'],
    })
    check = (name) => new ValidationErrors().add('lines', 'missing', `No ${name} lines.`)
    expect((await saveRecord(database.manager, ledger('one')))?.messages).to.deep.equal({
      lines: ['No first lines.', 'No second lines.'],
    })
    expect(calls).to.not.include('hook')
    expect(await count()).to.deep.equal([0, 0])
  })

  it('is called with the records that were read', async () => {
    const tx = database.manager
    const record = ledger('one')
    await saveRecord(tx, record)
    calls.length = 0
    await findRecord(tx, Ledger, record.id)
    await paginate(tx, Ledger, {})
    await paginate(tx, Ledger, {}, { where: { title: 'missing' } })
    expect(calls).to.deep.equal(
      ['first', 'second', 'first', 'second'].map((name) => `${name} loaded 1 Ledger`),
    )
  })

  it('does not concern other models, and is asked once for each of them', async () => {
    asked.length = 0
    const tx = database.manager
    for (const title of ['one', 'two']) {
      const record = Object.assign(new Notebook(), { title })
      await saveRecord(tx, record)
      await findRecord(tx, Notebook, record.id)
      await destroyRecord(tx, record)
    }
    expect(calls).to.deep.equal([])
    expect(asked).to.deep.equal(['Notebook'])
  })
})

describe('The reason of ctx.save and ctx.destroy', () => {
  let site: Site
  const reasons: unknown[] = []
  const accept = 'json'

  before(async () => {
    const database = await open(await databaseWithTables('participants', createTables))
    const app = new App({ api: true })
    app.use(transaction(database))
    const reasonIn = (ctx: Context): string => Object(ctx.request.body).reason
    app.post('/ledgers', async (ctx: Context) => {
      const record = Object.assign(new Ledger(), { title: Object(ctx.request.body).title })
      const found = await ctx.save(record, { reason: reasonIn(ctx) })
      return found ? ctx.respond(found.status, { json: found }) : ctx.respond(201, { json: record })
    })
    app.get('/ledgers', async (ctx: Context) => ctx.respond({ data: await ctx.findAll(Ledger) }))
    app.post('/ledgers/{id}/end', async (ctx: Context) => {
      await ctx.destroy(await ctx.find(Ledger, ctx.params['id']), { reason: reasonIn(ctx) })
      return ctx.respond({ data: {} })
    })
    site = await Site.open(app)
    act = (name, { action, reason }) => {
      if (name === 'first after') reasons.push([action, reason])
    }
  })
  after(async () => {
    act = () => {}
    await site.close()
  })

  it('is given to what takes part in the write', async () => {
    const reason = 'ä\u{1f600}'.repeat(250)
    const { json } = await site.post('/ledgers', { json: { title: 'one', reason }, accept })
    expect(
      (await site.post(`/ledgers/${json.id}/end`, { json: { reason: 'closed' }, accept })).status,
    ).to.equal(200)
    expect(reasons).to.deep.equal([
      ['create', reason],
      ['destroy', 'closed'],
    ])
  })

  it('is an error of the field reason if it is too long or not text', async () => {
    const { json } = await site.post('/ledgers', { json: { title: 'two' }, accept })
    for (const [reason, rule] of [
      ['x'.repeat(501), 'maxLength'],
      [['x'], 'type.text'],
    ]) {
      const saved = await site.post('/ledgers', { json: { title: 'x', reason }, accept })
      expect([saved.status, saved.json.codes]).to.deep.equal([422, { title: ['isLength'], reason: [rule] }])
      const deleted = await site.post(`/ledgers/${json.id}/end`, { json: { reason }, accept })
      expect([deleted.status, deleted.json.codes]).to.deep.equal([422, { reason: [rule] }])
    }
    calls.length = 0
    expect((await site.get('/ledgers', { accept })).json).to.have.length(1)
    expect(calls).to.deep.equal(['first loaded 1 Ledger', 'second loaded 1 Ledger'])
  })
})
