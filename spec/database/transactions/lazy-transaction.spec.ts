import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import type { EntityManager, QueryRunner } from 'typeorm'
import type { Database } from '../../../src/database/database.js'
import { explainDatabaseError } from '../../../src/database/database-errors.js'
import { createRunner } from '../../../src/database/engines/mode.js'
import type { Open } from '../../../src/database/transactions/opening.js'
import { saveRecord } from '../../../src/records/save.js'
import { LazyTransaction, type LazyOptions } from '../../../src/database/transactions/lazy-transaction.js'
import { ServiceUnavailable, TransactionAlreadyBegun, TransactionConflict } from '../../../src/errors.js'
import { blogDatabase, newPost, openBlogDatabase, Post } from '../../support/applications/blog-database.js'
import { newDatabase } from '../../support/databases.js'
import { engine } from '../../support/engine.js'
import { failure } from '../../support/failure.js'
import { newShelf, Shelf, withLibrary } from '../../support/applications/library.js'
import { findRecordBy as findBy } from '../../support/records.js'

describe('new LazyTransaction(database, mode, { onIdle })', () => {
  let database: Database

  before(async () => (database = await openBlogDatabase()))
  after(() => database.close())

  /** The calls of `onIdle` for a transaction with a clock that the work sets. */
  async function idleOf(
    work: (lazy: LazyTransaction, pass: (milliseconds: number) => void) => Promise<void>,
  ): Promise<number[]> {
    const idle: number[] = []
    let now = 0
    const onIdle = (milliseconds: number) => idle.push(milliseconds)
    const lazy = new LazyTransaction(database, 'write', { onIdle, now: () => now })
    await work(lazy, (milliseconds) => (now += milliseconds))
    return idle
  }

  it('calls back once, with the longest time between two statements', async () => {
    const idle = await idleOf(async (lazy, pass) => {
      await lazy.manager.save(newPost('one'))
      for (const time of [50, 250, 100]) {
        pass(time)
        await lazy.manager.count(Post)
      }
      await lazy.commit()
      await lazy.rollback()
    })
    expect(idle).to.deep.equal([250])
  })

  it('counts the time before the commit, and before a rollback', async () => {
    for (const end of ['commit', 'rollback'] as const) {
      const idle = await idleOf(async (lazy, pass) => {
        await lazy.manager.count(Post)
        pass(120)
        await lazy[end]()
      })
      expect(idle, end).to.deep.equal([120])
    }
  })

  it('does not count the time before the first statement, nor that of a statement', async () => {
    const idle = await idleOf(async (lazy, pass) => {
      pass(500)
      const count = lazy.manager.count(Post)
      pass(500)
      await count
      await lazy.commit()
    })
    expect(idle).to.deep.equal([0])
  })

  it('does not count while another statement is running', async () => {
    const idle = await idleOf(async (lazy, pass) => {
      const counts = [lazy.manager.count(Post), lazy.manager.count(Post)]
      await counts[0]
      await counts[1]
      pass(30)
      await lazy.commit()
    })
    expect(idle).to.deep.equal([30])
  })
})

describe('new LazyTransaction(database, mode, { open })', () => {
  let database: Database

  before(async () => (database = await openBlogDatabase()))
  after(() => database.close())

  /** Opens a server whose connections are those of the database, and collects the reports that it receives. */
  function server() {
    const told: string[] = []
    const runners: QueryRunner[] = []
    const open: Open = async (primary, { replica }) => {
      told.push(`open, replica: ${replica}`)
      await delay(1)
      const runner = createRunner(database, 'write')
      runners.push(primary, runner)
      return {
        runner,
        isReplica: false,
        note: () => void told.push('note'),
        async commit(hasWritten) {
          told.push(`commit, hasWritten: ${hasWritten}`)
          await runner.commitTransaction()
        },
        end: async () => void told.push('end'),
        fail: () => void told.push('fail'),
      }
    }
    return { told, runners, open }
  }

  it('opens its server once, before it takes a connection, and uses its connection only', async () => {
    const { told, runners, open } = server()
    const lazy = new LazyTransaction(database, 'write', { open })
    lazy.configure({ replica: true })
    expect(told).to.deep.equal([])
    const { manager } = lazy
    await Promise.all([manager.insert(Post, newPost('one')), manager.insert(Post, newPost('two'))])
    expect(told).to.deep.equal(['open, replica: true'])
    const [primary, other] = runners
    expect([lazy.runner === other, other?.isTransactionActive, primary?.isTransactionActive]).to.deep.equal([
      true,
      true,
      false,
    ])
    await lazy.commit()
    expect(told).to.deep.equal(['open, replica: true', 'commit, hasWritten: true'])
    expect(other?.isReleased).to.equal(true)
    expect(await database.manager.countBy(Post, {})).to.equal(2)
  })

  it('tells the server of errors and of a rollback, and opens none without a statement', async () => {
    const { told, open } = server()
    await new LazyTransaction(database, 'write', { open }).commit()
    expect(told).to.deep.equal([])
    const lazy = new LazyTransaction(database, 'write', { open })
    await failure(lazy.manager.query('SELECT * FROM missing_table'))
    await lazy.rollback()
    expect(told).to.deep.equal(['open, replica: undefined', 'note', 'fail'])
  })
})

