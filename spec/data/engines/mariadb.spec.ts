import { expect } from 'chai'
import { openBlogDatabase } from '../../support/applications/blog-database.js'
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
  })
}
