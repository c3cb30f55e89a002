import { expect } from 'chai'
import { engineOf } from '../../../src/data/engines/engines.js'
import { Database } from '../../../src/index.js'
import { openBlogDatabase } from '../../support/applications/blog-database.js'
import { newDatabase } from '../../support/databases.js'
import { engine } from '../../support/engine.js'

if (engine === 'mariadb') {
  describe('A connection to MariaDB', () => {
    it('has the same method release after each use, so that no use takes longer than the one before', async () => {
      const database = await openBlogDatabase(undefined, { pool: 1 })
      const releases = new Set<unknown>()
      for (let use = 0; use < 3; use += 1) {
        const runner = database.createQueryRunner()
        const connection: { release: unknown } = await runner.connect()
        await runner.release()
        releases.add(connection.release)
      }
      await database.close()
      expect(releases.size).to.equal(1)
    })

    it('is not opened if the server rejects the settings of its sessions', async () => {
      const database = new Database({ test: { url: await newDatabase() } }, 'test')
      engineOf(database).adapt(database, { size: 1, acquireTimeout: 1e15, statementTimeout: undefined })
      const error = await database.open().then(
        () => undefined,
        (cause: Error) => cause,
      )
      expect(error?.message).to.include("Variable 'innodb_lock_wait_timeout' can't be set")
    })
  })
}
