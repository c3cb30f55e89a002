import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import type { MigrationInterface, QueryRunner } from 'typeorm'
import { Database } from '../../src/index.js'
import { withLease } from '../../src/database/named-leases.js'
import { ownServer, type OwnServer } from '../support/servers/own-server.js'

class AddRank1795000000000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    await runner.query('CREATE TABLE earlier (id int PRIMARY KEY)')
    await runner.query('ALTER TABLE posts ADD COLUMN position int')
  }

  async down(runner: QueryRunner) {
    await runner.query('ALTER TABLE posts DROP COLUMN position')
    await runner.query('DROP TABLE earlier')
  }
}

for (const engine of ['postgres', 'mariadb'] as const) {
  describe(`On ${engine}`, () => {
    let server: OwnServer
    let database: Database

    before(async () => {
      server = await ownServer(engine)
      const settings = {
        test: { url: server.url, acquireTimeout: 20_000 },
        migrations: [AddRank1795000000000],
      }
      database = await new Database(settings, 'test').open()
      await database.query('CREATE TABLE posts (id int PRIMARY KEY)')
    })

    after(async () => {
      await database?.close()
      await server?.remove()
    })

    it('a migration waits two seconds for the lock of a table, lets requests pass, and is tried again', async () => {
      const reading = database.createQueryRunner()
      await reading.startTransaction()
      await reading.query('SELECT * FROM posts')
      let isOver = false
      const migrating = database.migrate().finally(() => (isOver = true))
      let slowest = 0
      const until = performance.now() + 6000
      while (performance.now() < until) {
        const from = performance.now()
        await database.query('SELECT * FROM posts')
        slowest = Math.max(slowest, performance.now() - from)
        await delay(20)
      }
      expect(isOver).to.equal(false)
      // The migration has had the lock's place in the queue, and has given it up.
      expect(slowest).to.be.within(500, 4500)
      await reading.commitTransaction()
      await reading.release()
      expect(await migrating).to.deep.equal(['AddRank1795000000000'])
      await database.query('SELECT position FROM posts')
    })

    it('a lease has one holder, also for longer than its time, and ends after the death of its holder', async () => {
      let holders = 0
      let most = 0
      const taken = new Error('taken')
      const lease = { name: 'one', duration: 900, wait: 20_000, taken }
      const hold = async (milliseconds: number): Promise<void> => {
        const runner = database.createQueryRunner()
        await withLease(database, runner, lease, async () => {
          most = Math.max(most, (holders += 1))
          await delay(milliseconds)
          holders -= 1
        })
        await runner.release()
      }
      await Promise.all([hold(2500), hold(10), hold(10), hold(10)])
      expect(most).to.equal(1)
      const now = engine === 'postgres' ? 'extract(epoch FROM now()) * 1000' : 'UNIX_TIMESTAMP(NOW(3)) * 1000'
      const holdBy = (name: string, milliseconds: number): Promise<unknown> =>
        database.query(`UPDATE kit_leases SET holder = '${name}', expires_at = ${now} + ${milliseconds}`)
      await holdBy('dead', 1000)
      const start = performance.now()
      await hold(10)
      expect(performance.now() - start).to.be.at.least(800)
      await holdBy('alive', 60_000)
      const runner = database.createQueryRunner()
      const denied = await withLease(database, runner, { ...lease, wait: 300 }, delay).catch((error) => error)
      await runner.release()
      expect(denied).to.equal(taken)
    })
  })
}
