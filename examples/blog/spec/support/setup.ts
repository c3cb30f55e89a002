import './environment.js'
import 'reflect-metadata'
import { app } from '../../src/app.js'
import { database } from '../../src/database.js'
import { visit } from './app.js'

/** What mocha does around all specs: the application listens on a free port, with its test database migrated. */
export const mochaHooks = {
  async beforeAll() {
    await database.open()
    await database.migrate()
    visit(await app.listen(0, '127.0.0.1'))
  },

  async afterAll() {
    await app.close()
  },
}
