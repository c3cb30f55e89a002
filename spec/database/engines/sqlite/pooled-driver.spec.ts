import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import Sqlite from 'better-sqlite3'
import { Like } from 'typeorm'
import type { QueryRunner } from 'typeorm'
import { explainDatabaseError } from '../../../../src/database/database-errors.js'
import type { Database } from '../../../../src/database/database.js'
import type { PooledSqliteDriver } from '../../../../src/database/engines/sqlite/pooled-driver.js'
import { ServiceUnavailable } from '../../../../src/errors.js'
import { newPost, openBlogDatabase, Post, titlesOf } from '../../../support/applications/blog-database.js'
import { failure } from '../../../support/failure.js'
import { runProcess, startProcess } from '../../../support/processes/second-process.js'
import { inFolder } from '../../../support/temporary-folder.js'

describe('PooledSqliteDriver', () => {
  describe('with 200 concurrent transactions, half of which fail', () => {
    it('keeps exactly the successful half, and hides uncommitted rows', () =>
      withBlog({}, async (database) => {
        const writers = new AbortController()
        const counts: number[] = []
        const readers = Array.from({ length: 4 }, async () => {
          while (!writers.signal.aborted) {
            counts.push(await database.manager.countBy(Post, { title: Like('fails %') }))
            await delay(1)
          }
        })
        const results = await Promise.allSettled(
          Array.from({ length: 200 }, (_, index) =>
            database.transaction(async (tx) => {
              await tx.save(newPost(`${index % 2 === 0 ? 'succeeds' : 'fails'} ${index}`))
              await delay(2)
              if (index % 2 === 1) throw new Error('half of them fail')
            }),
          ),
        )
        writers.abort()
        await Promise.all(readers)

        expect(results.filter(({ status }) => status === 'fulfilled')).to.have.length(100)
        expect(await titlesOf(database)).to.have.members(
          Array.from({ length: 100 }, (_, index) => `succeeds ${index * 2}`),
        )
        expect(counts.length).to.be.greaterThan(50)
        expect(counts.every((count) => count === 0)).to.equal(true)
      }))

    it('keeps exactly the successful half of two processes on one file', () =>
      inFolder(async (folder) => {
        const url = `sqlite:${folder}/blog.sqlite`
        const database = await openBlogDatabase(url)
        const other = runProcess('half', url, '200', 'other')
        const own = await Promise.allSettled(
          Array.from({ length: 200 }, (_, index) =>
            database.transaction(async (tx) => {
              await tx.save(newPost(`own ${index}`))
              await delay(2)
              if (index % 2 === 1) throw new Error('half of them fail')
            }),
          ),
        )
        await other

        const failures = own.flatMap((result) =>
          result.status === 'rejected' ? [String(result.reason)] : [],
        )
        expect(new Set(failures)).to.deep.equal(new Set(['Error: half of them fail']))
        expect(await titlesOf(database)).to.have.members(
          Array.from({ length: 100 }, (_, index) => [`own ${index * 2}`, `other ${index * 2}`]).flat(),
        )
        await database.close()
      }))
  })

  it('fails no request because another one writes', () =>
    withBlog({}, async (database) => {
      const writes = Array.from({ length: 50 }, (_, index) => [
        database.transaction((tx) => tx.save(newPost(`transaction ${index}`))),
        database.manager.save(newPost(`save ${index}`)),
        database.manager.insert(Post, { title: `insert ${index}` }),
        database.manager.find(Post, { take: 1 }),
      ]).flat()
      await Promise.all(writes)
      expect(await database.manager.count(Post)).to.equal(150)
    }))

  it('runs single reads and read transactions while a transaction writes', () =>
    withBlog({ acquireTimeout: 200 }, async (database) => {
      await database.transaction(async (tx) => {
        await tx.save(newPost('not committed'))
        expect(await database.manager.count(Post)).to.equal(0)
        const reader = database.createQueryRunner('slave')
        await reader.startTransaction()
        expect(await reader.manager.count(Post)).to.equal(0)
        await reader.commitTransaction()
        await reader.release()
      })
      expect(await database.manager.count(Post)).to.equal(1)
    }))

  it('gives a read transaction one snapshot of the data, whatever is written in the meantime', () =>
    withBlog({}, (database) =>
      withRunner(database, 'slave', async (reader) => {
        await reader.startTransaction()
        expect(await reader.manager.count(Post)).to.equal(0)
        await database.manager.save(newPost('meanwhile'))
        expect(await reader.manager.count(Post)).to.equal(0)
        await reader.commitTransaction()
        expect(await reader.manager.count(Post)).to.equal(1)
      }),
    ))

  it('allows a read transaction to write in its turn', () =>
    withBlog({}, (database) =>
      withRunner(database, 'slave', async (runner) => {
        const writer = database.transaction(async (tx) => {
          await tx.query('SELECT 1')
          await delay(20)
        })
        await runner.startTransaction()
        await Promise.all([
          runner.query(`INSERT INTO posts (id, title) VALUES ('1', 'one')`),
          runner.query(`INSERT INTO posts (id, title) VALUES ('2', 'two')`),
        ])
        await runner.commitTransaction()
        await writer
        expect(await titlesOf(database)).to.have.members(['one', 'two'])
      }),
    ))

  it('rejects with 503 to write if data has changed since the transaction read it', () =>
    withBlog({}, (database) =>
      withRunner(database, 'slave', async (runner) => {
        await runner.startTransaction()
        await runner.manager.count(Post)
        await database.manager.save(newPost('meanwhile'))
        const error = await failure(runner.manager.insert(Post, { title: 'too late' }))
        expect(error).to.be.instanceOf(ServiceUnavailable)
        await database.manager.save(newPost('nobody waits for it'))
        await runner.rollbackTransaction()
        expect(await titlesOf(database)).to.have.members(['meanwhile', 'nobody waits for it'])
      }),
    ))

  it('rejects with 503, and does not hang, if a transaction waits for itself', () =>
    withBlog({ acquireTimeout: 100 }, async (database) => {
      const error = await failure(
        database.transaction(async (tx) => {
          await tx.save(newPost('inside'))
          await database.manager.save(newPost('outside'))
        }),
      )
      expect(error).to.be.instanceOf(ServiceUnavailable)
      expect(String(error)).to.contain('Waited 0.1 s to write').and.to.contain('ctx.tx')
      await database.manager.save(newPost('afterwards'))
      expect(await titlesOf(database)).to.deep.equal(['afterwards'])
    }))

  it('queues read transactions in order of arrival when all connections are in use', () =>
    withBlog({ pool: 2 }, async (database) => {
      const order: number[] = []
      await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          withRunner(database, 'slave', async (runner) => {
            await runner.startTransaction()
            order.push(index)
            await delay(1)
            await runner.commitTransaction()
          }),
        ),
      )
      expect(order).to.deep.equal(Array.from({ length: 20 }, (_, index) => index))
    }))

  it('rejects with 503 if there is no connection in time; writing is still possible', () =>
    withBlog({ pool: 1, acquireTimeout: 100 }, (database) =>
      withRunner(database, 'slave', async (first) => {
        await first.startTransaction()
        await withRunner(database, 'slave', async (second) => {
          const error = await failure(second.startTransaction())
          expect(error).to.be.instanceOf(ServiceUnavailable)
          expect(second.isTransactionActive).to.equal(false)
        })
        await database.transaction((tx) => tx.save(newPost('written')))
        expect(await database.manager.count(Post)).to.equal(1)
      }),
    ))

  it('rolls back an open transaction when its runner is released', () =>
    withBlog({}, async (database) => {
      await withRunner(database, 'master', async (runner) => {
        await runner.startTransaction()
        await runner.manager.save(newPost('forgotten'))
      })
      await database.manager.save(newPost('afterwards'))
      expect(await titlesOf(database)).to.deep.equal(['afterwards'])
    }))

  it('does not affect others if a runner is released while it waits for its turn', () =>
    withBlog({}, async (database) => {
      const waiting = database.createQueryRunner()
      const first = database.transaction(async (tx) => {
        await tx.save(newPost('first'))
        await delay(20)
      })
      await delay(5)
      const begin = failure(waiting.startTransaction())
      const next = database.transaction(async (tx) => {
        await tx.save(newPost('next'))
        await delay(20)
      })
      await waiting.release()
      await Promise.all([first, next])
      expect(String(await begin)).to.contain('released')
      expect(await titlesOf(database)).to.deep.equal(['first', 'next'])
    }))

  it('uses no connection for a statement whose runner is released before it runs', () =>
    withBlog({ pool: 1 }, async (database) => {
      for (let time = 0; time < 3; time += 1) {
        const runner = database.createQueryRunner('slave')
        const late = failure(runner.query('PRAGMA foreign_keys'))
        await runner.release()
        expect(String(await late)).to.contain('released')
      }
      await withRunner(database, 'slave', async (runner) => {
        await runner.startTransaction()
        expect(await runner.manager.count(Post)).to.equal(0)
        await runner.commitTransaction()
      })
    }))

  it('releases the turn for which one statement waits while others of its runner are done', () =>
    withBlog({}, async (database) => {
      const runner = database.createQueryRunner()
      await runner.connect()
      const other = database.createQueryRunner()
      await other.startTransaction()
      const waiting = runner.manager.insert(Post, { title: 'waits' })
      await delay(10)
      await runner.query('SELECT 1')
      await other.commitTransaction()
      await waiting
      await database.manager.save(newPost('next'))
      await Promise.all([runner.release(), other.release()])
      expect(await titlesOf(database)).to.have.members(['waits', 'next'])
    }))

  it('does nothing for a transaction that was abandoned while its statement waited for the turn to write', () =>
    withBlog({}, async (database) => {
      const runner = database.createQueryRunner('slave')
      await runner.startTransaction()
      await runner.query('SELECT 1')
      const other = database.createQueryRunner()
      await other.startTransaction()
      const waiting = failure(runner.manager.insert(Post, { title: 'given up' }))
      await delay(10)
      await runner.rollbackTransaction()
      const next = database.createQueryRunner('slave')
      await next.startTransaction()
      await other.commitTransaction()
      await waiting
      await next.commitTransaction()
      await database.manager.save(newPost('next'))
      await Promise.all([runner, other, next].map((one) => one.release()))
      expect(await titlesOf(database)).to.deep.equal(['next'])
    }))

  it('commits nothing, and fails with 503, if the disk is full', () =>
    withBlog({}, async (database) => {
      await database.manager.save(newPost('before'))
      const error = await failure(
        database.transaction(async (tx) => {
          await tx.save(newPost('small'))
          await tx.query('PRAGMA max_page_count = 1')
          await tx.save(Object.assign(newPost('large'), { description: 'x'.repeat(1_000_000) }))
        }),
      )
      expect(explainDatabaseError(error)).to.be.instanceOf(ServiceUnavailable)
      expect(await titlesOf(database)).to.deep.equal(['before'])
      await database.query('DELETE FROM posts')
    }))

  it('rejects queries of a runner that has been released', () =>
    withBlog({}, async (database) => {
      const runner = database.createQueryRunner()
      await runner.release()
      expect(String(await failure(runner.query('SELECT 1')))).to.contain('released')
    }))

  it('leaves the connection clean if a commit fails', () =>
    withBlog({}, async (database) => {
      await database.query('CREATE TABLE parents (id INTEGER PRIMARY KEY)')
      await database.query(
        'CREATE TABLE children (id INTEGER, parent_id INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)',
      )
      const error = await failure(
        database.transaction((tx) => tx.query('INSERT INTO children VALUES (1, 1)')),
      )
      expect(String(error)).to.contain('FOREIGN KEY')
      expect(await database.query('SELECT * FROM children')).to.deep.equal([])
      await database.transaction((tx) => tx.save(newPost('afterwards')))
      expect(await titlesOf(database)).to.deep.equal(['afterwards'])
    }))

  it('commits nothing of a transaction that SQLite itself has rolled back', () =>
    withBlog({}, async (database) => {
      await database.manager.save(newPost('first'))
      const error = await failure(
        database.transaction(async (tx) => {
          await tx.save(newPost('second'))
          await failure(tx.query(`INSERT OR ROLLBACK INTO posts (id, title) VALUES ('x', 'first')`))
          await tx.save(newPost('third'))
        }),
      )
      expect(String(error)).to.contain('SQLite rolled back this transaction')
      await database.transaction((tx) => tx.save(newPost('afterwards')))
      expect(await titlesOf(database)).to.have.members(['first', 'afterwards'])
    }))

  it('rolls back only to the savepoint', () =>
    withBlog({}, async (database) => {
      await database.transaction(async (tx) => {
        await tx.save(newPost('outer'))
        await failure(
          tx.transaction(async (inner) => {
            await inner.save(newPost('inner'))
            throw new Error('the inner one fails')
          }),
        )
      })
      expect(await titlesOf(database)).to.deep.equal(['outer'])
    }))

  it('enforces foreign keys, also on a connection on which they were switched off', () =>
    withBlog({ pool: 1 }, async (database) => {
      await withRunner(database, 'master', async (runner) => {
        await runner.query('PRAGMA foreign_keys = OFF')
        expect(await runner.query('PRAGMA foreign_keys')).to.deep.equal([{ foreign_keys: 0 }])
      })
      await withRunner(database, 'master', async (runner) => {
        expect(await runner.query('PRAGMA foreign_keys')).to.deep.equal([{ foreign_keys: 1 }])
      })
    }))

  it('isolates a transaction that is begun in SQL', () =>
    withBlog({}, async (database) => {
      await withRunner(database, 'master', async (runner) => {
        await runner.query('BEGIN')
        await runner.query(`INSERT INTO posts (id, title) VALUES ('1', 'one')`)
        expect(await database.manager.count(Post)).to.equal(0)
        await runner.query('COMMIT')
        expect(await database.manager.count(Post)).to.equal(1)
        await database.manager.save(newPost('two'))
      })
    }))

  it('returns the rows of a statement that writes', () =>
    withBlog({}, async (database) => {
      const rows: unknown = await database.query(
        `INSERT INTO posts (id, title) VALUES ('1', 'one') RETURNING title`,
      )
      expect(rows).to.deep.equal([{ title: 'one' }])
    }))

  it('returns new columns from statements that it has prepared earlier', () =>
    withBlog({}, async (database) => {
      await database.manager.save(newPost('one'))
      await database.query('SELECT * FROM posts')
      await database.query('ALTER TABLE posts ADD COLUMN mood text')
      const [row] = (await database.query('SELECT * FROM posts')) as object[]
      expect(row).to.have.property('mood', null)
    }))

  it('allows other processes to use its WAL file, whose log is written back when it is closed', () =>
    inFolder(async (folder) => {
      const database = await openBlogDatabase(`sqlite:${folder}/blog.sqlite`)
      await database.manager.save(newPost('kept'))
      expect(readdirSync(folder)).to.include('blog.sqlite-wal')
      await database.close()
      expect(readdirSync(folder)).to.deep.equal(['blog.sqlite'])
    }))

  it('waits for the lock of another process, without blocking the event loop', () =>
    inFolder(async (folder) => {
      const database = await openBlogDatabase(`sqlite:${folder}/blog.sqlite`)
      const other = new Sqlite(`${folder}/blog.sqlite`)
      other.exec('BEGIN IMMEDIATE')
      let ticks = 0
      const clock = setInterval(() => (ticks += 1), 5)
      const saved = Promise.all([
        database.manager.save(newPost('single')),
        database.transaction((tx) => tx.save(newPost('in a transaction'))),
      ])
      while (ticks <= 10) await delay(5)
      other.exec('COMMIT')
      await saved
      clearInterval(clock)
      other.close()
      expect(await database.manager.count(Post)).to.equal(2)
      await database.close()
    }))

  it('fails with 503 if another process does not release its lock', () =>
    inFolder(async (folder) => {
      const database = await openBlogDatabase(`sqlite:${folder}/blog.sqlite`, { acquireTimeout: 100 })
      const other = new Sqlite(`${folder}/blog.sqlite`)
      other.exec('BEGIN IMMEDIATE')
      expect(await failure(database.manager.save(newPost('no')))).to.be.instanceOf(ServiceUnavailable)
      expect(await failure(database.query('DELETE FROM posts'))).to.be.instanceOf(ServiceUnavailable)
      other.exec('COMMIT')
      other.close()
      await database.manager.save(newPost('yes'))
      expect(await titlesOf(database)).to.deep.equal(['yes'])
      await database.close()
    }))

  it('waits for its turn and for the lock of another process together for acquireTimeout at most', () =>
    inFolder(async (folder) => {
      const database = await openBlogDatabase(`sqlite:${folder}/blog.sqlite`, { acquireTimeout: 2000 })
      // Each way of writing already has its connection.
      await database.transaction((tx) => tx.query('SELECT 1'))
      const other = new Sqlite(`${folder}/blog.sqlite`)
      const release = await (database.driver as PooledSqliteDriver).pool.acquireWriteLock()
      other.exec('BEGIN IMMEDIATE')
      const ended: string[] = []
      const fail = async (name: string, work: Promise<unknown>): Promise<void> => {
        expect(await failure(work)).to.be.instanceOf(ServiceUnavailable)
        ended.push(name)
      }
      const single = () => database.query(`INSERT INTO posts (id, title) VALUES ('1', 'single')`)
      const start = performance.now()
      const early = [
        fail(
          'early',
          database.transaction((tx) => tx.save(newPost('in a transaction'))),
        ),
        fail('early', single()),
      ]
      await delay(750)
      const late = fail('late', single())
      await delay(750)
      release()
      await Promise.all(early)
      expect(performance.now() - start).to.be.at.least(1980)
      await late
      // With a new acquireTimeout for the lock, the early ones would wait longer than the late one.
      expect(ended).to.deep.equal(['early', 'early', 'late'])
      other.exec('COMMIT')
      other.close()
      await database.close()
    }))

  it('keeps foreign keys enforced on every connection, whatever was set on it', () =>
    withBlog({}, async (database) => {
      await withRunner(database, 'master', async (runner) => {
        await runner.query('PRAGMA foreign_keys = OFF')
        expect(await runner.query('PRAGMA foreign_keys')).to.deep.equal([{ foreign_keys: 0 }])
      })
      await withRunner(database, 'slave', async (runner) => {
        await runner.startTransaction()
        expect(await runner.query('PRAGMA foreign_keys')).to.deep.equal([{ foreign_keys: 1 }])
        await runner.rollbackTransaction()
      })
    }))

  it('returns bigint and decimal columns exactly, as text, and all other types as usual', () =>
    withBlog({}, async (database) => {
      await database.query(
        'CREATE TABLE numbers (big bigint, price decimal(10,2), rate numeric, n int, f real)',
      )
      await database.query('INSERT INTO numbers VALUES (?, ?, ?, ?, ?), (NULL, NULL, NULL, NULL, NULL)', [
        '-9223372036854775808',
        '12.50',
        '0.00000012',
        7,
        1.5,
      ])
      expect(await database.query('SELECT * FROM numbers')).to.deep.equal([
        { big: '-9223372036854775808', price: '12.50', rate: '0.00000012', n: 7, f: 1.5 },
        { big: null, price: null, rate: null, n: null, f: null },
      ])
      expect(await database.query('SELECT count(*) AS n, big AS b FROM numbers WHERE n = 7')).to.deep.equal([
        { n: 1, b: '-9223372036854775808' },
      ])
    }))

  it('returns the fifteen digits of a decimal that it has stored', () =>
    withBlog({}, async (database) => {
      await database.query('CREATE TABLE numbers (large decimal(20,6), small decimal(20,20))')
      const numbers = { large: '123456789012.123000', small: '0.00000000000000012300' }
      await database.query('INSERT INTO numbers VALUES (?, ?)', Object.values(numbers))
      expect(await database.query('SELECT * FROM numbers')).to.deep.equal([numbers])
    }))

  it('continues when another process is killed in the middle of a transaction', () =>
    inFolder(async (folder) => {
      const url = `sqlite:${folder}/blog.sqlite`
      const database = await openBlogDatabase(url)
      const other = startProcess('hold', url)
      await once(other.stdout, 'data')
      const saved = database.manager.save(newPost('own'))
      await delay(50)
      other.kill('SIGKILL')
      await saved
      expect(await titlesOf(database)).to.deep.equal(['own'])
      await database.close()
    }))

  describe('in memory', () => {
    it('shows the same data to every connection, and leaves no file', async () => {
      const database = await openBlogDatabase('sqlite::memory:')
      const [{ file }] = (await database.query('PRAGMA database_list')) as [{ file: string }]
      await database.transaction(async (tx) => {
        await tx.save(newPost('inside'))
        expect(await database.manager.count(Post)).to.equal(0)
      })
      expect(await database.manager.count(Post)).to.equal(1)
      expect(existsSync(file)).to.equal(true)
      await database.close()
      expect(existsSync(file)).to.equal(false)
    })

    it('opens a separate database each time', async () => {
      const [first, second] = await Promise.all([
        openBlogDatabase('sqlite::memory:'),
        openBlogDatabase('sqlite::memory:'),
      ])
      await first.manager.save(newPost('first'))
      expect(await second.manager.count(Post)).to.equal(0)
      await Promise.all([first.close(), second.close()])
    })
  })

  it('ends pending work when it is closed', () =>
    inFolder(async (folder) => {
      const url = `sqlite:${folder}/blog.sqlite`
      const database = await openBlogDatabase(url)
      const runner = database.createQueryRunner()
      await runner.startTransaction()
      await runner.manager.save(newPost('pending'))
      const waiting = failure(database.manager.save(newPost('waiting')))
      await delay(5)
      await database.close()
      expect(String(await waiting)).to.contain('closed')
      await runner.release()

      await database.open()
      expect(await titlesOf(database)).to.deep.equal([])
      await database.manager.save(newPost('anew'))
      await database.close()
    }))
})

async function withBlog(
  settings: { pool?: number; acquireTimeout?: number },
  work: (database: Database) => Promise<void>,
): Promise<void> {
  await inFolder(async (folder) => {
    const database = await openBlogDatabase(`sqlite:${folder}/blog.sqlite`, settings)
    try {
      await work(database)
    } finally {
      await database.close()
    }
  })
}

async function withRunner(
  database: Database,
  mode: 'master' | 'slave',
  work: (runner: QueryRunner) => Promise<void>,
): Promise<void> {
  const runner = database.createQueryRunner(mode)
  try {
    await work(runner)
  } finally {
    await runner.release()
  }
}
