import { expect } from 'chai'
import { Column, DeleteDateColumn, Entity, JoinTable, ManyToMany, type Relation } from 'typeorm'
import {
  App,
  Database,
  emptyTrash,
  Model,
  RelationIds,
  transaction,
  type Context,
} from '../../../src/index.js'
import { forgetHistory, History, HistoryEntry, historyOf, historyTable } from '../../../src/history/index.js'
import { findTableProblems } from '../../../src/records/participants.js'
import { databaseWithTables, newDatabase } from '../../support/databases.js'
import { failure } from '../../support/failure.js'
import { Site } from '../../support/site.js'

@Entity('declared_pages')
@History()
class Page extends Model {
  @Column('varchar') title!: string
  @Column('varchar', { nullable: true }) password!: string | null
  @ManyToMany(() => Topic, (topic) => topic.pages)
  topics?: Relation<Topic[]>
  @DeleteDateColumn() deleted_at!: Date | null
}

@Entity('declared_topics')
class Topic extends Model {
  @Column('varchar') name!: string
  @ManyToMany(() => Page, (page) => page.topics)
  @JoinTable({
    name: 'declared_topics_pages',
    joinColumn: { name: 'topic_id' },
    inverseJoinColumn: { name: 'page_id' },
  })
  pages?: Relation<Page[]>
  @RelationIds('pages')
  page_ids!: string[]
}

@Entity('declared_wrongs')
@History({ except: ['vews'] })
class Wrong extends Model {
  @Column('int') views!: number
}

const open = (url: string, models: Function[]): Promise<Database> =>
  new Database({ test: { url }, models }, 'test').open()

