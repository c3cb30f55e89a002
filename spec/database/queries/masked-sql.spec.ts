import { expect } from 'chai'
import { maskedSql } from '../../../src/database/queries/masked-sql.js'

/** Statements with a secret, or with the number 7. */
const statements = [
  ['sqlite', 'SELECT * FROM "posts" WHERE "id" = ? LIMIT 7', 'SELECT * FROM "posts" WHERE "id" = ? LIMIT ?'],
  ['sqlite', `SELECT "it's" FROM t1 WHERE a = 'it''s a secret'`, `SELECT "it's" FROM t1 WHERE a = ?`],
  [
    'sqlite',
    `SELECT [it's] FROM t WHERE a = 'secret' AND b = ?7`,
    `SELECT [it's] FROM t WHERE a = ? AND b = ?7`,
  ],
  ['sqlite', 'SELECT 0x7, 7.7, -7, 7e7 -- secret\nFROM\n  t', 'SELECT ?, ?, -?, ? FROM t'],
  ['sqlite', "SELECT 'an open secret", 'SELECT …'],
  ['sqlite', "SELECT x'7777' /* secret's */ AS a", 'SELECT x? AS a'],
  ['postgres', 'SELECT a FROM t WHERE b = $1 AND c[7] = $2', 'SELECT a FROM t WHERE b = $1 AND c[?] = $2'],
  ['postgres', 'SELECT a, $$secret$$', 'SELECT a, …'],
  ['postgres', 'SELECT a, $x$secret$x$', 'SELECT a, …'],
  ['postgres', "SELECT E'\\'secret', 'secret'", 'SELECT E…'],
  ['postgres', '/* /* */ secret */ SELECT 7', '…'],
  ['postgres', "SELECT j #>> '{secret}', b::text", 'SELECT j #>> ?, b::text'],
  ['mariadb', "SELECT `a`, \"secret\", 'secret' # secret's", 'SELECT `a`, ?, ?'],
  ['mariadb', "SELECT 7--'secret', 'x' -- secret", 'SELECT ?--?, ?'],
  ['mariadb', "SELECT /*!50000 'a*/secret' */ 7", 'SELECT …'],
  ['mariadb', "SELECT 'a\\'secret', 'secret'", 'SELECT …'],
] as const

describe('A statement that is published', () => {
  for (const [engine, sql, masked] of statements) {
    it(`of ${engine} has no values: ${masked}`, () => {
      expect(maskedSql(sql, engine)).to.equal(masked)
    })
  }

  it('is shortened if it is very long', () => {
    const sql = `SELECT ${'a, '.repeat(50_000)}'secret'`
    expect(maskedSql(sql, 'sqlite'))
      .to.match(/^SELECT a, [a, ]*…$/)
      .and.have.length.below(100_010)
    expect(maskedSql(`SELECT '${'secret'.repeat(50_000)}'`, 'sqlite')).to.equal('SELECT …')
  })
})