describe('transaction(database, { idleLimit })', () => {
  const warnings = (log: { lines: object[] }) =>
    log.lines.filter((line) => /left its transaction idle/.test(String(Reflect.get(line, 'msg'))))

  it('logs a transaction that is idle for longer, with its handler', () =>
    withLibrary({ idleLimit: 0 }, async ({ site, database, log, handle }) => {
      await newShelf(database)
      handle(async (ctx) => {
        await ctx.tx.count(Shelf)
        // On a busy machine, the process may compute for the whole delay.
        const { idle } = performance.eventLoopUtilization()
        do await delay(20)
        while (performance.eventLoopUtilization().idle === idle)
        await ctx.tx.count(Shelf)
        ctx.body = 'done'
      })
      expect((await site.get('/')).status).to.equal(200)
      const [warning] = warnings(log)
      expect(warning).to.include({ level: 40, handler: 'anonymous' })
      expect(Reflect.get(Object(warning), 'ms')).to.be.a('number')
    }))

  it('does not count the time in which the process computes', () =>
    withLibrary({ idleLimit: 100 }, async ({ site, database, log, handle }) => {
      await newShelf(database)
      handle(async (ctx) => {
        await ctx.tx.count(Shelf)
        const end = performance.now() + 200
        while (performance.now() < end);
        ctx.body = 'done'
      })
      expect((await site.get('/')).status).to.equal(200)
      expect(warnings(log)).to.deep.equal([])
    }))

  it('logs nothing for a request without queries, or outside of development', async () => {
    await withLibrary({ idleLimit: 0 }, async ({ site, log, handle }) => {
      handle((ctx) => void (ctx.body = 'done'))
      await site.get('/')
      expect(warnings(log)).to.deep.equal([])
    })
    await withLibrary({}, async ({ site, log, handle }) => {
      handle(async (ctx) => {
        await ctx.tx.count(Shelf)
        await new Promise(setImmediate)
        ctx.body = 'done'
      })
      await site.get('/')
      expect(warnings(log)).to.deep.equal([])
    })
  })
})

