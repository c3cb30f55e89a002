import { expect } from 'chai'
import {
  Column,
  DeleteDateColumn,
  Entity,
  JoinColumn,
  JoinTable,
  ManyToMany,
  ManyToOne,
  VersionColumn,
} from 'typeorm'
import type { Relation } from 'typeorm'
import {
  App,
  Database,
  emptyTrash,
  errors,
  Model,
  nothing,
  Parent,
  Policy,
  RelationIds,
  Resource,
  BaseResource,
  Route,
  transaction,
  uniqueOutsideTrash,
  Within,
  type Context,
} from '../../../src/index.js'
import { Job, jobQueue, jobTables, type JobContext, type JobQueue } from '../../../src/jobs/index.js'
import { findIndexesOfTrash } from '../../../src/records/unique-indexes.js'
import { databaseWithTables } from '../../support/databases.js'
import { failure } from '../../support/failure.js'
import { Random } from '../../support/random.js'
import { Site } from '../../support/site.js'

@Entity('trash_labels')
class Label extends Model {
  @Column('varchar')
  name!: string

  @Column('varchar', { unique: true, nullable: true })
  code!: string | null

  @DeleteDateColumn()
  deleted_at!: Date | null
}

@Entity('trash_contracts')
class Contract extends Model {
  @Column('varchar')
  title!: string

  @Column('varchar', { unique: false, nullable: true })
  number!: string | null

  @Column('uuid', { nullable: true })
  label_id!: string | null

  @ManyToOne(() => Label)
  @JoinColumn({ name: 'label_id' })
  label?: Relation<Label> | null

  @ManyToMany(() => Label, { onDelete: 'CASCADE' })
  @JoinTable({
    name: 'trash_contracts_labels',
    joinColumn: { name: 'contract_id' },
    inverseJoinColumn: { name: 'label_id' },
  })
  labels?: Relation<Label[]>

  @RelationIds('labels')
  label_ids!: string[]

  @DeleteDateColumn()
  deleted_at!: Date | null

  @VersionColumn()
  lock_version!: number
}

@Entity('trash_lines')
@Within('contract')
class Line extends Model {
  @Column('varchar')
  text!: string

  @Column('uuid')
  contract_id!: string

  @ManyToOne(() => Contract)
  @JoinColumn({ name: 'contract_id' })
  contract?: Relation<Contract>
}

/** A record with an owner, whose policy has the abilities of the trash. */
@Entity('trash_notes')
class Note extends Model {
  @Column('varchar')
  title!: string

  @Column('varchar')
  owner!: string

  @DeleteDateColumn()
  removed_at!: Date | null
}

class NotePolicy extends Policy<Note> {
  scope(user?: { name: string }) {
    return user ? { owner: user.name } : nothing
  }
  destroy() {
    return true
  }
  restore(_user: unknown, note: Note) {
    return note.title !== 'locked'
  }
  purge(_user: unknown, note: Note) {
    return note.title !== 'locked'
  }
}

/** Moves a label to the trash and back, twice, and deletes it for good. */
@Job()
class MoveLabel {
  async perform({ id }: { id: string }, job: JobContext) {
    await job.destroy(await job.find(Label, id))
    await job.restore(await job.find(Label, id, { trashed: true }))
    await job.destroy(await job.findOneBy(Label, { id }))
    steps.push((await failure(job.find(Label, id))) instanceof errors.RecordNotFound)
    steps.push(await emptyTrash(job, Label, { olderThan: '1 day' }))
    await job.destroy(await job.find(Label, id, { trashed: true }), { trash: false })
  }
}

/** The results of the job's steps. */
const steps: unknown[] = []

async function item<T extends Model>(
  ctx: Context,
  record: T,
  errors?: Awaited<ReturnType<Context['restore']>>,
): Promise<void> {
  await ctx.respond(...((errors ? [errors] : [{ data: record }]) as [object]))
}

