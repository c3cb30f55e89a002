import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Exclude } from 'class-transformer'
import { expect } from 'chai'
import {
  Column,
  DeleteDateColumn,
  Entity,
  JoinColumn,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  VersionColumn,
  type EntityManager,
  type Relation,
} from 'typeorm'
import {
  App,
  BaseResource,
  Database,
  errors,
  Model,
  Nested,
  nothing,
  Policy,
  Present,
  RelationIds,
  Resource,
  Route,
  transaction,
  type Context,
} from '../../../src/index.js'
import {
  forgetHistory,
  History,
  HistoryEntry,
  historyOf,
  historyTable,
  UnrecordedWrite,
  withoutHistory,
} from '../../../src/history/index.js'
import { Job, jobQueue, jobTables, type JobContext, type JobQueue } from '../../../src/jobs/index.js'
import { channels } from '../../../src/common/channels.js'
import { captureLog } from '../../../src/testing/index.js'
import { databaseWithTables } from '../../support/databases.js'
import { failure } from '../../support/failure.js'
import { Site } from '../../support/site.js'

/** Encrypts as a real one does: the same value is stored differently each time. */
const encryption = {
  to: (value?: string | null) =>
    value == null ? null : `enc:${crypto.randomUUID()}:${[...value].toReversed().join('')}`,
  from: (value: string | null) =>
    value === null ? null : [...(value.split(':')[2] ?? '')].toReversed().join(''),
}

@Entity('hist_authors')
class Author extends Model {
  @Column('varchar')
  name!: string
}

@Entity('hist_labels')
@History()
class Label extends Model {
  @Present()
  @Column('varchar', { unique: true })
  name!: string

  @Column('decimal', { precision: 10, scale: 2, nullable: true })
  price?: string | null
}

@Entity('hist_contracts')
@History({ except: ['views'] })
class Contract extends Model {
  @Present()
  @Column('varchar')
  title!: string

  @Column('decimal', { precision: 10, scale: 2, nullable: true })
  amount!: string | null

  @Column('bigint', { nullable: true })
  big!: string | null

  @Column('double precision', { nullable: true })
  ratio!: number | null

  @Column('boolean', { nullable: true })
  open!: boolean | null

  @Column('date', { nullable: true })
  day!: string | null

  @Column({ type: Date, nullable: true, precision: 6 })
  due!: Date | null

  @Column('json', { nullable: true })
  data!: unknown

  @Column('text', { nullable: true })
  note!: string | null

  @Column('varchar', { nullable: true, transformer: encryption })
  iban!: string | null

  @Column('varchar', { nullable: true })
  password_digest!: string | null

  @Column('varchar', { nullable: true, select: false })
  hidden!: string | null

  @Exclude({ toPlainOnly: true })
  @Column('varchar', { nullable: true })
  internal!: string | null

  @Exclude({ toClassOnly: true })
  @Column('varchar', { nullable: true })
  owner!: string | null

  @Column('int', { default: 0 })
  views!: number

  @Column('uuid', { nullable: true })
  author_id!: string | null

  @ManyToOne(() => Author, { onDelete: 'SET NULL' })
  @JoinColumn({ name: 'author_id' })
  author?: Relation<Author> | null

  @ManyToMany(() => Label, { onDelete: 'CASCADE' })
  @JoinTable({
    name: 'hist_contracts_labels',
    joinColumn: { name: 'contract_id' },
    inverseJoinColumn: { name: 'label_id' },
  })
  labels?: Relation<Label[]>

  @RelationIds('labels')
  label_ids!: string[]

  @DeleteDateColumn()
  deleted_at!: Date | null
}

/** A plain model between a contract and a model with a history. */
@Entity('hist_parts')
class Part extends Model {
  @Column('uuid')
  contract_id!: string

  @ManyToOne(() => Contract, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'contract_id' })
  contract?: Relation<Contract>
}

@Entity('hist_lines')
@History()
class Line extends Model {
  @Column('varchar')
  text!: string

  @Column('uuid')
  part_id!: string

  @ManyToOne(() => Part, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'part_id' })
  part?: Relation<Part>
}

/** Two models whose keys are a circle. */
@Entity('hist_rings')
@History()
class Ring extends Model {
  @Column('uuid', { nullable: true })
  next_id!: string | null

  @ManyToOne(() => Ring, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'next_id' })
  next?: Relation<Ring> | null

  @VersionColumn()
  lock_version!: number
}

@Entity('hist_recipes')
class Recipe extends Model {
  @Column('varchar')
  title!: string

  @OneToMany(() => Step, (step) => step.recipe)
  @Nested<Step>({ fields: ['text'] })
  steps!: Step[]
}

@Entity('hist_steps')
@History()
class Step extends Model {
  @Column('uuid')
  recipe_id!: string

