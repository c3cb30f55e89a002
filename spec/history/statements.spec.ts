import { expect } from 'chai'
import { targetsOf, type Engine } from '../../src/history/statements.js'

const all: Engine[] = ['sqlite', 'postgres', 'mariadb']

/** Statements that write `contracts`, and the engines whose syntax they have. */
const writes: [sql: string, engines?: Engine[]][] = [
  ['INSERT INTO contracts (title) VALUES (1)'],
  ['insert into Contracts default values'],
  ['INSERT INTO "contracts" (title) VALUES (1)'],
  ['INSERT INTO `contracts` VALUES (1)', ['sqlite', 'mariadb']],
  ['INSERT INTO [contracts] VALUES (1)', ['sqlite']],
  ["DELETE FROM 'contracts'", ['sqlite']],
  ['INSERT OR IGNORE INTO contracts VALUES (1)', ['sqlite']],
  ['INSERT OR REPLACE INTO main.contracts VALUES (1)', ['sqlite']],
  ['INSERT IGNORE contracts VALUES (1)', ['mariadb']],
  ['INSERT LOW_PRIORITY INTO contracts SET title = 1', ['mariadb']],
  ['INSERT INTO contracts (id) SELECT id FROM logs'],
  ['INSERT INTO contracts AS c (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET title = 1', ['postgres']],
  ['REPLACE INTO contracts VALUES (1)', ['sqlite', 'mariadb']],
  ['REPLACE contracts VALUES (1)', ['mariadb']],
  ['UPDATE contracts SET title = 1'],
  ['UPDATE/* x */contracts SET title = 1'],
  ['UPDATE -- logs\n contracts SET title = 1'],
  ['UPDATE # logs\n contracts SET title = 1', ['mariadb']],
  ['UPDATE ONLY contracts AS c SET title = 1 FROM logs', ['postgres']],
  ['UPDATE public . "contracts" SET title = 1', ['postgres']],
  ['UPDATE U&"\\0063ontracts" SET title = 1', ['postgres']],
  ['UPDATE OR REPLACE contracts SET title = 1', ['sqlite']],
  ['UPDATE logs JOIN contracts c ON c.id = logs.id SET c.title = 1', ['mariadb']],
  ['UPDATE logs, contracts SET title = 1', ['mariadb']],
  ['UPDATE (logs JOIN contracts) SET contracts.title = 1', ['mariadb']],
  ['UPDATE LOW_PRIORITY IGNORE contracts SET title = 1', ['mariadb']],
  ['DELETE FROM contracts'],
  ['DELETE FROM contracts AS c WHERE c.id = 1'],
  ['DELETE FROM contracts USING logs WHERE logs.id = contracts.id', ['postgres']],
  ['DELETE c FROM contracts c JOIN logs ON logs.id = c.id', ['mariadb']],
  ['DELETE logs, c.* FROM logs JOIN contracts AS c', ['mariadb']],
  ['DELETE FROM c USING contracts AS c JOIN logs', ['mariadb']],
  ['DELETE QUICK FROM contracts', ['mariadb']],
  ['WITH x AS (SELECT 1) DELETE FROM contracts'],
  ['WITH x AS (DELETE FROM contracts RETURNING *) SELECT * FROM x', ['postgres']],
  [
    'WITH x AS (SELECT 1), y AS (INSERT INTO contracts SELECT 1 RETURNING id) INSERT INTO logs SELECT * FROM y',
    ['postgres'],
  ],
  ['COPY (DELETE FROM contracts RETURNING *) TO STDOUT', ['postgres']],
  ['COPY contracts (id) FROM STDIN', ['postgres']],
  ["LOAD DATA INFILE 'f' REPLACE INTO TABLE contracts", ['mariadb']],
  ['MERGE INTO contracts USING logs ON true WHEN MATCHED THEN DELETE', ['postgres']],
  ['TRUNCATE contracts', ['postgres', 'mariadb']],
  ['TRUNCATE TABLE logs, ONLY contracts CASCADE', ['postgres']],
  ['SELECT 1; DELETE FROM contracts', ['postgres']],
  ["SELECT ';'; UPDATE contracts SET title = ''", ['postgres']],
  ['DO $$ BEGIN DELETE FROM contracts; END $$', ['postgres']],
  ['DO $x$ BEGIN EXECUTE 1; UPDATE contracts SET a = $$b$$; END $x$', ['postgres']],
  ['PREPARE p AS DELETE FROM contracts', ['postgres']],
  ["PREPARE p FROM 'DELETE FROM contracts'", ['mariadb']],
  ['PREPARE p FROM "DELETE FROM contracts"', ['mariadb']],
  ["EXECUTE IMMEDIATE 'DELETE FROM contracts'", ['mariadb']],
  ['EXPLAIN ANALYZE DELETE FROM contracts', ['postgres']],
  ['ANALYZE DELETE FROM contracts', ['mariadb']],
  ['SET STATEMENT max_statement_time = 1 FOR DELETE FROM contracts', ['mariadb']],
  ['BEGIN NOT ATOMIC IF 1 THEN DELETE FROM contracts; END IF; END', ['mariadb']],
  ['/*! DELETE FROM contracts */', ['mariadb']],
  ['/*!50000 DELETE */ FROM contracts', ['mariadb']],
  ["SELECT '\\'; DELETE FROM contracts; -- '", ['postgres']],
  ['SELECT /* /* */ 1; DELETE FROM contracts; -- */ 1 */', []],
  ['UPDATE logs SET a = 5--1\n; DELETE FROM contracts', ['mariadb', 'postgres']],
]

