import { EventEmitter, once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import Koa from 'koa'
import { pino } from 'pino'
import type { EntityManager } from 'typeorm'
import type { Context } from '../../../src/context.js'
import type { Database } from '../../../src/database/database.js'
import { transactionOf } from '../../../src/database/transactions/request-transaction.js'
import { HttpError, NotAwaited, ServiceUnavailable, ValidationErrors } from '../../../src/errors.js'
import { transaction } from '../../../src/middleware/transaction/transaction.js'
import { chain } from '../../../src/routing/chain.js'
import {
  blogDatabase,
  Comment,
  newPost,
  openBlogDatabase,
  Post,
  titlesOf,
} from '../../support/applications/blog-database.js'
import { newDatabase } from '../../support/databases.js'
import { engine } from '../../support/engine.js'
import { failure } from '../../support/failure.js'
import { saveRecord } from '../../support/records.js'

describe('transaction(database)', () => {
  const listeners = new Map<string, number>()
  before(() => {
    for (const event of ['unhandledRejection', 'uncaughtException', 'rejectionHandled'])
      listeners.set(event, process.listenerCount(event))
  })

  it('commits when the handler ends with a status below 400', () =>
    withApp({}, async ({ handle, request, database }) => {
      handle(async (ctx) => {
        await ctx.tx.save(newPost('one'))
        ctx.status = 303
      })
      expect(await request('POST')).to.equal(303)
      expect(await database.manager.count(Post)).to.equal(1)
    }))

  it('rolls back when the handler ends with a status of 400 or above, or with none', () =>
    withApp({}, async ({ handle, request, database }) => {
      for (const status of [400, 422, 500, undefined]) {
        handle(async (ctx) => {
          await ctx.tx.save(newPost('one'))
          if (status) ctx.status = status
        })
        expect(await request('POST')).to.equal(status ?? 404)
      }
      expect(await database.manager.count(Post)).to.equal(0)
    }))

  it('rolls back when the handler throws', () =>
    withApp({}, async ({ handle, request, database, errors }) => {
      handle(async (ctx) => {
        await ctx.tx.save(newPost('one'))
        throw new HttpError(402, 'pay first')
      })
      expect(await request('POST')).to.equal(402)
      expect(String(errors[0])).to.contain('pay first')
      expect(await database.manager.count(Post)).to.equal(0)
    }))

  it('begins with the first query: a request without queries uses no connection', () =>
    withApp({}, async ({ handle, request, database }) => {
      handle((ctx) => void (ctx.status = 204))
      await database.close()
      expect(await request('POST')).to.equal(204)
    }))

  it('is one transaction, whatever the handler calls', () =>
    withApp({}, async ({ handle, request, database }) => {
      handle(async (ctx) => {
        await ctx.tx.save(newPost('one'))
        await ctx.tx.getRepository(Post).save([newPost('two'), newPost('three')])
        await ctx.tx.createQueryBuilder().insert().into(Post).values({ title: 'four' }).execute()
        await ctx.tx.query('SELECT 1')
        expect(await ctx.tx.count(Post)).to.equal(4)
        expect(await database.manager.count(Post)).to.equal(0)
        ctx.status = 500
      })
      await request('POST')
      expect(await database.manager.count(Post)).to.equal(0)
    }))

  it('creates a savepoint for a nested transaction', () =>
    withApp({}, async ({ handle, request, database }) => {
      handle(async (ctx) => {
        await failInSavepoint(ctx.tx)
        await ctx.tx.transaction((inner) => inner.save(newPost('outer')))
        ctx.status = 200
      })
      expect(await request('POST')).to.equal(200)
      expect(await titlesOf(database)).to.deep.equal(['outer'])
    }))

  it('rolls back what follows a savepoint that was rolled back', () =>
    withApp({}, async ({ handle, request, database }) => {
      handle(async (ctx) => {
        await failInSavepoint(ctx.tx)
        await ctx.tx.insert(Post, newPost('outer'))
        ctx.status = 500
      })
      expect(await request('POST')).to.equal(500)
      expect(await titlesOf(database)).to.deep.equal([])
    }))

  it('rolls back a savepoint that the handler has left open', () =>
    withApp({}, async ({ handle, request, database }) => {
      handle(async (ctx) => {
        await ctx.tx.insert(Post, newPost('outer'))
        await ctx.tx.queryRunner?.startTransaction()
        await ctx.tx.insert(Post, newPost('inner'))
        ctx.status = 200
      })
      expect(await request('POST')).to.equal(200)
      expect(await titlesOf(database)).to.deep.equal(['outer'])
    }))

  it('continues after a record that the database has rejected', () =>
    withApp({}, async ({ handle, request, database }) => {
      await database.manager.save(newPost('taken'))
      handle(async (ctx) => {
        const errors = await saveRecord(ctx.tx, newPost('taken'))
        expect(errors?.status).to.equal(409)
        await saveRecord(ctx.tx, newPost('free'))
        ctx.status = 200
      })
      expect(await request('POST')).to.equal(200)
      expect(await titlesOf(database)).to.have.members(['taken', 'free'])
    }))

  it('keeps records that are saved concurrently with rejected ones', () =>
    withApp({}, async ({ handle, request, database }) => {
      handle(async (ctx) => {
        const names = ['a', 'b', 'a', 'c', 'b', 'd', 'a']
        const results = await Promise.all(names.map((name) => saveRecord(ctx.tx, newPost(name))))
        expect(results.map((errors) => errors?.status ?? 200)).to.deep.equal([
          200, 200, 409, 200, 409, 200, 409,
        ])
        ctx.status = 200
      })
      expect(await request('POST')).to.equal(200)
      expect(await titlesOf(database)).to.have.members(['a', 'b', 'c', 'd'])
    }))

  it('commits before the response is sent', () =>
    withApp({}, async ({ handle, request, database }) => {
      handle(async (ctx) => {
        await ctx.tx.save(newPost('one'))
        ctx.body = 'saved'
      })
      await request('POST')
      expect(await database.manager.count(Post)).to.equal(1)
    }))

  // MariaDB has no deferred constraints.
  if (engine !== 'mariadb') {
    it('is an error if the commit fails', async () =>
      withApp({ url: await newDatabase() }, async ({ handle, request, database, errors }) => {
        await database.query('CREATE TABLE parents (id INTEGER PRIMARY KEY)')
        await database.query(
          'CREATE TABLE children (parent_id INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)',
        )
        handle(async (ctx) => {
          await ctx.tx.query('INSERT INTO children VALUES (1)')
          ctx.body = 'saved'
        })
        expect(await request('POST')).to.equal(422)
        expect(errors[0]).to.be.instanceOf(ValidationErrors)
        expect(await database.query('SELECT * FROM children')).to.deep.equal([])
        handle((ctx) => ok(ctx, ctx.tx.save(newPost('afterwards'))))
        expect(await request('POST')).to.equal(200)
      }))
  }

  it('translates errors of the database', () =>
    withApp({}, async ({ handle, request, database, errors }) => {
      await database.manager.save(newPost('taken'))
      handle((ctx) => ok(ctx, ctx.tx.save(newPost('taken'))))
      expect(await request('POST')).to.equal(409)
      expect((errors[0] as ValidationErrors).messages).to.deep.equal({
        title: ['Title has already been taken.'],
      })
    }))

  it('never makes GET and HEAD wait for a writer', () =>
    withApp({ acquireTimeout: 1500 }, async ({ handle, request, database }) => {
      handle((ctx) => ok(ctx, ctx.tx.count(Post)))
      await database.transaction(async (tx) => {
        await tx.save(newPost('not committed'))
        expect(await request('GET')).to.equal(200)
        expect(await request('HEAD')).to.equal(200)
        // On SQLite a writer waits for the other one; a server locks single rows.
        expect(await request('POST')).to.equal(engine === 'sqlite' ? 503 : 200)
      })
      expect(await request('POST')).to.equal(200)
    }))

  it('allows GET to write', () =>
    withApp({}, async ({ handle, request, database }) => {
      handle((ctx) => ok(ctx, ctx.tx.save(newPost('seen'))))
      expect(await request('GET')).to.equal(200)
      expect(await titlesOf(database)).to.deep.equal(['seen'])
    }))

  it('serves 200 concurrent requests that write, half of which fail, and loses none', () =>
    withApp({}, async ({ handle, request, database }) => {
      handle(async (ctx) => {
        await ctx.tx.save(newPost(ctx.path))
        await delay(2)
        ctx.status = Number(ctx.path.slice(1)) % 2 === 0 ? 201 : 500
      })
      const statuses = await Promise.all(
        Array.from({ length: 200 }, (_, index) => request(index % 3 === 0 ? 'GET' : 'POST', `/${index}`)),
      )
      const answered = statuses.flatMap((status, index) => (status === 201 ? [`/${index}`] : []))
      expect(await titlesOf(database)).to.have.members(answered)
      // A GET that writes may have read rows that have changed in the meantime. A request that declares its writes never fails for that reason.
      const posts = statuses.filter((_, index) => index % 3 !== 0 && index % 2 === 0)
      expect(new Set(posts)).to.deep.equal(new Set([201]))
    }))

  it('rejects its manager after the request, instead of writing outside of a transaction', () =>
    withApp({}, async ({ handle, request, database }) => {
      let kept: EntityManager | undefined
      let late: Promise<unknown> | undefined
      const response = new EventEmitter()
      handle((ctx) => {
        kept = ctx.tx
        late = failure(once(response, 'received').then(() => ctx.tx.save(newPost('late'))))
        ctx.status = 200
      })
      expect(await request('POST')).to.equal(200)
      response.emit('received')
      expect(String(await late)).to.contain('transaction of this request has ended')
      expect(String(await failure(kept?.query('SELECT 1') ?? Promise.resolve()))).to.contain('has ended')
      expect(String(await failure(kept?.transaction(async () => {}) ?? Promise.resolve()))).to.contain(
        'ended',
      )
      expect(await database.manager.count(Post)).to.equal(0)
    }))

  describe('when work is not awaited', () => {
    const forgotten: Record<string, (ctx: Context) => unknown> = {
      'ctx.tx.save': (ctx) => ctx.tx.save(newPost('forgotten')),
      'ctx.tx.insert': (ctx) => ctx.tx.insert(Post, { title: 'forgotten' }),
      'ctx.tx.query': (ctx) => ctx.tx.query('SELECT 1'),
      'a repository': (ctx) => ctx.tx.getRepository(Post).save(newPost('forgotten')),
      'ctx.tx.transaction': (ctx) => ctx.tx.transaction((inner) => inner.save(newPost('forgotten'))),
      saveRecord: (ctx) => transactionOf(ctx)?.work.run(() => saveRecord(ctx.tx, newPost('forgotten'))),
      'a query builder': (ctx) =>
        ctx.tx.createQueryBuilder().insert().into(Post).values({ title: 'forgotten' }).execute(),
      'a query builder of a repository': (ctx) =>
        ctx.tx
          .getRepository(Post)
          .createQueryBuilder()
          .insert()
          .values({ title: 'forgotten' })
          .clone()
          .execute(),
      'a query of a repository': (ctx) => ctx.tx.getRepository(Post).find(),
      'a query of the query runner': (ctx) => ctx.tx.queryRunner?.query('SELECT 1'),
      'a stream': (ctx) => ctx.tx.queryRunner?.stream('SELECT 1'),
      'a promise with then': (ctx) => ctx.tx.save(newPost('forgotten')).then(({ id }) => id),
      'a promise with finally': (ctx) => ctx.tx.save(newPost('forgotten')).finally(() => {}),
      // The rejection of the function's own promise would end the process, as in every program of Node.
      'a function that handles its errors': (ctx) => {
        const notify = async () => {
          await ctx.tx.save(newPost('forgotten'))
          await delay(20)
          await ctx.tx.save(newPost('late'))
        }
        void notify().catch(() => {})
      },
    }
    for (const [what, forget] of Object.entries(forgotten)) {
      it(`is an error that names the missing await, and saves nothing: ${what}`, () =>
        withUnhandled((unhandled) =>
          withApp({}, async ({ handle, request, database, errors }) => {
            handle(async (ctx) => {
              await ctx.tx.save(newPost('awaited'))
              forget(ctx)
              ctx.status = 201
            })
            expect(await request('POST')).to.equal(500)
            expect(errors[0]).to.be.instanceOf(NotAwaited)
            expect(String(errors[0])).to.contain('Await every ctx.authorize, ctx.save')
            await delay(40)
            expect(await titlesOf(database)).to.deep.equal([])
            expect(unhandled).to.deep.equal([])
            handle((ctx) => ok(ctx, ctx.tx.save(newPost('next'))))
            expect(await request('POST')).to.equal(200)
          }),
        ))
    }

    it('is also an error if the work has already failed', () =>
      withUnhandled((unhandled) =>
        withApp({}, async ({ handle, request, database, errors, logged }) => {
          await database.manager.save(newPost('taken'))
          handle(async (ctx) => {
            void ctx.tx.save(newPost('taken'))
            // A connection runs its statements one after the other: the save has failed before the last one of these ends.
            for (let more = 0; more < 10; more += 1) await ctx.tx.query('SELECT 1').catch(() => undefined)
            ctx.status = 201
          })
          expect(await request('POST')).to.equal(500)
          expect(errors[0]).to.be.instanceOf(NotAwaited)
          expect(String(logged[0])).to.match(/UNIQUE constraint failed|duplicate/i)
          expect(unhandled).to.deep.equal([])
        }),
      ))

    it('is logged, and does not end the process, if the work starts after the response', () =>
      withUnhandled((unhandled) =>
        withApp({}, async ({ handle, request, database, logged }) => {
          const response = new EventEmitter()
          handle(async (ctx) => {
            response.once('received', () => ctx.tx.save(newPost('late')))
            response.once('received', () => ctx.tx.createQueryBuilder().delete().from(Post).execute())
            await ctx.tx.save(newPost('awaited'))
            ctx.status = 201
          })
          expect(await request('POST')).to.equal(201)
          response.emit('received')
          while (logged.length < 2) await delay(5)
          expect(String(logged[0])).to.contain('has ended')
          expect(unhandled).to.deep.equal([])
          expect(await titlesOf(database)).to.deep.equal(['awaited'])
        }),
      ))

    it('is not an error if the handler awaits it later', () =>
      withUnhandled((unhandled) =>
        withApp({}, async ({ handle, request, database, errors }) => {
          await database.manager.save(newPost('taken'))
          handle(async (ctx) => {
            const saving = ctx.tx.save(newPost('taken'))
            const caught = saving.catch(String)
            await ctx.tx.query('SELECT 1').catch(() => undefined)
            await caught
            await saving
          })
          expect(await request('POST')).to.equal(409)
          expect(errors[0]).to.be.instanceOf(ValidationErrors)
          expect(unhandled).to.deep.equal([])
        }),
      ))

    it('adds no listener to the process', () =>
      withApp({}, async () => {
        for (const event of ['unhandledRejection', 'uncaughtException', 'rejectionHandled'])
          expect(process.listenerCount(event)).to.equal(listeners.get(event), event)
      }))

    it('changes nothing if the request has already failed', () =>
      withApp({}, async ({ handle, request, database, errors }) => {
        await database.manager.save(newPost('taken'))
        handle((ctx) =>
          ok(ctx, Promise.all([ctx.tx.save(newPost('taken')), ctx.tx.save(newPost('a')), ctx.tx.find(Post)])),
        )
        expect(await request('POST')).to.equal(409)
        expect(errors[0]).to.be.instanceOf(ValidationErrors)
        expect(await titlesOf(database)).to.deep.equal(['taken'])
      }))
  })

  describe('when work is concurrent', () => {
    it('keeps records outside of a savepoint that is rolled back', () =>
      withApp({}, async ({ handle, request, database }) => {
        handle(async (ctx) => {
          const fails = (title: string) =>
            failure(
              ctx.tx.transaction(async (inner) => {
                await inner.save(newPost(title))
                await delay(5)
                await inner.query('SELECT 1')
                throw new Error('rolled back')
              }),
            )
          await Promise.all([
            ctx.tx.save(newPost('a')),
            fails('x'),
            ctx.tx.save(newPost('b')),
            fails('y'),
            delay(2).then(() => ctx.tx.save(newPost('c'))),
            ctx.tx.createQueryBuilder().insert().into(Post).values({ title: 'd' }).execute(),
          ])
          ctx.status = 201
        })
        expect(await request('POST')).to.equal(201)
        expect(await titlesOf(database)).to.have.members(['a', 'b', 'c', 'd'])
      }))

    it('keeps records that are saved concurrently with rejected ones', () =>
      withApp({}, async ({ handle, request, database }) => {
        await database.manager.save(newPost('taken'))
        handle(async (ctx) => {
          await Promise.all([
            saveRecord(ctx.tx, newPost('taken')),
            ctx.tx.save(newPost('a')),
            saveRecord(ctx.tx, newPost('taken')),
            ctx.tx.save(newPost('b')),
          ])
          ctx.status = 201
        })
        expect(await request('POST')).to.equal(201)
        expect(await titlesOf(database)).to.have.members(['taken', 'a', 'b'])
      }))

    it('lets a savepoint use ctx.tx, and nest', () =>
      withApp({}, async ({ handle, request, database }) => {
        handle(async (ctx) => {
          await ctx.tx.transaction(async () => {
            await ctx.tx.save(newPost('a'))
            await Promise.all([
              ctx.tx.transaction(() => ctx.tx.save(newPost('b'))),
              failure(
                ctx.tx.transaction(async (inner) => {
                  await inner.save(newPost('x'))
                  throw new Error('rolled back')
                }),
              ),
              ctx.tx.save(newPost('c')),
            ])
          })
          ctx.status = 201
        })
        expect(await request('POST')).to.equal(201)
        expect(await titlesOf(database)).to.have.members(['a', 'b', 'c'])
      }))
  })

  it('does not let a handler end the transaction', () =>
    withApp({}, async ({ handle, request, database }) => {
      handle(async (ctx) => {
        await ctx.tx.save(newPost('one'))
        await failure(ctx.tx.queryRunner?.commitTransaction() ?? Promise.resolve())
        await ctx.tx.queryRunner?.release()
        expect(await ctx.tx.count(Post)).to.equal(1)
        ctx.status = 500
      })
      await request('POST')
      expect(await database.manager.count(Post)).to.equal(0)
    }))

  it('releases every connection', () =>
    withApp({ pool: 1, acquireTimeout: 3000 }, async ({ handle, request }) => {
      for (const [method, status] of [
        ['GET', 200],
        ['GET', 500],
        ['POST', 200],
        ['POST', 500],
      ] as const) {
        handle(async (ctx) => {
          await ctx.tx.count(Post)
          ctx.status = status
        })
        for (let round = 0; round < 3; round += 1) expect(await request(method)).to.equal(status)
      }
    }))

  it('returns 503 if there is no connection in time', () =>
    withApp({ pool: 1, acquireTimeout: 1500 }, async ({ handle, request, database, errors }) => {
      handle((ctx) => ok(ctx, ctx.tx.count(Post)))
      const runner = database.createQueryRunner('slave')
      await runner.startTransaction()
      expect(await request('GET')).to.equal(503)
      expect(errors[0]).to.be.instanceOf(ServiceUnavailable)
      await runner.release()
      expect(await request('GET')).to.equal(200)
    }))

  describe('ctx.afterCommit(work)', () => {
    it('runs the work after the commit, in order', () =>
      withApp({}, async ({ handle, request, database }) => {
        const seen: unknown[] = []
        handle(async (ctx) => {
          ctx.afterCommit(async () => seen.push(await database.manager.count(Post)))
          ctx.afterCommit(() => seen.push('second'))
          await ctx.tx.save(newPost('one'))
          expect(seen).to.deep.equal([])
          ctx.status = 200
        })
        await request('POST')
        expect(seen).to.deep.equal([1, 'second'])
      }))

    it('runs nothing if the request has failed', () =>
      withApp({}, async ({ handle, request }) => {
        let isCalled = false
        handle((ctx) => {
          ctx.afterCommit(() => (isCalled = true))
          ctx.status = 422
        })
        await request('POST')
        expect(isCalled).to.equal(false)
      }))

    it('logs errors of the work, and does not change the response', () =>
      withApp({}, async ({ handle, request, logged, database }) => {
        handle((ctx) => {
          ctx.afterCommit(() => {
            throw new Error('no mail today')
          })
          return ok(ctx, ctx.tx.save(newPost('one')))
        })
        expect(await request('POST')).to.equal(200)
        expect(logged.map(String)).to.deep.equal(['Error: no mail today'])
        expect(await database.manager.count(Post)).to.equal(1)
      }))
  })

  it('opens the database at the start, closes it at the end, and checks whether it responds', async () => {
    const database = blogDatabase(await newDatabase())
    const middleware = transaction(database)
    await middleware.extension?.start?.(pino({ level: 'silent' }), 'test')
    expect(database.isInitialized).to.equal(true)
    await middleware.extension?.check?.()
    await middleware.extension?.stop?.()
    expect(database.isInitialized).to.equal(false)
    expect(await failure(middleware.extension?.check?.() ?? Promise.resolve())).to.be.instanceOf(
      ServiceUnavailable,
    )
  })

  it('returns 409 when a parent with children is deleted', () =>
    withApp({}, async ({ handle, request, database }) => {
      const post = await database.manager.save(newPost('one'))
      await database.manager.insert(Comment, { body: 'first', post_id: post.id })
      handle((ctx) => ok(ctx, ctx.tx.delete(Post, { id: post.id })))
      expect(await request('DELETE')).to.equal(409)
    }))
})

interface Setup {
  database: Database
  /** The errors that ended in an error response. */
  errors: unknown[]
  /** The arguments of `ctx.log.error`. */
  logged: unknown[]
  handle(handler: (ctx: Context) => unknown): void
  request(method: string, path?: string): Promise<number>
}

/** Inserts a post in a savepoint that fails. */
async function failInSavepoint(tx: EntityManager): Promise<void> {
  await failure(
    tx.transaction(async (inner) => {
      await inner.save(newPost('inner'))
      throw new Error('the inner one fails')
    }),
  )
}

/** A plain Koa application with one handler, which a spec can replace. */
async function withApp(
  { url, ...settings }: { url?: string; pool?: number; acquireTimeout?: number },
  work: (setup: Setup) => Promise<void>,
): Promise<void> {
  const database = await openBlogDatabase(url, settings)
  const errors: unknown[] = []
  const logged: unknown[] = []
  let handler: ((ctx: Context) => unknown) | undefined

  const app = new Koa<object, Context>()
  app.use(async (ctx, next) => {
    Object.assign(ctx, { log: { error: (error: unknown) => logged.push(error), warn: () => {} } })
    try {
      await next()
    } catch (error) {
      errors.push(error)
      ctx.status = error instanceof HttpError ? error.status : 500
    }
  })
  const middleware = transaction(database)
  await middleware.extension?.start?.(pino({ level: 'silent' }), 'test')
  const run = chain([middleware, (ctx) => handler?.(ctx)])
  app.use((ctx) => run(ctx))
  const server = app.listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  try {
    await work({
      database,
      errors,
      logged,
      handle: (next) => (handler = next),
      request: async (method, path = '/') =>
        (await fetch(`http://127.0.0.1:${port}${path}`, { method, redirect: 'manual' })).status,
    })
  } finally {
    server.close()
    server.closeAllConnections()
    await middleware.extension?.stop?.()
  }
}

/** Collects unhandled rejections, instead of the listeners that would end the run. */
async function withUnhandled(work: (unhandled: unknown[]) => Promise<void>): Promise<void> {
  const unhandled: unknown[] = []
  const note = (error: unknown) => unhandled.push(error)
  const listeners = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection').on('uncaughtException', note)
  const others = process.listeners('uncaughtException').filter((listener) => listener !== note)
  for (const listener of others) process.off('uncaughtException', listener)
  try {
    await work(unhandled)
  } finally {
    for (const listener of listeners) process.on('unhandledRejection', listener)
    process.off('uncaughtException', note)
    for (const listener of others) process.on('uncaughtException', listener)
  }
}

async function ok(ctx: Context, work: Promise<unknown>): Promise<void> {
  await work
  ctx.status = 200
}