  @Column('int')
  position!: number

  @Column('varchar', { unique: true })
  text!: string

  @ManyToOne(() => Recipe, (recipe) => recipe.steps, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'recipe_id' })
  recipe?: Relation<Recipe>
}

@Entity('hist_notes')
@History()
class Note extends Model {
  @Column('varchar')
  title!: string

  @Column('varchar')
  owner!: string

  @VersionColumn()
  lock_version!: number
}

@Entity('hist_people')
class Person extends Model {
  @Column('varchar')
  name!: string
}

/** People see those of their name. */
class PersonPolicy extends Policy<Person> {
  scope(user?: Person) {
    return user?.name ? { name: user.name } : nothing
  }
}

class NotePolicy extends Policy<Note> {
  scope(user?: { id: string }) {
    return user ? { owner: user.id } : nothing
  }
  update() {
    return true
  }
  history(_user: unknown, note: Note) {
    return note.title !== 'secret'
  }
}

@Job()
class Rename {
  async perform({ id }: { id: string }, job: JobContext) {
    const label = await job.find(Label, id)
    await job.save(Object.assign(label, { name: 'by a job' }), { reason: 'Nightly' })
  }
}

@Resource('/contracts', { model: Contract })
class ContractsResource extends BaseResource {
  override async create(ctx: Context) {
    const contract = ctx.bind(new Contract())
    const wrong = await ctx.save(contract, { reason: reasonIn(ctx) })
    return wrong ? ctx.respond(wrong) : ctx.respond({ data: contract })
  }
  override async update(ctx: Context) {
    const contract = ctx.bind(await ctx.find(Contract, ctx.params['contract_id']))
    Object.assign(contract, secrets)
    const wrong = await ctx.save(contract, { reason: reasonIn(ctx) })
    return wrong ? ctx.respond(wrong) : ctx.respond({ data: contract })
  }
  override async destroy(ctx: Context) {
    const contract = await ctx.find(Contract, ctx.params['contract_id'])
    await ctx.destroy(contract, { reason: reasonIn(ctx) })
    return ctx.respond({ data: contract })
  }
  @Route('GET', '/{contract_id}/history')
  async history(ctx: Context) {
    const contract = await ctx.find(Contract, ctx.params['contract_id'])
    const { records } = await historyOf(ctx, contract)
    return ctx.respond({ data: records })
  }
  @Route('POST', '/{contract_id}/restore')
  async restore(ctx: Context) {
    const contract = await ctx.find(Contract, ctx.params['contract_id'], { trashed: true })
    await ctx.restore(contract)
    return ctx.respond({ data: contract })
  }
  @Route('DELETE', '/{contract_id}/purge')
  async purge(ctx: Context) {
    const contract = await ctx.find(Contract, ctx.params['contract_id'], { trashed: true })
    await ctx.destroy(contract, { trash: false, reason: reasonIn(ctx) })
    return ctx.respond({ data: contract })
  }
}

@Resource('/labels', {
  model: Label,
  fields: ['name', 'price'],
  import: { key: 'name' },
})
class LabelsResource extends BaseResource {
  override async create(ctx: Context) {
    const label = ctx.bind(new Label())
    const wrong = await ctx.save(label)
    return wrong ? ctx.respond(wrong) : ctx.respond({ data: label })
  }
  override async update(ctx: Context) {
    const label = ctx.bind(await ctx.find(Label, ctx.params['label_id']))
    const wrong = await ctx.save(label)
    return wrong ? ctx.respond(wrong) : ctx.respond({ data: label })
  }
}

@Resource('/people', { model: Person, policy: PersonPolicy })
class PeopleResource extends BaseResource {}

@Resource('/notes', { model: Note, policy: NotePolicy })
class NotesResource extends BaseResource {
  override async update(ctx: Context) {
    const note = ctx.bind(await ctx.authorize(await ctx.find(Note, ctx.params['note_id'])))
    const wrong = await ctx.save(note)
    return wrong ? ctx.respond(wrong) : ctx.respond({ data: note })
  }
  @Route('GET', '/{note_id}/history')
  async history(ctx: Context) {
    const { records } = await historyOf(ctx, await ctx.find(Note, ctx.params['note_id']))
    return ctx.respond({ data: records })
  }
}

/** Values that a handler sets, which must be nowhere. */
let secrets: object = {}

function reasonIn(ctx: Context): string | undefined {
  const { reason } = ctx.query
  return typeof reason === 'string' ? reason : undefined
}

const models = [Author, Person, Label, Contract, Part, Line, Ring, Recipe, Step, Note, HistoryEntry]

const open = (url: string): Promise<Database> => new Database({ test: { url }, models }, 'test').open()