@Resource('/contracts', { model: Contract })
class ContractsResource extends BaseResource {
  override async list(ctx: Context) {
    const { records } = await ctx.paginate(Contract)
    return ctx.respond({ data: records })
  }
  override async create(ctx: Context) {
    const contract = ctx.bind(new Contract())
    return item(ctx, contract, await ctx.save(contract))
  }
  @Route('GET', '/trash')
  async trash(ctx: Context) {
    const { records } = await ctx.paginate(Contract, { trashed: true, order: { deleted_at: 'DESC' } })
    return ctx.respond({ data: records })
  }
  @Route('GET', '/all')
  async all(ctx: Context) {
    const [outside, trashed] = [
      await ctx.findAll(Contract),
      await ctx.findAll(Contract, { trashed: true, where: { title: 'First' } }),
    ]
    return ctx.respond({ data: { outside: outside.length, trashed: trashed.length } })
  }
  @Route('GET', '/choices')
  async choices(ctx: Context) {
    const { records } = await ctx.choices(Label, String(ctx.query['selected'] ?? '') || undefined)
    return ctx.respond({ data: records.map(({ name }) => name).toSorted() })
  }
  override async show(ctx: Context) {
    const contract = await ctx.find(Contract, ctx.params['contract_id'])
    return ctx.respond({ data: await ctx.load(contract, 'label', 'labels') })
  }
  override async update(ctx: Context) {
    const contract = ctx.bind(await ctx.find(Contract, ctx.params['contract_id']))
    return item(ctx, contract, await ctx.save(contract))
  }
  override async destroy(ctx: Context) {
    const contract = await ctx.find(Contract, ctx.params['contract_id'])
    await ctx.destroy(contract)
    return item(ctx, contract)
  }
  @Route('POST', '/{contract_id}/restore')
  async restore(ctx: Context) {
    const contract = await ctx.find(Contract, ctx.params['contract_id'], { trashed: true })
    return item(ctx, contract, await ctx.restore(contract))
  }
  @Route('DELETE', '/{contract_id}/purge')
  async purge(ctx: Context) {
    const contract = await ctx.findOneBy(Contract, { id: ctx.params['contract_id'] ?? '' }, { trashed: true })
    await ctx.destroy(contract, { trash: false })
    return item(ctx, contract)
  }
}

@Resource('/lines', { model: Line })
@Parent(ContractsResource)
class LinesResource extends BaseResource {
  override async list(ctx: Context) {
    const { id: contract_id } = await ctx.find(Contract, ctx.params['contract_id'])
    const { records } = await ctx.paginate(Line, { where: { contract_id } })
    return ctx.respond({ data: records })
  }
}

@Resource('/notes', { model: Note, policy: NotePolicy })
class NotesResource extends BaseResource {
  @Route('GET', '/trash')
  async trash(ctx: Context) {
    const { records } = await ctx.paginate(Note, { trashed: true })
    return ctx.respond({ data: records })
  }
  override async destroy(ctx: Context) {
    const note = await ctx.authorize(await ctx.find(Note, ctx.params['note_id']))
    await ctx.destroy(note)
    return item(ctx, note)
  }
  @Route('POST', '/{note_id}/restore')
  async restore(ctx: Context) {
    const note = await ctx.find(Note, ctx.params['note_id'], { trashed: true })
    if (ctx.query['forgets'] === undefined) await ctx.authorize(note)
    return item(ctx, note, await ctx.restore(note))
  }
  @Route('DELETE', '/{note_id}/purge')
  async purge(ctx: Context) {
    const note = await ctx.find(Note, ctx.params['note_id'], { trashed: true })
    if (ctx.query['forgets'] === undefined) await ctx.authorize(note)
    await ctx.destroy(note, { trash: false })
    return item(ctx, note)
  }
}

/** The number of simultaneous moves, and of random ones. */
const parallel = Number(process.env['KIT_TRASH'] ?? 20)
const total = Number(process.env['KIT_TRASH'] ?? 15)
const seed = Number(process.env['KIT_TRASH_SEED'] ?? Date.now() % 2 ** 31)

const models = [Label, Contract, Line, Note]

const open = (url: string): Promise<Database> =>
  new Database({ test: { url, logging: false }, models }, 'test').open()

