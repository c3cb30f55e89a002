import Sqlite from 'better-sqlite3'
import { expect } from 'chai'
import { setTimeout as delay } from 'node:timers/promises'
import { SqliteConnection } from '../../../../src/database/engines/sqlite/connection.js'
import { SqlitePool } from '../../../../src/database/engines/sqlite/pool.js'
import { failure } from '../../../support/failure.js'

describe('SqlitePool', () => {
  it('closes a connection that is still being opened when the pool is closed', async () => {
    const database = new Sqlite(':memory:')
    const open = () => delay(10).then(() => new SqliteConnection(database))
    const pool = new SqlitePool(open, { size: 1, acquireTimeout: 100 })
    const taking = failure(pool.take())
    await delay(1)
    pool.close()
    expect(String(await taking)).to.contain('closed')
    expect(database.open).to.equal(false)
  })
})