async function createTables(url: string): Promise<void> {
  const database = await open(url)
  await database.synchronize()
  const runner = database.createQueryRunner()
  await runner.dropTable('history_entries')
  await runner.createTable(historyTable(runner))
  for (const table of jobTables(runner)) await runner.createTable(table)
  await runner.release()
  await database.close()
}

describe('A model with @History', () => {
  const log = captureLog()
  let database: Database
  let site: Site
  let jobs: JobQueue
  let user: { id: string } | undefined
  /** Runs in a request. */
  let act: (ctx: Context) => Promise<unknown>

  before(async () => {
    database = await open(await databaseWithTables('history', createTables))
    const app = new App({ api: true, logger: log.logger })
    app.use(transaction(database))
    jobs = jobQueue(database, { jobs: [Rename] })
    app.extend(jobs)
    app.use(async (ctx, next) => {
      Reflect.set(ctx, 'user', user)
      await next()
    })
    app.resource(ContractsResource)
    app.resource(NotesResource)
    app.resource(LabelsResource)
    app.resource(PeopleResource)
    app.post('/act/{name}', async (ctx: Context) =>
      ctx.respond({ data: { result: (await act(ctx)) ?? null } }),
    )
    site = await Site.open(app)
  })
  after(() => site.close())
  afterEach(() => {
    user = undefined
    secrets = {}
  })

  const send = (method: string, path: string, json?: object) =>
    site.request(method, path, { accept: 'json', ...(json && { json }) })
  const create = async (values: object): Promise<string> => {
    const response = await send('POST', '/contracts', values)
    expect(response.status, response.text).to.equal(200)
    return String(JSON.parse(response.text).id)
  }
  const within = async (work: (ctx: Context) => Promise<unknown>, name = 'run') => {
    act = work
    return send('POST', `/act/${name}`, {})
  }
  const entries = (where: object = {}) => database.manager.find(HistoryEntry, { where, order: { id: 'ASC' } })
  const change = (attribute: string, from: unknown, to: unknown, masked = false) => ({
    attribute,
    from,
    to,
    masked,
  })

  it('records each write with its user, handler, request and reason, and moves without changes', async () => {
    user = { id: 'ada' }
    const id = await create({ title: 'A', amount: '1.5' })
    const response = await send('PUT', `/contracts/${id}?reason=Court+order`, { title: 'B' })
    await send('PUT', `/contracts/${id}`, { title: 'B' })
    await send('DELETE', `/contracts/${id}`)
    await send('POST', `/contracts/${id}/restore`)
    await send('DELETE', `/contracts/${id}`)
    await send('DELETE', `/contracts/${id}/purge?reason=Done`)
    const all = await entries({ record_id: id })
    expect(all.map(({ action, source, reason, user_id }) => [action, source, reason, user_id])).to.deep.equal(
      [
        ['create', 'ContractsResource.create', null, 'ada'],
        ['update', 'ContractsResource.update', 'Court order', 'ada'],
        ['trash', 'ContractsResource.destroy', null, 'ada'],
        ['restore', 'ContractsResource.restore', null, 'ada'],
        ['trash', 'ContractsResource.destroy', null, 'ada'],
        ['destroy', 'ContractsResource.purge', 'Done', 'ada'],
      ],
    )
    expect(all[1]?.request_id).to.equal(response.headers.get('x-request-id'))
    expect(all.map(({ changes }) => changes)).to.deep.equal([
      [change('title', null, 'A'), change('amount', null, '1.50')],
      [change('title', 'A', 'B')],
      [],
      [],
      [],
      [change('title', 'B', null), change('amount', '1.50', null)],
    ])
  })

  it('records each line of a record that is created, changed, moved, removed or deleted with it', async () => {
    const save = (recipe: Recipe, ...steps: [id: string | undefined, text: string][]) =>
      within(async (ctx) => {
        const from = { title: 'Soup', steps: steps.map(([id, text]) => ({ ...(id && { id }), text })) }
        const errors = await ctx.save(ctx.bind(recipe, { from, fields: ['title', 'steps'] }))
        if (errors) throw errors
      })
    await save(new Recipe(), [undefined, 'fry'])
    const recipe = new Recipe()
    const find = (ctx: Context) => ctx.find(Recipe, recipe.id)
    await save(recipe, [undefined, 'cut'], [undefined, 'cook'], [undefined, 'eat'])
    const [cut = '', cook = '', eat = ''] = recipe.steps.map(({ id }) => id)
    await save(recipe, [eat, 'eat'], [cut, 'slice'], [undefined, 'wash'])
    const wash = recipe.steps[2]?.id
    // The error of the last line undoes the entries of the others.
    expect((await save(recipe, [eat, 'dine'], [cut, 'fry'])).status).to.equal(409)
    await within(async (ctx) => ctx.destroy(await find(ctx)))
    const [, ...all] = await entries({ table_name: 'hist_steps' })
    const written = all.map(({ action, record_id }) => [action, record_id])
    expect(written.slice(0, 7)).to.deep.equal([
      ['create', cut],
      ['create', cook],
      ['create', eat],
      ['destroy', cook],
      ['update', eat],
      ['update', cut],
      ['create', wash],
    ])
    expect(written.slice(7)).to.have.deep.members([eat, cut, wash].map((id) => ['destroy', id]))
    expect(all[5]?.changes).to.deep.equal([change('position', 0, 1), change('text', 'cut', 'slice')])
  })

  it('records exact values of all kinds, and each `from` is the `to` before', async () => {
    const first = {
      title: 'x',
      amount: '0.1',
      big: '9007199254740993',
      ratio: 0.1,
      open: false,
      day: '2026-01-31',
      due: '2026-01-31T12:00:00.123Z',
      data: { b: [1, null], a: 'é' },
      note: 'n',
      owner: null,
    }
    const id = await create(first)
    const second = { amount: '20', big: '-1', ratio: 3, open: true, day: '2025-12-31' }
    const third = { amount: null, due: '2030-01-01T00:00:00.000Z', data: [1], note: '' }
    for (const values of [second, third]) await send('PUT', `/contracts/${id}`, values)
    const [created, ...updates] = await entries({ record_id: id })
    expect(created?.changes).to.deep.equal([
      change('title', null, 'x'),
      change('amount', null, '0.10'),
      change('big', null, '9007199254740993'),
      change('ratio', null, 0.1),
      change('open', null, false),
      change('day', null, '2026-01-31'),
      change('due', null, '2026-01-31T12:00:00.123Z'),
      change('data', null, { b: [1, null], a: 'é' }),
      change('note', null, 'n'),
    ])
    expect(updates.map(({ changes }) => changes)).to.deep.equal([
      [
        change('amount', '0.10', '20.00'),
        change('big', '9007199254740993', '-1'),
        change('ratio', 0.1, 3),
        change('open', false, true),
        change('day', '2026-01-31', '2025-12-31'),
      ],
      [
        change('amount', '20.00', null),
        change('due', '2026-01-31T12:00:00.123Z', '2030-01-01T00:00:00.000Z'),
        change('data', { b: [1, null], a: 'é' }, [1]),
        change('note', 'n', null),
      ],
    ])
  })

  it('records links as sorted ids, cuts long texts, and leaves out exceptions', async () => {
    const labels: string[] = []
    await within(async (ctx) => {
      for (const name of ['a', 'b', 'c']) {
        const label = Object.assign(new Label(), { name })
        await ctx.save(label)
        labels.push(label.id)
      }
    })
    const [a = '', b = '', c = ''] = labels
    const id = await create({ title: 'Linked', label_ids: [b, a], note: 'é'.repeat(10_001) })
    await send('PUT', `/contracts/${id}`, { label_ids: [c, b] })
    await send('PUT', `/contracts/${id}`, { label_ids: [b, c], views: 7 })
    await within(async (ctx) => ctx.destroy(await ctx.find(Contract, id), { trash: false }))
    const [created, updated, destroyed, ...others] = await entries({ record_id: id })
    expect(created?.changes).to.deep.equal([
      change('title', null, 'Linked'),
      change('note', null, `${'é'.repeat(10_000)}…`),
      change('label_ids', null, [a, b]),
    ])
    expect(updated?.changes).to.deep.equal([change('label_ids', [a, b], [b, c])])
    expect(destroyed?.changes.at(-1)).to.deep.equal(change('label_ids', [b, c], null))
    expect(others).to.deep.equal([])
  })

  it('stores no hidden, secret or binary value, and an encrypted one as it is stored', async () => {
    const id = await create({ title: 'Secret', iban: 'planted-iban' })
    secrets = { password_digest: 'planted-1', hidden: 'planted-2', internal: 'planted-3', iban: 'planted-4' }
    await send('PUT', `/contracts/${id}`, { owner: 'shown' })
    const stored = await database.query('SELECT * FROM history_entries')
    expect(JSON.stringify(stored)).to.not.include('planted')
    const [created, updated] = await entries({ record_id: id })
    expect(String(created?.changes[1]?.to)).to.match(/^enc:.*:nabi-detnalp$/)
    const [iban, ...others] = updated?.changes ?? []
    expect(iban?.from).to.equal(created?.changes[1]?.to)
    expect(iban?.to).to.match(/^enc:.*:4-detnalp$/)
    expect(others.slice(0, 3)).to.deep.equal(
      ['password_digest', 'hidden', 'internal'].map((name) => change(name, null, null, true)),
    )
    await send('PUT', `/contracts/${id}`, { title: 'Other' })
    expect(
      (await entries({ record_id: id })).at(-1)?.changes.map(({ attribute }) => attribute),
    ).to.deep.equal(['title'])
    const page = (await send('GET', `/contracts/${id}/history`)).text
    // Error pages of development say the most.
    const app = new App({ env: 'development', api: true, logger: log.logger })
    app.use(transaction(database))
    app.post('/refused', (ctx) => ctx.tx.query("UPDATE hist_contracts SET password_digest = 'planted'"))
    app.post('/failed', async (ctx) => {
      await ctx.save(Object.assign(await ctx.find(Contract, id), secrets))
      throw new Error('after the save')
    })
    const failing = await Site.open(app)
    const refused = await failing.post('/refused', { accept: 'json' })
    const failed = await failing.post('/failed', { accept: 'json' })
    await failing.close()
    expect(refused.text).to.include('UPDATE hist_contracts SET password_digest = ?')
    expect(failed.text).to.include('after the save')
    for (const text of [page, refused.text, failed.text, log.text()]) expect(text).to.not.include('planted')
  })

  it('is read as pages in JSON and XML, the newest first, and a record in the trash has none', async () => {
    const id = await create({ title: 'Read' })
    await send('PUT', `/contracts/${id}`, { title: 'Again' })
    const response = await send('GET', `/contracts/${id}/history?per_page=1`)
    const [entry, ...others] = JSON.parse(response.text)
    expect(others).to.deep.equal([])
    const shown = 'id created_at table_name record_id action changes user_id source request_id reason'
    expect(Object.keys(entry)).to.have.members(shown.split(' '))
    expect(entry).to.deep.include({ table_name: 'hist_contracts', record_id: id, user_id: null })
    expect(entry.changes).to.deep.equal([change('title', 'Read', 'Again')])
    expect(response.headers.get('x-total-count')).to.equal('2')
    expect(response.headers.get('link')).to.include('rel="next"')
    const xml = (await site.request('GET', `/contracts/${id}/history`, { accept: 'xml' })).text
    expect(xml).to.include('<changes><change><attribute>title</attribute>')
    await send('DELETE', `/contracts/${id}`)
    expect((await send('GET', `/contracts/${id}/history`)).status).to.equal(404)
  })

  it('shows templates the reader, and those whom the policy of the users lets the reader see', async () => {
    const [ada, twin, bob] = ['Ada', 'Ada', 'Bob'].map((name) => Object.assign(new Person(), { name }))
    const people = [ada, twin, bob].flatMap((person) => person ?? [])
    await database.manager.save(people)
    const robots = [new Line(), new Line()].map((line) => Object.assign(line, { id: crypto.randomUUID() }))
    const id = await create({ title: 'By nobody' })
    for (user of [...people, ...robots]) await send('PUT', `/contracts/${id}`, { title: `By ${user.id}` })
    const seenBy = async (reader: { id: string } | undefined) => {
      user = reader
      const response = await within(async (ctx) => {
        const { records } = await historyOf(ctx, await ctx.find(Contract, id))
        return [JSON.stringify(records).includes('"user":'), ...records.map((entry) => entry.user?.id)]
      })
      return JSON.parse(response.text).result
    }
    expect(await seenBy(ada)).to.deep.equal([false, null, null, null, twin?.id, ada?.id, null])
    expect(await seenBy(undefined)).to.deep.equal([false, ...Array.from({ length: 6 }, () => null)])
    // The model of the robots has no policy, and none of them has a row.
    await within(async (ctx) => {
      const [first] = robots
      const part = Object.assign(new Part(), { contract_id: id })
      await ctx.save(part)
      await ctx.unscoped.save(Object.assign(new Line(), { id: first?.id, text: 'robot', part_id: part.id }))
    })
    expect(await seenBy(robots[0])).to.deep.equal([false, null, robots[0]?.id, null, null, null, null])
    expect(await seenBy(robots[1])).to.deep.equal([false, ...Array.from({ length: 6 }, () => null)])
  })

  it('ends the message of a form that is out of date with who and when', async () => {
    user = { id: 'ada' }
    const note = Object.assign(new Note(), { title: 'one', owner: 'ada' })
    await within(async (ctx) => ctx.unscoped.save(note))
    const path = `/notes/${note.id}`
    const messageAfter = async (work: () => Promise<unknown>) => {
      user = { id: 'ada' }
      const { lock_version } = await database.manager.findOneByOrFail(Note, { id: note.id })
      await work()
      user = { id: 'ada' }
      const { status, json } = await send('PUT', path, { title: 'mine', lock_version })
      expect(status, JSON.stringify(json)).to.equal(409)
      expect(json.codes.base).to.deep.equal(['stale'])
      return String(json.errors.base)
    }
    const time = String.raw`[A-Z][a-z]+ \d+, \d{4}, .+\.$`
    const save = (title: string) => within(async (ctx) => ctx.unscoped.save(Object.assign(note, { title })))
    expect(await messageAfter(() => save('by me'))).to.match(
      new RegExp(`replace the current values\\. Last changed by you, ${time}`),
    )
    const byAnother = await messageAfter(() => {
      user = { id: 'bob' }
      return save('by another')
    })
    expect(byAnother)
      .to.match(new RegExp(`Last changed by another user, ${time}`))
      .and.not.include('bob')
    const byNobody = await messageAfter(() => {
      user = undefined
      return save('by nobody')
    })
    expect(byNobody).to.match(new RegExp(`Last changed without a user, ${time}`))
    await within(async (ctx) => forgetHistory(ctx, { olderThan: 0, model: Note }))
  })

  it('asks the policy of the model for `history`', async () => {
    const make = async (title: string, owner: string) => {
      let id = ''
      await within(async (ctx) => {
        const note = Object.assign(new Note(), { title, owner })
        await ctx.unscoped.save(note)
        id = note.id
      })
      return id
    }
    const [mine, secret, foreign] = [
      await make('a', 'ada'),
      await make('secret', 'ada'),
      await make('a', 'eve'),
    ]
    const status = async (id: string) => (await send('GET', `/notes/${id}/history`)).status
    expect(await status(mine)).to.equal(404)
    user = { id: 'ada' }
    expect([await status(mine), await status(secret), await status(foreign)]).to.deep.equal([200, 403, 404])
  })

  it('records what the database would delete or unlink with a record, also in a circle', async () => {
    const author = new Author()
    const id = await create({ title: 'Parent' })
    let line = new Line()
    await within(async (ctx) => {
      await ctx.save(Object.assign(author, { name: 'Ada' }))
      await ctx.save(Object.assign(await ctx.find(Contract, id), { author_id: author.id }))
      const part = Object.assign(new Part(), { contract_id: id })
      await ctx.save(part)
      line = Object.assign(new Line(), { text: 'below', part_id: part.id })
      await ctx.save(line)
    })
    await within(async (ctx) => ctx.destroy(await ctx.find(Author, author.id), { reason: 'Erased' }))
    const unlinked = (await entries({ record_id: id })).at(-1)
    expect([unlinked?.action, unlinked?.reason, unlinked?.changes]).to.deep.equal([
      'update',
      'Erased',
      [change('author_id', author.id, null)],
    ])
    await within(async (ctx) =>
      ctx.destroy(await ctx.find(Contract, id), { trash: false, reason: 'All of it' }),
    )
    const gone = (await entries({ record_id: line.id })).at(-1)
    expect([gone?.action, gone?.reason, gone?.changes[0]]).to.deep.equal([
      'destroy',
      'All of it',
      change('text', 'below', null),
    ])
    expect(await database.manager.count(Line, { where: { id: line.id } })).to.equal(0)

    const [first, second] = [new Ring(), new Ring()]
    await within(async (ctx) => {
      await ctx.save(first)
      await ctx.save(Object.assign(second, { next_id: first.id }))
      await ctx.save(Object.assign(first, { next_id: second.id }))
    })
    const response = await within(async (ctx) => ctx.destroy(await ctx.find(Ring, first.id)))
    expect(response.status).to.equal(200)
    expect(await database.manager.count(Ring)).to.equal(0)
    for (const { id: ring } of [first, second])
      expect(
        (await entries({ record_id: ring })).filter(({ action }) => action === 'destroy'),
      ).to.have.length(1)
  })

  it('refuses to delete a record with more than 1,000 rows in a cascade', async () => {
    const id = await create({ title: 'Large' })
    for (const length of [500, 501])
      await database.manager.insert(
        Part,
        Array.from({ length }, () => ({ contract_id: id })),
      )
    const response = await within(async (ctx) => ctx.destroy(await ctx.find(Contract, id), { trash: false }))
    expect(response.status).to.equal(409)
    expect(response.text).to.include('Delete them first.')
    expect(await database.manager.count(Part, { where: { contract_id: id } })).to.equal(1001)
  })

  it('has the entries of an undone savepoint, and of a request that fails, no more', async () => {
    const before = await database.manager.count(HistoryEntry)
    const failing = await within(async (ctx) => {
      await ctx.save(Object.assign(new Label(), { name: 'gone' }))
      throw new errors.HttpError(409, 'no')
    })
    expect(failing.status).to.equal(409)
    await within(async (ctx) => {
      await ctx.tx
        .transaction(async () => {
          await ctx.save(Object.assign(new Label(), { name: 'gone' }))
          throw new Error('undone')
        })
        .catch(() => undefined)
    })
    expect(await database.manager.count(HistoryEntry)).to.equal(before)
  })

  it('records jobs with their class, and writes outside of requests with nothing', async () => {
    const label = Object.assign(new Label(), { name: 'job' })
    await within(async (ctx) => {
      await ctx.save(label)
      await ctx.enqueue(Rename, { id: label.id })
    })
    await jobs.drain()
    const entry = (await entries({ record_id: label.id })).at(-1)
    expect(entry).to.deep.include({ source: 'Rename', user_id: null, reason: 'Nightly' })
    expect(entry?.request_id).to.be.a('string')
    for (const field of [{ name: 'rename', msg: 'job finished' }, { path: '/act/run' }])
      expect(
        log.lines.findLast((line) => Object.entries(field).every(([name, value]) => line[name] === value)),
      ).to.include({ entries: 1 })
  })

  it('keeps each `from` the `to` before, and no entry without its change, under concurrent requests', async () => {
    const id = await create({ title: 'start' })
    const total = Number(process.env['KIT_HISTORY'] ?? 30)
    // A third of them fails, by a rule or by an error after the save.
    await Promise.all(
      Array.from({ length: total }, (_, index) => {
        if (index % 6 === 0) return send('PUT', `/contracts/${id}`, { title: '' })
        if (index % 6 === 3)
          return within(async (ctx) => {
            await ctx.save(Object.assign(await ctx.find(Contract, id), { title: `undone ${index}` }))
            throw new errors.HttpError(409, 'no')
          })
        return send('PUT', `/contracts/${id}`, { title: `title ${index}` })
      }),
    )
    const titles = (await entries({ record_id: id })).flatMap(({ changes }) =>
      changes.filter(({ attribute }) => attribute === 'title'),
    )
    // Ids of one millisecond and of several processes are in no order, so the chain is followed by its values.
    const next = new Map(titles.map(({ from, to }) => [from, to]))
    let [title, steps] = [next.get(null), 1]
    for (; next.has(title) && steps <= titles.length; steps += 1) title = next.get(title)
    expect(next.size).to.equal(titles.length)
    expect(steps).to.equal(titles.length)
    expect((await database.manager.findOneByOrFail(Contract, { id })).title).to.equal(title)
    expect(JSON.stringify(titles)).to.not.include('undone')
  })

  it('refuses writes past the writer before they are sent, and the request may go on', async () => {
    const id = await create({ title: 'Guarded' })
    const refused: Record<string, (tx: EntityManager) => Promise<unknown>> = {
      insert: (tx) => tx.insert(Contract, { title: 'x' }),
      update: (tx) => tx.update(Contract, { id }, { title: 'x' }),
      delete: (tx) => tx.delete(Contract, { id }),
      save: (tx) => tx.save(Object.assign(new Contract(), { title: 'x' })),
      remove: async (tx) => tx.remove(await tx.findOneByOrFail(Contract, { id })),
      softDelete: (tx) => tx.softDelete(Contract, { id }),
      restore: (tx) => tx.restore(Contract, { id }),
      upsert: (tx) => tx.upsert(Contract, { id, title: 'x' }, ['id']),
      increment: (tx) => tx.increment(Contract, { id }, 'views', 1),
      clear: (tx) => tx.clear(Contract),
      deleteAll: (tx) => tx.deleteAll(Contract),
      builder: (tx) => tx.createQueryBuilder().update(Contract).set({ title: 'x' }).where({ id }).execute(),
      repository: (tx) => tx.getRepository(Contract).update({ id }, { title: 'x' }),
      links: (tx) => tx.createQueryBuilder().relation(Contract, 'labels').of(id).add(crypto.randomUUID()),
      sql: (tx) => tx.query("UPDATE hist_contracts SET title = 'x'"),
      parent: (tx) => tx.query('DELETE FROM hist_authors'),
      entries: (tx) => tx.query('DELETE FROM history_entries'),
    }
    const wrong: string[] = []
    const response = await within(async (ctx) => {
      for (const [name, write] of Object.entries(refused)) {
        const error = await failure(write(ctx.tx))
        const expected = name === 'entries' ? 'EntryIsReadOnly' : 'UnrecordedWrite'
        if ((error as Error).constructor.name !== expected) wrong.push(`${name}: ${String(error)}`)
      }
      await ctx.tx.query('SELECT * FROM hist_contracts')
      await ctx.save(Object.assign(await ctx.find(Contract, id), { title: 'Goes on' }))
    })
    expect(wrong).to.deep.equal([])
    expect(response.status, response.text).to.equal(200)
    expect(await database.manager.findOneByOrFail(Contract, { id })).to.deep.include({ title: 'Goes on' })
    const error = await failure(database.manager.delete(Contract, { id }))
    expect(error).to.be.instanceOf(UnrecordedWrite)
    expect((error as Error).message)
      .to.include('Contract')
      .and.include('DELETE FROM')
      .and.include('withoutHistory')
    expect((await within(async (ctx) => ctx.save(new HistoryEntry()))).status).to.equal(500)
  })

  it('lets the statements of withoutHistory through, and nothing else, with one entry for each model', async () => {
    const id = await create({ title: 'Bulk' })
    const before = new Date()
    const response = await within(async (ctx) => {
      const count = await withoutHistory(ctx, 'Prices of 2027', async (tx) => {
        await tx.update(Contract, { id }, { title: 'Changed' })
        await tx.createQueryBuilder().update(Contract).set({ views: 2 }).where({ id }).execute()
        await tx.query("UPDATE hist_notes SET title = 'x' WHERE 1 = 0")
        const outside = await failure(ctx.tx.update(Contract, { id }, { title: 'no' }))
        const own = await failure(tx.query('DELETE FROM history_entries'))
        return [outside, own].map((error) => (error as Error).constructor.name)
      })
      const late = await failure(ctx.tx.update(Contract, { id }, { title: 'no' }))
      return [count, late instanceof UnrecordedWrite]
    })
    expect(JSON.parse(response.text)).to.deep.equal({
      result: [['UnrecordedWrite', 'EntryIsReadOnly'], true],
    })
    const made = (await entries({ action: 'unrecorded' })).filter(({ created_at }) => created_at >= before)
    expect(made.map(({ table_name, reason, record_id }) => [table_name, reason, record_id])).to.deep.equal([
      ['hist_contracts', 'Prices of 2027', null],
    ])
    const page = JSON.parse((await send('GET', `/contracts/${id}/history`)).text)
    expect(page.map(({ action }: { action: string }) => action)).to.deep.equal(['unrecorded', 'create'])
    const later = await create({ title: 'Later' })
    const laterPage = JSON.parse((await send('GET', `/contracts/${later}/history`)).text)
    expect(laterPage).to.have.length(1)
    for (const reason of ['', ' ', 'x'.repeat(501)])
      expect(
        String(
          await failure(
            Promise.resolve().then(() => withoutHistory(database.manager, reason, async () => 1)),
          ),
        ),
      ).to.include('needs a reason')
  })

  it('has the entries of an import, which are sent together, or none of them', async () => {
    const statements: string[] = []
    const listen = (message: unknown) => void statements.push(String(Reflect.get(Object(message), 'sql')))
    const send = (lines: string[]) =>
      site.post('/labels/import', {
        body: ['name,price', ...lines].join('\n'),
        accept: 'json',
        headers: { 'Content-Type': 'text/csv' },
      })
    const lines = Array.from({ length: 600 }, (_, index) => `import ${index},${index}.5`)
    const before = await database.manager.count(HistoryEntry)
    expect((await send([...lines, 'wrong,x'])).status).to.equal(422)
    expect(await database.manager.count(HistoryEntry)).to.equal(before)
    subscribe(channels.query.name, listen)
    const { json } = await send(lines)
    unsubscribe(channels.query.name, listen)
    expect(json).to.include({ created: 600, updated: 0 })
    expect(
      statements.filter((sql) => /^(INSERT|SAVEPOINT)/.test(sql) || sql.includes(' WHERE ')),
    ).to.have.length.below(12)
    const made = await entries({ table_name: 'hist_labels', source: 'LabelsResource.create' })
    expect(made).to.have.length(600)
    expect(made.find(({ changes }) => changes[0]?.to === 'import 7')?.changes[1]).to.deep.equal(
      change('price', null, '7.50'),
    )
    expect((await send(['import 7,1', 'another,', 'import 8,2'])).json).to.include({ created: 1, updated: 2 })
    const later = (await entries({ table_name: 'hist_labels' })).slice(-3)
    expect(later.map(({ action }) => action).toSorted()).to.deep.equal(['create', 'update', 'update'])
    expect(later.find(({ changes }) => changes[0]?.to === '1.00')?.changes).to.deep.equal([
      change('price', '7.50', '1.00'),
    ])
  })

  it('forgets old entries, and those of a record', async () => {
    const id = await create({ title: 'Forget' })
    await send('PUT', `/contracts/${id}`, { title: 'Me' })
    const response = await within(async (ctx) => forgetHistory(ctx, { record: await ctx.find(Contract, id) }))
    expect(JSON.parse(response.text)).to.deep.equal({ result: 2 })
    const left = await entries({ record_id: id })
    expect(left.map(({ action, changes }) => [action, changes])).to.deep.equal([['forgotten', []]])
    await within(async (ctx) => forgetHistory(ctx, { olderThan: '1 day' }))
    expect(await entries({ record_id: id })).to.have.length(1)
    await within(async (ctx) => forgetHistory(ctx, { olderThan: 1, model: Contract }))
    expect(await entries({ table_name: 'hist_contracts' })).to.deep.equal([])
  })
})