/** Statements that do not. */
const harmless: [sql: string, engines?: Engine[]][] = [
  ['SELECT * FROM contracts'],
  ['SELECT * FROM contracts FOR UPDATE', ['postgres', 'mariadb']],
  ['SELECT * FROM contracts FOR NO KEY UPDATE OF contracts', ['postgres']],
  ['INSERT INTO logs SELECT * FROM contracts'],
  [
    'INSERT INTO logs (title) SELECT title FROM contracts ON CONFLICT (id) DO UPDATE SET title = 1',
    ['sqlite', 'postgres'],
  ],
  ['INSERT INTO logs SELECT * FROM contracts ON DUPLICATE KEY UPDATE title = 1', ['mariadb']],
  ['UPDATE logs SET title = (SELECT title FROM contracts)'],
  ['UPDATE logs SET title = c.title FROM contracts c', ['postgres', 'sqlite']],
  ['UPDATE logs JOIN contracts ON contracts.id = logs.id SET logs.title = contracts.title', ['mariadb']],
  ['UPDATE logs l JOIN (SELECT * FROM contracts JOIN tags) c SET l.a = 1, l.b = f(2, c.d)', ['mariadb']],
  ['DELETE FROM logs WHERE id IN (SELECT id FROM contracts)'],
  ['DELETE FROM logs USING contracts WHERE contracts.id = logs.id', ['postgres']],
  ['DELETE l FROM logs l JOIN contracts ON contracts.id = l.id', ['mariadb']],
  ['MERGE INTO logs USING contracts ON true WHEN MATCHED THEN UPDATE SET a = 1', ['postgres']],
  ["INSERT INTO logs VALUES ('DELETE FROM contracts')"],
  ["INSERT INTO logs VALUES ('it''s; DELETE FROM contracts')"],
  ["INSERT INTO logs VALUES ('a\\'; DELETE FROM contracts; -- ')", ['mariadb']],
  ["INSERT INTO logs VALUES (E'a\\'; DELETE FROM contracts; -- ')", ['postgres']],
  ['INSERT INTO logs VALUES ($$; DELETE FROM contracts$$)', ['postgres']],
  ['SELECT 1 -- DELETE FROM contracts'],
  ['SELECT 1 /* DELETE FROM contracts */'],
  ['SELECT 1 /* /* */ DELETE FROM contracts */', ['postgres']],
  ['SELECT 1 # DELETE FROM contracts', ['mariadb']],
  ['SELECT "delete" FROM contracts'],
  ['SELECT c.update, c."delete" FROM contracts c', ['postgres', 'sqlite']],
  ["SELECT replace(title, 'a', 'b') FROM contracts"],
  ["SELECT insert(title, 1, 2, 'b'), truncate(1.5, 0) FROM contracts", ['mariadb']],
  ['WITH contracts AS (SELECT 1) INSERT INTO logs SELECT * FROM contracts'],
  ['UPDATE contracts_logs SET title = 1'],
  ['UPDATE "old contracts" SET title = 1'],
  ['CREATE TABLE contracts (id int)'],
  ['CREATE TRIGGER t AFTER UPDATE ON contracts BEGIN DELETE FROM contracts; END', ['sqlite', 'mariadb']],
  ['ALTER TABLE lines ADD FOREIGN KEY (id) REFERENCES contracts ON DELETE CASCADE ON UPDATE CASCADE'],
  ['DROP TABLE contracts'],
  ['CREATE OR REPLACE VIEW v AS SELECT * FROM contracts', ['postgres', 'mariadb']],
  ['GRANT UPDATE, DELETE ON contracts TO bob', ['postgres', 'mariadb']],
  ['EXPLAIN DELETE FROM contracts'],
  ['COPY contracts TO STDOUT', ['postgres']],
  ['LOCK TABLE contracts IN EXCLUSIVE MODE', ['postgres']],
  ['TRUNCATE logs', ['postgres', 'mariadb']],
  ['REINDEX contracts', ['sqlite']],
  ['ANALYZE contracts', ['postgres', 'sqlite']],
]

