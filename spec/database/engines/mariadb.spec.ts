import { expect } from 'chai'
import { engineOf } from '../../../src/database/engines/engines.js'
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

    it('finds text that goes on with an emoji by its beginning, also with an index', async () => {
      const database = await new Database({ test: { url: await newDatabase() } }, 'test').open()
      const { prefix } = engineOf(database)
      for (const collation of ['utf8mb4_bin', 'utf8mb4_unicode_ci']) {
        const table = `texts_${collation}`
        await database.query(`CREATE TABLE ${table} (s varchar(255) COLLATE ${collation})`)
        const runner = database.createQueryRunner()
        await runner.query(await prefix.createIndex(runner, 's', table, 's'))
        await runner.release()
        const found = ['Hi', 'Hi there', 'Hi\u{1f600}', 'Hi\u{1f600} all', 'Hi\u{1f600}\u{1f600}']
        const rows = [...found, 'hi', 'Ha', 'Hj', ...Array.from({ length: 1000 }, (_, n) => `x${n}`)]
        await database.query(`INSERT INTO ${table} VALUES ${rows.map(() => '(?)').join(', ')}`, rows)
        const condition = prefix.sql('s', ['?', '?', '?', '?'])
        const sql = `SELECT s FROM ${table} FORCE INDEX (s) WHERE ${condition}`
        const result: { s: string }[] = await database.query(sql, prefix.parameters('Hi'))
        expect(result.map(({ s }) => s).toSorted(), collation).to.deep.equal(found.toSorted())
      }
      await database.close()
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