describe('The statements of a transaction', () => {
  let database: Database

  beforeEach(async () => {
    database = await openBlogDatabase()
    await database.manager.save(newPost('one'))
  })
  afterEach(() => database.close())

  /** The first words of the statements that some work sends, in a request that reads or writes. */
  async function statementsOf(
    mode: 'read' | 'write',
    work: (lazy: LazyTransaction) => Promise<unknown>,
    options: LazyOptions = {},
  ): Promise<string[]> {
    const asked: string[] = []
    const { logger } = database
    const logQuery = (query: string) => asked.push(query.replace(/^START/, 'BEGIN').split(' ')[0] ?? '')
    database.logger = { ...logger, logQuery, logQueryError: () => undefined } as never
    try {
      const lazy = new LazyTransaction(database, mode, options)
      await work(lazy)
      await lazy.commit()
    } finally {
      database.logger = logger
    }
    return options.maxWait ? asked : asked.filter((word) => word !== 'SET')
  }

  it('of a request that only reads records do not include its begin on PostgreSQL', async () => {
    const asked = await statementsOf('read', async ({ manager }) => {
      await findBy(manager, Post, { title: 'one' })
      await findBy(manager, Post, { title: 'one' })
    })
    expect(asked).to.deep.equal(
      engine === 'postgres' ? ['SELECT', 'SELECT'] : ['BEGIN', 'SELECT', 'SELECT', 'COMMIT'],
    )
  })

  if (engine === 'postgres')
    it('of a request that only reads records do not limit the wait for locks late in the request', async () => {
      const read = ({ manager }: LazyTransaction) => findBy(manager, Post, { title: 'one' })
      expect(await statementsOf('read', read, { waited: 9_999, maxWait: 10_000 })).to.deep.equal(['SELECT'])
    })

  it('begin it before a write, a lock, or a statement of the application', async () => {
    for (const work of [
      (tx: EntityManager) => tx.query('SELECT 1'),
      (tx: EntityManager) => findBy(tx, Post, { title: 'one' }, { lock: true }),
      (tx: EntityManager) => tx.insert(Post, { ...newPost('two'), id: crypto.randomUUID() }),
    ]) {
      const asked = await statementsOf('read', async ({ manager }) => {
        await findBy(manager, Post, { title: 'one' })
        await work(manager)
        await findBy(manager, Post, { title: 'one' })
      })
      const order = asked.filter((word) => word === 'BEGIN' || word === 'COMMIT' || word === 'SELECT')
      const [before, last] = engine === 'postgres' ? ['SELECT', 'BEGIN'] : ['BEGIN', 'SELECT']
      expect(order.slice(0, 2)).to.deep.equal([before, last])
      expect(order.at(-1)).to.equal('COMMIT')
    }
  })

  it('begin it before the first read at another isolation level, and in a request that writes', async () => {
    const read = ({ manager }: LazyTransaction) => findBy(manager, Post, { title: 'one' })
    const whole = ['BEGIN', 'SELECT', 'COMMIT']
    expect(await statementsOf('write', read)).to.deep.equal(whole)
    expect(await statementsOf('read', read, { isolation: 'REPEATABLE READ' })).to.deep.equal(whole)
  })

  if (engine === 'postgres') {
    it('begin it before the first read if another isolation level is the default of the database', async () => {
      const url = await newDatabase()
      const admin = await openBlogDatabase(url)
      await admin.query(
        `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_isolation = 'repeatable read'`,
      )
      await admin.close()
      await database.close()
      database = await blogDatabase(url).open()
      await database.manager.save(newPost('one'))
      const asked = await statementsOf('read', ({ manager }) => findBy(manager, Post, { title: 'one' }))
      expect(asked).to.deep.equal(['BEGIN', 'SELECT', 'COMMIT'])
    })
  }

  it('cannot be configured after the first read', async () => {
    const lazy = new LazyTransaction(database, 'read')
    await findBy(lazy.manager, Post, { title: 'one' })
    expect(() => lazy.configure({ readOnly: true })).to.throw(TransactionAlreadyBegun)
    await lazy.rollback()
    await failure(findBy(lazy.manager, Post, { title: 'one' }))
  })

  it('have no savepoint at the beginning, because the whole transaction can be undone', async () => {
    const asked = await statementsOf('write', async ({ manager }) => {
      const insert = (title: string) => manager.transaction((inner) => inner.insert(Post, newPost(title)))
      await failure(manager.transaction((inner) => inner.query('SELECT nothing FROM nowhere')))
      await insert('kept')
      await failure(insert('kept'))
      await insert('kept, too')
    })
    expect(asked.filter((word) => word !== 'SELECT').join(' ')).to.equal(
      'BEGIN ROLLBACK BEGIN INSERT SAVEPOINT INSERT ROLLBACK SAVEPOINT INSERT RELEASE COMMIT',
    )
    expect(await database.manager.count(Post)).to.equal(3)
  })
})