describe('A declared history', () => {
  let site: Site | undefined
  let act: (ctx: Context) => Promise<unknown>
  afterEach(async () => {
    await site?.close()
    site = undefined
  })

  async function start(database: Database): Promise<Site> {
    const app = new App({ api: true })
    app.use(transaction(database))
    app.post('/act', async (ctx: Context) => ctx.respond({ data: { result: (await act(ctx)) ?? null } }))
    return (site = await Site.open(app))
  }

  /** The message of the error with which an application does not start. */
  async function startError(models: Function[]): Promise<string> {
    const database = await open(await newDatabase(), models)
    const app = new App({ api: true })
    app.use(transaction(database))
    const error = await failure(app.start())
    await app.close().catch(() => undefined)
    await database.close().catch(() => undefined)
    return String(error)
  }

  const openPages = async () => {
    const models = [Page, Topic, HistoryEntry]
    const url = await databaseWithTables('declared history', async (at) => {
      const database = await open(at, models)
      await database.synchronize()
      await database.close()
    })
    return { url, database: await open(url, models) }
  }
  const within = async (work: typeof act) => {
    act = work
    return (await site?.request('POST', '/act', { accept: 'json', json: {} })) ?? expect.fail('no site')
  }
  const page = (title: string) => Object.assign(new Page(), { title })

  it('needs a model, attributes that exist, and the model of the entries', async () => {
    class Plain {}
    expect(() => History()(Plain)).to.throw('@History() is for models, and Plain does not extend Model.')
    expect(await startError([Wrong, HistoryEntry])).to.match(
      /@History of Wrong has the exception "vews", which is no attribute\. The attributes are: .*views/,
    )
    expect(await startError([Page, Topic])).to.include('Write src/models/history_entry.ts')
  })

  it('refuses a change of links from a side without a history', async () => {
    const { database } = await openPages()
    await start(database)
    const topic = Object.assign(new Topic(), { name: 'Law' })
    const response = await within(async (ctx) => {
      const one = page('One')
      await ctx.save(one)
      await ctx.save(topic)
      return String(await failure(ctx.save(Object.assign(topic, { page_ids: [one.id] }))))
    })
    expect(response.text).to.include('Declare @History() on Topic, too.')
    expect(await database.query('SELECT * FROM declared_topics_pages')).to.deep.equal([])
  })

  it('has an entry for each record that emptyTrash deletes', async () => {
    const { database } = await openPages()
    await start(database)
    const response = await within(async (ctx) => {
      for (const title of ['A', 'B', 'C']) {
        const one = page(title)
        await ctx.save(one)
        if (title !== 'C') await ctx.destroy(one)
      }
      await new Promise((resolve) => setTimeout(resolve, 10))
      return emptyTrash(ctx, Page, { olderThan: 1 })
    })
    expect(JSON.parse(response.text)).to.deep.equal({ result: 2 })
    const entries = await database.manager.find(HistoryEntry, { order: { id: 'ASC' } })
    expect(entries.map(({ action }) => action)).to.deep.equal([
      'create',
      'trash',
      'create',
      'trash',
      'create',
      'destroy',
      'destroy',
    ])
    expect(entries.at(-1)).to.include({ source: 'POST /act', record_id: entries[2]?.record_id })
  })

  it('hides a value that was stored before its attribute was secret', async () => {
    const { url, database } = await openPages()
    await start(database)
    const one = page('Old')
    await within(async (ctx) => ctx.save(one))
    // Without models, nothing is guarded.
    const past = await open(url, [])
    const changes = [{ attribute: 'password', from: 'planted', to: 'planted too', masked: false }]
    await past.query(`UPDATE history_entries SET changes = '${JSON.stringify(changes)}'`)
    await past.close()
    const response = await within(async (ctx) => {
      const all = await ctx.unscoped.paginate(HistoryEntry)
      return [(await historyOf(ctx, await ctx.find(Page, one.id))).records, all.records]
    })
    expect(response.text).to.include('"masked":true').and.not.include('planted')
  })

  it('names what its table lacks, and the commands that create it', async () => {
    const url = await newDatabase()
    const database = await open(url, [Page, Topic, HistoryEntry])
    await database.synchronize()
    await start(database)
    const runner = database.createQueryRunner()
    await runner.dropTable('history_entries')
    expect(await findTableProblems(database)).to.deep.equal([
      'The table history_entries is missing, so no record with a history can be saved. Run `kit db migrate`. ' +
        'If no migration creates the table, generate it before: `kit generate migration create_history_entries`.',
    ])
    const response = await within(async (ctx) => String(await failure(ctx.save(page('Lost')))))
    expect(response.text)
      .to.include('Nothing was saved')
      .and.include('Run `kit db migrate`.')
      .and.include('kit generate migration create_history_entries')
    expect(await database.manager.count(Page)).to.equal(0)
    const table = historyTable(runner)
    table.indices = []
    table.columns = table.columns.filter(({ name }) => name !== 'reason')
    await runner.createTable(table)
    expect(await findTableProblems(database)).to.deep.equal([
      'The table history_entries lacks the column reason. Add it in a migration, as historyTable(runner) has it.',
      'The table history_entries lacks the index of the pages of a history. Add it in a migration: ' +
        "await runner.createIndex('history_entries', new TableIndex({ columnNames: ['table_name', 'record_id', 'id'] })).",
    ])
    await runner.dropTable('history_entries')
    await runner.createTable(historyTable(runner))
    expect(await findTableProblems(database)).to.deep.equal([])
    await runner.release()
  })

  it('cannot be read or forgotten without a declaration, and ages are durations', async () => {
    const { database } = await openPages()
    await start(database)
    const response = await within(async (ctx) => {
      const topic = Object.assign(new Topic(), { name: 'Law' })
      await ctx.save(topic)
      const wrong = [
        historyOf(ctx, topic),
        Promise.resolve().then(() => forgetHistory(ctx, { record: topic })),
        Promise.resolve().then(() => forgetHistory(ctx, { olderThan: 'long' as '1 day' })),
      ]
      return Promise.all(wrong.map(async (one) => String(await failure(one))))
    })
    const [read, forgotten, age] = JSON.parse(response.text).result
    expect(read).to.include('historyOf() needs a history, but Topic has none.')
    expect(forgotten).to.include('forgetHistory() needs a history, but Topic has none.')
    expect(age).to.include('The `olderThan` of forgetHistory()')
  })
})