const targets = (sql: string, engine: Engine) => targetsOf(sql, engine).map(({ table }) => table)

describe('targetsOf', () => {
  for (const [sql, engines = all] of writes)
    for (const engine of engines)
      it(`finds the written table on ${engine}: ${sql.replaceAll('\n', '\\n')}`, () => {
        expect(targets(sql, engine)).to.include('contracts')
      })

  for (const [sql, engines = all] of harmless)
    for (const engine of engines)
      it(`finds no written table on ${engine}: ${sql}`, () => {
        expect(targets(sql, engine)).to.not.include('contracts')
      })

  it('reads statements alike in any case and with comments and texts in all places', () => {
    const disguised = (sql: string) => [
      sql.toUpperCase(),
      sql.toLowerCase(),
      sql.replaceAll(' ', "/* ' UPDATE logs SET */\n"),
      sql.replaceAll(' ', ' -- " DELETE FROM contracts;\n'),
      `${sql} /* '; DELETE FROM contracts */`,
      `SELECT '; DELETE FROM contracts' UNION ${sql}`,
    ]
    for (const [list, isWrite] of [[writes, true] as const, [harmless, false] as const])
      for (const [sql, engines = all] of list.filter(([text]) => /^[\w\s(),.*=;]+$/.test(text)))
        for (const engine of engines)
          for (const form of /^(copy|load|set|do|prepare|create|alter|explain|grant)/i.test(sql)
            ? disguised(sql).slice(0, -1)
            : disguised(sql))
            expect(targets(form, engine).includes('contracts'), `${engine}: ${form}`).to.equal(isWrite)
  })

  it('tells statements that delete rows, and those that empty the tables that refer to them', () => {
    const kinds = (sql: string, engine: Engine) => targetsOf(sql, engine).map(({ kind }) => kind)
    expect(kinds('DELETE FROM a', 'sqlite')).to.deep.equal(['delete'])
    expect(kinds('INSERT OR REPLACE INTO a VALUES (1)', 'sqlite')).to.deep.equal(['delete'])
    expect(kinds('INSERT INTO a VALUES (1)', 'sqlite')).to.deep.equal(['write'])
    expect(kinds('TRUNCATE a, b CASCADE', 'postgres')).to.deep.equal(['truncate', 'truncate'])
    expect(kinds('MERGE INTO a USING b ON 1 = 1 WHEN MATCHED THEN DELETE', 'postgres')).to.include('delete')
  })
})