describe('new LazyTransaction(database, mode, { waited, maxWait })', () => {
  // The database itself would wait for a minute.
  const settings = { pool: 2, acquireTimeout: 60_000 }
  const late = { waited: 9_999, maxWait: 10_000 }

  /** Runs work while another transaction has locked the record, and holds a connection. */
  async function whileLocked(
    pool: number,
    work: (database: Database, shelf: Shelf) => Promise<void>,
  ): Promise<void> {
    await withLibrary({ settings: { ...settings, pool } }, async ({ database }) => {
      const shelf = await newShelf(database)
      const other = new LazyTransaction(database, 'write')
      await other.manager.increment(Shelf, { id: shelf.id }, 'count', 1)
      try {
        await work(database, shelf)
      } finally {
        await other.rollback()
      }
      // All connections are free again, and they wait as long as before.
      await Promise.all(
        Array.from({ length: pool }, () =>
          database.transaction(async (tx) => {
            await tx.increment(Shelf, { id: shelf.id }, 'count', 1)
            if (engine === 'sqlite') return
            const setting = engine === 'postgres' ? 'lock_timeout' : '@@innodb_lock_wait_timeout'
            const [row]: object[] = await tx.query(
              engine === 'postgres' ? `SHOW ${setting}` : `SELECT ${setting}`,
            )
            expect(Object.values(row ?? {}).map(String)).to.deep.equal([
              engine === 'postgres' ? '1min' : '60',
            ])
          }),
        ),
      )
    })
  }

  it('waits for a connection, or the write lock of SQLite, for the rest of the time', () =>
    whileLocked(1, async (database) => {
      const lazy = new LazyTransaction(database, 'write', late)
      expect(await failure(lazy.manager.count(Shelf))).to.be.instanceOf(TransactionConflict)
      await lazy.rollback()
    }))

  it('waits for the lock of a record for the rest of the time', function () {
    // A transaction that writes begins with the lock.
    if (engine === 'sqlite') this.skip()
    return whileLocked(2, async (database, shelf) => {
      const lazy = new LazyTransaction(database, 'write', late)
      const error = await failure(lazy.manager.increment(Shelf, { id: shelf.id }, 'count', 1))
      expect(explainDatabaseError(error)).to.be.instanceOf(ServiceUnavailable)
      await lazy.rollback()
    })
  })

  describe('undoes a savepoint whose statement has waited for a lock and then failed', () => {
    /** Inserts a second post with the title of another transaction's, once that one has ended, and undoes the insert. */
    const inserts: Record<string, (lazy: LazyTransaction) => Promise<unknown>> = {
      'of a save': ({ manager }) => saveRecord({ tx: manager, scopeFor: () => undefined }, newPost('taken')),
      'of tx.transaction': ({ manager }) =>
        failure(manager.transaction((inner) => inner.insert(Post, newPost('taken')))),
      'of a savepoint in a savepoint': ({ manager }) =>
        manager.transaction((outer) =>
          failure(outer.transaction((inner) => inner.insert(Post, newPost('taken')))),
        ),
    }

    let database: Database

    before(async function () {
      // Its transactions wait before their first statement.
      if (engine === 'sqlite') this.skip()
      database = await openBlogDatabase(undefined, settings)
    })
    after(() => database?.close())

    for (const [where, insert] of Object.entries(inserts))
      for (const isFirst of [true, false])
        it(`${where}, as the ${isFirst ? 'first' : 'second'} statement`, async () => {
          const other = new LazyTransaction(database, 'write')
          const lazy = new LazyTransaction(database, 'write', { maxWait: 10_000 })
          try {
            await other.manager.insert(Post, newPost('taken'))
            if (!isFirst) await lazy.manager.insert(Post, newPost('kept'))
            const inserting = insert(lazy)
            // A wait of more than a second shortens the limit of the later ones.
            await delay(1100)
            await other.commit()
            await inserting
            expect(await lockTimeout(lazy), 'seconds to wait for later locks').to.be.lessThan(10)
            await lazy.manager.insert(Post, newPost('later'))
            await lazy.commit()
            const titles = (await database.manager.find(Post)).map(({ title }) => title).toSorted()
            expect(titles).to.deep.equal(isFirst ? ['later', 'taken'] : ['kept', 'later', 'taken'])
          } finally {
            await other.rollback()
            await lazy.rollback()
            await database.manager.deleteAll(Post)
          }
        })

    /** The seconds for which the statements of a transaction wait for locks. */
    async function lockTimeout({ manager }: LazyTransaction): Promise<number> {
      const sql =
        engine === 'postgres'
          ? "SELECT extract(epoch FROM current_setting('lock_timeout')::interval) AS seconds"
          : 'SELECT @@innodb_lock_wait_timeout AS seconds'
      const [row]: { seconds: unknown }[] = await manager.query(sql)
      return Number(row?.seconds)
    }
  })
})