async function createTables(url: string): Promise<void> {
  const database = await open(url)
  await database.synchronize()
  const runner = database.createQueryRunner()
  await uniqueOutsideTrash(runner, 'trash_contracts', ['number'])
  for (const table of jobTables(runner)) await runner.createTable(table)
  await runner.release()
  await database.close()
}

describe('A model with @DeleteDateColumn', () => {
  let database: Database
  let site: Site
  let user: { name: string } | undefined
  let jobs: JobQueue

  before(async () => {
    database = await open(await databaseWithTables('trash', createTables))
    const app = new App({ api: true })
    app.use(transaction(database))
    jobs = jobQueue(database, { jobs: [MoveLabel] })
    app.extend(jobs)
    app.use(async (ctx, next) => {
      Reflect.set(ctx, 'user', user)
      await next()
    })
    app.get('/lines', async (ctx: Context) => ctx.respond({ data: await ctx.findAll(Line) }))
    app.get('/lines/{line_id}', async (ctx: Context) =>
      ctx.respond({ data: await ctx.find(Line, ctx.params['line_id']) }),
    )
    app.post('/race/{contract_id}', async (ctx: Context) => {
      const [first, second] = [
        await ctx.find(Label, ctx.params['contract_id']),
        await ctx.find(Label, ctx.params['contract_id']),
      ]
      await ctx.destroy(first)
      await (ctx.query['saves'] === undefined
        ? ctx.destroy(second)
        : ctx.save(Object.assign(second, { name: 'late' })))
      return ctx.respond({ data: second })
    })
    app.delete('/labels/{label_id}', async (ctx: Context) => {
      const found = await ctx.find(Label, ctx.params['label_id'])
      await ctx.destroy(found)
      return ctx.respond({ data: found })
    })
    app.post('/labels/{label_id}/restore', async (ctx: Context) => {
      const found = await ctx.find(Label, ctx.params['label_id'], { trashed: true })
      return item(ctx, found, await ctx.restore(found))
    })
    app.post('/wrong/{name}', async (ctx: Context) => {
      const label = Object.assign(new Label(), { name: 'wrong' })
      await ctx.save(label)
      const wrongs: Record<string, () => Promise<unknown>> = {
        restore: () => ctx.restore(label),
        again: async () => {
          await ctx.destroy(label)
          await ctx.destroy(label)
        },
        line: () => ctx.find(Line, label.id, { trashed: true }),
        lines: () => emptyTrash(ctx, Line, { olderThan: '1 day' }),
        age: () => emptyTrash(ctx, Label, { olderThan: 'old' as '1 day' }),
      }
      const error = await failure(wrongs[ctx.params['name'] ?? '']?.() ?? Promise.resolve())
      return ctx.respond({ data: { message: (error as Error).message } })
    })
    app.post('/empty', async (ctx: Context) =>
      ctx.respond({ data: { count: await emptyTrash(ctx, Label, { olderThan: 1 }) } }),
    )
    app.resource(ContractsResource)
    app.resource(LinesResource)
    app.resource(NotesResource)
    site = await Site.open(app)
  })
  after(() => site.close())

  const send = async (method: string, path: string, json?: object) => {
    const options = { accept: 'json' as const, ...(json && { json }) }
    return site.request(method, path, options)
  }
  const save = <T extends Model>(record: T, values: object): Promise<T> =>
    database.manager.save(Object.assign(record, values))
  const label = (name: string, trashed = false) =>
    save(new Label(), { name, deleted_at: trashed ? new Date() : null })
  const contract = (values: object = {}) => save(new Contract(), { title: 'First', ...values })
  const ids = async (path: string): Promise<string[]> =>
    (await send('GET', path)).json.map(({ id }: { id: string }) => id)

  it('is moved to the trash by ctx.destroy, and brought back by ctx.restore as it was', async () => {
    const { id } = await contract({ number: 'A1' })
    const before = (await send('GET', `/contracts/${id}`)).json
    const moved = await send('DELETE', `/contracts/${id}`)
    expect(moved.status).to.equal(200)
    expect(moved.json.deleted_at).to.be.a('string')
    for (const [method, path] of [
      ['GET', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['GET', '/lines'],
    ] as const)
      expect((await send(method, `/contracts/${id}${path}`, {})).status, `${method} ${path}`).to.equal(404)
    expect(await ids('/contracts')).not.to.include(id)
    expect((await ids('/contracts/trash'))[0]).to.equal(id)
    const restored = await send('POST', `/contracts/${id}/restore`)
    expect([restored.status, restored.json.deleted_at]).to.deep.equal([200, null])
    const after = (await send('GET', `/contracts/${id}`)).json
    expect(after).to.deep.equal({ ...before, lock_version: before.lock_version + 2 })
    for (const path of ['restore', 'purge'])
      expect((await send(path === 'purge' ? 'DELETE' : 'POST', `/contracts/${id}/${path}`)).status).to.equal(
        404,
      )
  })

  it('is counted and listed only outside of the trash, and only in it with `trashed: true`', async () => {
    await send('GET', '/contracts')
    const { id } = await contract()
    const counts = async () => (await send('GET', '/contracts/all')).json
    const [before, total] = [await counts(), (await send('GET', '/contracts')).headers.get('x-total-count')]
    await send('DELETE', `/contracts/${id}`)
    const after = await counts()
    expect(after).to.deep.equal({ outside: before.outside - 1, trashed: before.trashed + 1 })
    expect((await send('GET', '/contracts')).headers.get('x-total-count')).to.equal(String(Number(total) - 1))
    expect((await send('GET', '/contracts/trash')).headers.get('x-total-count')).to.equal(
      String((await database.manager.count(Contract, { withDeleted: true })) - after.outside),
    )
  })

  it('is deleted for good by ctx.destroy(record, { trash: false }), unless others refer to it (409)', async () => {
    const { id } = await contract()
    await save(new Line(), { text: 'one', contract_id: id })
    await send('DELETE', `/contracts/${id}`)
    expect((await send('DELETE', `/contracts/${id}/purge`)).status).to.equal(409)
    await database.manager.delete(Line, { contract_id: id })
    expect((await send('DELETE', `/contracts/${id}/purge`)).status).to.equal(200)
    expect(await database.manager.count(Contract, { where: { id }, withDeleted: true })).to.equal(0)
  })

  it('is null in relations, missing in lists of relations, and keeps its links', async () => {
    const [kept, moved] = [await label('kept'), await label('moved')]
    const { id } = await contract({ label_id: moved.id })
    await send('PUT', `/contracts/${id}`, { label_ids: [kept.id, moved.id] })
    await database.manager.update(Label, { id: moved.id }, { deleted_at: new Date() })
    const shown = (await send('GET', `/contracts/${id}`)).json
    expect([shown.label, shown.label_id, shown.label_ids]).to.deep.equal([null, moved.id, [kept.id]])
    expect(shown.labels.map(({ name }: Label) => name)).to.deep.equal(['kept'])
    for (const label_ids of [[kept.id], [kept.id, moved.id], []]) {
      const saved = await send('PUT', `/contracts/${id}`, { label_ids, label_id: moved.id })
      expect([saved.status, saved.json.label_ids]).to.deep.equal([200, label_ids.slice(0, 1)])
    }
    await database.manager.update(Label, { id: moved.id }, { deleted_at: null as never })
    expect((await send('GET', `/contracts/${id}`)).json.label_ids).to.deep.equal([moved.id])
  })

  it('cannot be referred to by a new reference (422), and stays a choice only if it is selected', async () => {
    const trashed = await label('trashed', true)
    for (const body of [{ label_id: trashed.id }, { label_ids: [trashed.id] }]) {
      const { status, json } = await send('POST', '/contracts', { title: 'New', ...body })
      expect([status, Object.keys(json.errors)]).to.deep.equal([422, Object.keys(body)])
      const { id } = await contract()
      expect((await send('PUT', `/contracts/${id}`, body)).status).to.equal(422)
    }
    expect((await send('GET', '/contracts/choices')).json).not.to.include('trashed')
    expect((await send('GET', `/contracts/choices?selected=${trashed.id}`)).json).to.include('trashed')
  })

  it('frees its unique values, and cannot be restored while they are taken (409)', async () => {
    const { id } = await contract({ number: 'B1' })
    expect((await send('POST', '/contracts', { title: 'Second', number: 'B1' })).status).to.equal(409)
    await send('DELETE', `/contracts/${id}`)
    const { json: second } = await send('POST', '/contracts', { title: 'Second', number: 'B1' })
    const refused = await send('POST', `/contracts/${id}/restore`)
    expect([refused.status, Object.keys(refused.json.errors)]).to.deep.equal([409, ['number']])
    await send('DELETE', `/contracts/${second.id}`)
    expect((await send('POST', `/contracts/${id}/restore`)).status).to.equal(200)
  })

  it('takes the records in it out of reach, and brings them back', async () => {
    const { id } = await contract()
    const line = await save(new Line(), { text: 'one', contract_id: id })
    const reached = async () => [
      (await send('GET', `/lines/${line.id}`)).status,
      (await ids('/lines')).includes(line.id),
      (await send('GET', `/contracts/${id}/lines`)).status,
    ]
    expect(await reached()).to.deep.equal([200, true, 200])
    await send('DELETE', `/contracts/${id}`)
    expect(await reached()).to.deep.equal([404, false, 404])
    await send('POST', `/contracts/${id}/restore`)
    expect(await reached()).to.deep.equal([200, true, 200])
  })

  it('is never moved by a body, and a move for which another was faster is 404', async () => {
    const { id } = await contract()
    await send('PUT', `/contracts/${id}`, { deleted_at: '2020-01-01T00:00:00Z', title: 'Bound' })
    expect((await send('GET', `/contracts/${id}`)).json.title).to.equal('Bound')
    for (const query of ['', '?saves=1']) {
      const { id: raced } = await label('raced')
      expect((await send('POST', `/race/${raced}${query}`)).status).to.equal(404)
      expect((await database.manager.findOneByOrFail(Label, { id: raced })).name).to.equal('raced')
    }
    const moved = await contract()
    const stale = await site.request('DELETE', `/contracts/${moved.id}`, {
      accept: 'json',
      headers: { 'If-Match': '"0"' },
    })
    expect(stale.status).to.equal(412)
  })

  it('asks the abilities restore and purge of the policy, within its scope', async () => {
    const note = (owner: string, title: string) => save(new Note(), { owner, title, removed_at: new Date() })
    const [own, locked, other] = [
      await note('ada', 'own'),
      await note('ada', 'locked'),
      await note('bob', 'own'),
    ]
    user = { name: 'ada' }
    const statuses = async (query = '') => {
      const found: number[] = []
      for (const { id } of [locked, other, own]) {
        found.push((await send('DELETE', `/notes/${id}/purge${query}`)).status)
        found.push((await send('POST', `/notes/${id}/restore${query}`)).status)
      }
      return found
    }
    expect(await ids('/notes/trash')).to.have.members([own.id, locked.id])
    expect(await statuses('?forgets=1')).to.deep.equal([500, 500, 404, 404, 500, 500])
    expect(await statuses()).to.deep.equal([403, 403, 404, 404, 200, 404])
    user = undefined
    expect(await ids('/notes/trash')).to.deep.equal([])
  })

  it('is moved by a job, too', async () => {
    const { id } = await label('of a job')
    await database.transaction((tx) => jobs.enqueue(tx, MoveLabel, { id }))
    expect((await jobs.drain()).failed).to.deep.equal([])
    expect(steps).to.deep.equal([true, 0])
    expect(await database.manager.count(Label, { where: { id }, withDeleted: true })).to.equal(0)
  })

  it('rejects what cannot be moved, with the reason', async () => {
    const messages: Record<string, string> = {
      restore: 'The Label is not in the trash, so it cannot be restored. Find it with `trashed: true`.',
      again: 'The Label is in the trash already. To delete it for good, use `trash: false`.',
      line: '`trashed: true` needs a trash, but Line has no property with @DeleteDateColumn().',
      lines: 'emptyTrash() needs a trash, but Line has no property with @DeleteDateColumn().',
      age: 'The `olderThan` of emptyTrash() is "old".',
    }
    for (const [name, message] of Object.entries(messages)) {
      const { json } = await send('POST', `/wrong/${name}`)
      expect(JSON.stringify(json)).to.include(JSON.stringify(message).slice(1, -1))
    }
  })

  it('is counted by unique indexes that do not end outside of the trash, which kit db check names', async () => {
    const found = await findIndexesOfTrash(database)
    expect(found.map(({ table, columns }) => [table, columns])).to.deep.equal([['trash_labels', ['code']]])
  })

  it('is moved by one of many requests at a time, so that moves alternate', async () => {
    const { id } = await contract({ title: 'Raced' })
    const moves = Array.from({ length: parallel }, (_, index) =>
      index % 2 === 0 ? send('DELETE', `/contracts/${id}`) : send('POST', `/contracts/${id}/restore`),
    )
    const statuses = (await Promise.all(moves)).map(({ status }) => status)
    const count = (rest: number) =>
      statuses.filter((status, index) => index % 2 === rest && status === 200).length
    const [there, back] = [count(0), count(1)]
    const [row] = await database.manager.find(Contract, { where: { id }, withDeleted: true })
    expect(there - back).to.equal(row?.deleted_at ? 1 : 0)
    expect(row?.lock_version).to.equal(1 + there + back)
    expect(there).to.be.above(0)
    expect(statuses.filter((status) => ![200, 404, 503].includes(status))).to.deep.equal([])
  })

  it(`is seen by no read unasked, after ${total} random moves (KIT_TRASH_SEED=${seed})`, async () => {
    const random = new Random(seed)
    const labels = [await label('a'), await label('b'), await label('c')] as const
    const records = [await contract(), await contract(), await contract()] as const
    const trashed = new Set<string>()
    const links = new Map<string, Set<string>>(records.map(({ id }) => [id, new Set()]))
    const move = async (one: Model, path: string) => {
      const isBack = trashed.has(one.id)
      const { status } = await (isBack
        ? send('POST', `${path}/${one.id}/restore`)
        : send('DELETE', `${path}/${one.id}`))
      expect(status).to.equal(200)
      if (isBack) trashed.delete(one.id)
      else trashed.add(one.id)
    }
    for (let step = 0; step < total; step++) {
      const [one, other] = [random.of(records), random.of(labels)]
      if (random.chance(0.3)) await move(one, '/contracts')
      else if (random.chance(0.4)) await move(other, '/labels')
      else if (!trashed.has(one.id)) {
        const all = links.get(one.id) ?? new Set()
        const given = labels.filter(({ id }) => !trashed.has(id) && random.chance(0.5)).map(({ id }) => id)
        const { status } = await send('PUT', `/contracts/${one.id}`, { label_ids: given })
        expect(status).to.equal(200)
        const kept = [...all].filter((id) => trashed.has(id))
        links.set(one.id, new Set([...given, ...kept]))
      }
      for (const { id } of records) {
        const { status, json } = await send('GET', `/contracts/${id}`)
        expect(status).to.equal(trashed.has(id) ? 404 : 200)
        if (status === 404) continue
        const seen = [...(links.get(id) ?? [])].filter((each) => !trashed.has(each)).toSorted()
        expect([json.label_ids, json.labels.map((each: Label) => each.id).toSorted()]).to.deep.equal([
          seen,
          seen,
        ])
      }
      const listed = new Set(await ids('/contracts?per_page=100'))
      for (const { id } of records) expect(listed.has(id)).to.equal(!trashed.has(id))
    }
  })

  it('is deleted by emptyTrash unless others refer to it, which are not counted', async () => {
    await send('POST', '/empty')
    const [free, used] = [await label('free', true), await label('used', true)]
    await contract({ label_id: used.id })
    const outside = await label('outside')
    expect((await send('POST', '/empty')).json).to.deep.equal({ count: 1 })
    const left = await database.manager.find(Label, { withDeleted: true })
    expect(left.map(({ id }) => id)).to.include.members([used.id, outside.id])
    expect(left.map(({ id }) => id)).not.to.include(free.id)
  })
})
