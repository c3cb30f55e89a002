import { rmSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { expect } from 'chai'
import { COUNT_ALIAS } from '../../../../src/database/engines/engine.js'
import { SqliteCounts } from '../../../../src/database/engines/sqlite/cached-counts.js'
import { SqliteStatement } from '../../../../src/database/engines/sqlite/statement.js'
import { temporaryFolder } from '../../../support/temporary-folder.js'

/** Enough rows to make counting them slow. */
const rows = 300_000

describe('SqliteCounts', () => {
  const folder = temporaryFolder()
  const file = join(folder, 'counts.sqlite')
  let writer: Sqlite.Database
  let reader: Sqlite.Database
  let executed: number

  before(() => {
    writer = new Sqlite(file)
    writer.pragma('journal_mode = WAL')
    writer.exec('CREATE TABLE things (name TEXT)')
    writer.exec(
      `WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ${rows}) INSERT INTO things SELECT n % 2 FROM number`,
    )
  })
  beforeEach(() => {
    reader = new Sqlite(file)
    executed = 0
  })
  afterEach(() => reader.close())
  after(() => {
    writer.close()
    rmSync(folder, { recursive: true })
  })

  function counter(database: Sqlite.Database): (name?: string) => unknown {
    const counts = new SqliteCounts(database)
    const statement = new SqliteStatement(
      database.prepare(`SELECT COUNT(*) AS "${COUNT_ALIAS}" FROM things WHERE name = ? OR ? IS NULL`),
    )
    const execute = statement.execute.bind(statement)
    statement.execute = (parameters) => {
      executed += 1
      return execute(parameters)
    }
    return (name) => Object(counts.count(statement, [name ?? null, name ?? null]).rows?.[0])[COUNT_ALIAS]
  }

  it('counts once, as long as nothing changes', () => {
    const count = counter(reader)
    expect([count(), count(), count(), count()]).to.deep.equal([rows, rows, rows, rows])
    // The first count measures that this query is slow.
    expect(executed).to.equal(2)
  })

  it('counts again after another connection has written', () => {
    const count = counter(reader)
    expect([count(), count()]).to.deep.equal([rows, rows])
    writer.exec("INSERT INTO things VALUES ('more')")
    expect(count()).to.equal(rows + 1)
    writer.exec("DELETE FROM things WHERE name = 'more'")
    expect(count()).to.equal(rows)
  })

  it('distinguishes the values of a condition', () => {
    const count = counter(reader)
    expect([count('0'), count('1'), count('2'), count('0')]).to.deep.equal([rows / 2, rows / 2, 0, rows / 2])
  })

  it('caches nothing on a connection with uncommitted writes, which may be rolled back', () => {
    const count = counter(reader)
    expect([count(), count()]).to.deep.equal([rows, rows])
    reader.exec("BEGIN; INSERT INTO things VALUES ('mine')")
    expect(count()).to.equal(rows + 1)
    reader.exec('ROLLBACK')
    expect(count()).to.equal(rows)
  })

  it('counts in the snapshot of the transaction', () => {
    const count = counter(reader)
    expect([count(), count()]).to.deep.equal([rows, rows])
    reader.exec('BEGIN')
    expect(count()).to.equal(rows)
    writer.exec("INSERT INTO things VALUES ('later')")
    expect(count()).to.equal(rows)
    reader.exec('COMMIT')
    expect(count()).to.equal(rows + 1)
    writer.exec("DELETE FROM things WHERE name = 'later'")
  })

  it('caches no count of a query that was written by hand', () => {
    const sql = 'SELECT COUNT(*) AS "total" FROM things'
    expect(new SqliteStatement(reader.prepare(sql)).isCount).to.equal(false)
    expect(new SqliteStatement(reader.prepare(sql.replace('total', COUNT_ALIAS))).isCount).to.equal(true)
  })
})
