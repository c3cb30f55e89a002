import { expect } from 'chai'
import { Table, TableCheck, TableColumn, TableForeignKey, TableUnique } from 'typeorm'
import type { QueryRunner } from 'typeorm'
import { Database } from '../../../../src/database/database.js'
import { failure } from '../../../support/failure.js'

const TABLE = `CREATE TABLE people (
  id INTEGER PRIMARY KEY AUTOINCREMENT, -- the number, never used twice
  "login" varchar(40) NOT NULL COLLATE NOCASE CONSTRAINT "one (login)" UNIQUE ON CONFLICT ABORT,
  [age] integer DEFAULT (18) CHECK (people.age >= 0) NOT NULL,
  initial text GENERATED ALWAYS AS (substr(login, 1, 1)) VIRTUAL,
  size int DEFAULT NULL,
  boss_id integer REFERENCES people (id) ON DELETE SET NULL NOT DEFERRABLE,
  team_id integer,
  CONSTRAINT "of a team" FOREIGN KEY (team_id) REFERENCES teams (id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT 'adult, or small' CHECK (age > 17 OR size < 150), UNIQUE (team_id, size)
) STRICT`

const STATEMENTS = [
  'CREATE TABLE teams (id INTEGER PRIMARY KEY, name text)',
  TABLE.replace('varchar(40)', 'text'),
  'CREATE INDEX people_size ON people (size DESC, login COLLATE RTRIM)',
  'CREATE INDEX people_initial ON people (lower(login)) WHERE team_id IS NOT NULL',
  'CREATE VIEW adults AS SELECT login, age FROM people WHERE age > 17',
  'CREATE TABLE log (note text)',
  "CREATE TRIGGER people_log AFTER INSERT ON people BEGIN INSERT INTO log VALUES (new.login || ';'); END",
  'CREATE TRIGGER log_people AFTER DELETE ON log BEGIN UPDATE people SET size = NULL WHERE size > 0; END',
  'CREATE TABLE badges (id text PRIMARY KEY, person_id integer REFERENCES people (id)) WITHOUT ROWID',
  "INSERT INTO teams VALUES (1, 'One')",
  "INSERT INTO people (id, login, team_id, boss_id) VALUES (1, 'ada', 1, 1), (7, 'bob', 1, NULL), (9, 'eve', 1, 1)",
  "INSERT INTO badges VALUES ('a', 7)",
  'DELETE FROM people WHERE id = 9',
  'DELETE FROM log',
]

type Change = (runner: QueryRunner) => Promise<unknown>

/** The message with which a change is rejected. */
async function messageOf(change: Promise<unknown>): Promise<string> {
  return String(Object(await failure(change)).message)
}

describe('Changes of tables on SQLite', () => {
  let database: Database
  let runner: QueryRunner

  beforeEach(async () => {
    database = await new Database({ test: { url: 'sqlite::memory:' } }, 'test').open()
    for (const sql of STATEMENTS) await database.query(sql)
    runner = database.createQueryRunner()
    await runner.beforeMigration()
    await runner.startTransaction()
  })

  afterEach(async () => {
    await runner.rollbackTransaction()
    await runner.release()
    await database.close()
  })

  /** The statements of the schema, by name, without differences of spaces. */
  async function schema(): Promise<Record<string, string>> {
    const rows: { name: string; sql: string }[] = await runner.query(
      "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY name",
    )
    return Object.fromEntries(rows.map(({ name, sql }) => [name, sql.replaceAll(/\s+/g, ' ')]))
  }

  /** Expects that a change replaces texts in the statement of the table, and leaves everything else as it is. */
  async function expectChange(change: Change, ...replacements: [from: string, to: string][]): Promise<void> {
    const expected = await schema()
    const rows = await runner.query('SELECT id, login, age, boss_id, team_id FROM people ORDER BY id')
    for (const [from, to] of replacements) {
      expect(expected['people']).to.include(from)
      expected['people'] = String(expected['people']).replace(from, to)
    }
    await change(runner)
    expect(await schema()).to.deep.equal(expected)
    expect(
      await runner.query('SELECT id, login, age, boss_id, team_id FROM people ORDER BY id'),
    ).to.deep.equal(rows)
    await expectWorkingTable()
  }

  /** The parts of the schema are not only there. */
  async function expectWorkingTable(): Promise<void> {
    await runner.query("INSERT INTO people (login) VALUES ('new')")
    expect(await runner.query('SELECT note FROM log')).to.deep.equal([{ note: 'new;' }])
    const [row]: { id: number }[] = await runner.query("SELECT id FROM people WHERE login = 'NEW'")
    expect(row?.id).to.equal(10)
    expect(await messageOf(runner.query("INSERT INTO people (login) VALUES ('ADA')"))).to.include('UNIQUE')
    expect(await runner.query('PRAGMA foreign_key_check')).to.deep.equal([])
  }

  it('add a column without another change of the schema', () =>
    expectChange(
      (it) => it.addColumn('people', new TableColumn({ name: 'note', type: 'text', isNullable: true })),
      ['DEFERRABLE, team_id integer,', 'DEFERRABLE, team_id integer, "note" text,'],
    ))

  it('add a unique column, for which the table is created again', () =>
    expectChange(
      (it) =>
        it.addColumn(
          'people',
          new TableColumn({ name: 'code', type: 'text', isNullable: true, isUnique: true }),
        ),
      ['team_id integer,', 'team_id integer, "code" text,'],
      [
        'UNIQUE (team_id, size) )',
        'UNIQUE (team_id, size) , CONSTRAINT "UQ_ccd1a98c7e3754cc6adba69c6d8" UNIQUE ("code"))',
      ],
    ))

  it('add a foreign key', () =>
    expectChange(
      (it) =>
        it.createForeignKey(
          'people',
          new TableForeignKey({
            name: 'badge',
            columnNames: ['size'],
            referencedTableName: 'teams',
            referencedColumnNames: ['id'],
            onDelete: 'CASCADE',
            deferrable: 'INITIALLY DEFERRED',
          }),
        ),
      [
        'UNIQUE (team_id, size) )',
        'UNIQUE (team_id, size) , CONSTRAINT "badge" FOREIGN KEY ("size") REFERENCES "teams" ("id") ' +
          'ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED)',
      ],
    ))

  it('add and drop a check', async () => {
    const check = new TableCheck({ name: 'tall', expression: 'size > 20' })
    await expectChange(
      (it) => it.createCheckConstraint('people', check),
      ['UNIQUE (team_id, size) )', 'UNIQUE (team_id, size) , CONSTRAINT "tall" CHECK (size > 20))'],
    )
    await runner.dropCheckConstraint('people', 'tall')
    await runner.dropCheckConstraint('people', 'adult, or small')
    expect((await schema())['people']).to.include('INITIALLY DEFERRED, UNIQUE (team_id, size) ) STRICT')
  })

  it('drop foreign keys by their names, or by their columns', async () => {
    const keys = (await runner.getTable('people'))?.foreignKeys ?? []
    await expectChange(
      async (it) => {
        await it.dropForeignKey('people', 'of a team')
        for (const key of keys.filter(({ columnNames }) => columnNames.includes('boss_id')))
          await it.dropForeignKey('people', key)
      },
      [
        ' CONSTRAINT "of a team" FOREIGN KEY (team_id) REFERENCES teams (id) DEFERRABLE INITIALLY DEFERRED,',
        '',
      ],
      [' REFERENCES people (id) ON DELETE SET NULL NOT DEFERRABLE', ''],
    )
    expect(await messageOf(runner.dropForeignKey('people', 'none'))).to.equal(
      'The table "people" has no foreign key with the name "none".',
    )
  })

  it('add and drop a unique constraint', async () => {
    const unique = new TableUnique({ name: 'of initials', columnNames: ['boss_id', 'size'] })
    await expectChange(
      async (it) => {
        await it.createUniqueConstraint('people', unique)
        await it.dropUniqueConstraint('people', 'of initials')
        await it.createUniqueConstraint('people', unique)
      },
      [
        'UNIQUE (team_id, size) )',
        'UNIQUE (team_id, size) , CONSTRAINT "of initials" UNIQUE ("boss_id", "size"))',
      ],
    )
    await runner.dropUniqueConstraint('people', 'one (login)')
    expect((await schema())['people']).to.include('"login" text NOT NULL COLLATE NOCASE, [age]')
  })

  it('change the type, the default and NOT NULL of a column, and keep its collation and checks', () =>
    expectChange(
      async (it) => {
        const table = await it.getTable('people')
        const login = table?.findColumnByName('login')?.clone() ?? new TableColumn()
        Object.assign(login, { isNullable: true, default: "'anonymous'" })
        await it.changeColumn('people', 'login', login)
        const age = new TableColumn({ name: 'age', type: 'any', default: '21' })
        await it.changeColumn('people', 'age', age)
      },
      [
        '"login" text NOT NULL COLLATE NOCASE CONSTRAINT "one (login)" UNIQUE ON CONFLICT ABORT',
        `"login" text COLLATE NOCASE CONSTRAINT "one (login)" UNIQUE ON CONFLICT ABORT DEFAULT ('anonymous')`,
      ],
      ['[age] integer DEFAULT (18) CHECK', '[age] any DEFAULT (21) CHECK'],
    ))

  it('rename a column, also in views, checks, indexes and triggers', async () => {
    await runner.renameColumn('people', 'login', 'account')
    const { people, people_size, adults, people_log } = await schema()
    expect(people)
      .to.include('"account" text NOT NULL COLLATE NOCASE')
      .and.to.include('(substr("account", 1, 1))')
    expect(people_size).to.include('"account" COLLATE RTRIM')
    expect(adults).to.include('SELECT "account", age')
    expect(people_log).to.include('new."account"')
  })

  it('rename a table, to which others refer', async () => {
    await runner.renameTable('people', 'members')
    const { badges, adults, members } = await schema()
    expect(badges).to.include('REFERENCES "members" (id)')
    expect(adults).to.include('FROM "members"')
    expect(members).to.include("CONSTRAINT 'adult, or small' CHECK")
  })

  it('drop a column with its indexes, unique constraints and foreign keys', async () => {
    await runner.query('CREATE INDEX people_team ON people (age, team_id)')
    await runner.query('DROP INDEX people_initial')
    const { people_team: _dropped, ...kept } = await schema()
    await runner.dropColumn('people', 'team_id')
    const people = String(kept['people'])
      .replace(/ CONSTRAINT "of a team".*INITIALLY DEFERRED,/, '')
      .replace(' team_id integer,', '')
      .replace(', UNIQUE (team_id, size) )', ')')
    expect(await schema()).to.deep.equal({ ...kept, people })
    await expectWorkingTable()
  })

  it('drop a primary key, and create another one', async () => {
    const column = { name: 'id', type: 'integer' }
    await runner.createTable(new Table({ name: 'keys', columns: [column, { ...column, name: 'other' }] }))
    await runner.createPrimaryKey('keys', ['id'])
    expect((await schema())['keys']).to.equal(
      'CREATE TABLE "keys" ("id" integer NOT NULL, "other" integer NOT NULL, PRIMARY KEY ("id"))',
    )
    await runner.dropPrimaryKey('keys')
    await runner.createPrimaryKey('keys', ['id', 'other'])
    expect((await runner.getTable('keys'))?.primaryColumns.map(({ name }) => name)).to.deep.equal([
      'id',
      'other',
    ])
    await runner.dropColumn('keys', 'other')
    expect((await schema())['keys']).to.equal(
      'CREATE TABLE "keys" ("id" integer NOT NULL, PRIMARY KEY ("id"))',
    )
  })

  it('read a statement without commas between its constraints', async () => {
    await runner.query(
      "CREATE TABLE odd (a 'my type' CHECK (a <> ')'), b int, PRIMARY KEY (a) CONSTRAINT c CHECK (b > 1) UNIQUE (b))",
    )
    await runner.dropCheckConstraint('odd', 'c')
    expect((await schema())['odd']).to.equal(
      "CREATE TABLE odd (a 'my type' CHECK (a <> ')'), b int, PRIMARY KEY (a), UNIQUE (b))",
    )
  })

  it('read and create generated columns without a table of TypeORM', async () => {
    const columns = [
      { name: 'id', type: 'integer', isPrimary: true },
      { name: 'double', type: 'integer', asExpression: 'id * 2', generatedType: 'STORED' as const },
    ]
    await runner.createTable(new Table({ name: 'numbers', columns }))
    const read = await runner.getTable('numbers')
    expect(read?.findColumnByName('double')).to.include({ asExpression: 'id * 2', generatedType: 'STORED' })
    await runner.dropTable('numbers')
  })

  describe('are rejected', () => {
    const uses = (kind: string, name: string, column: string) =>
      `SQLite cannot change the table "people", because the ${kind} "${name}" uses what changes ` +
      `(no such column: ${column}). ${remedy(kind)}`

    const remedy = (kind: string) =>
      `Drop the ${kind} before this change, and create it again afterwards if it is still needed.`

    it('if a view, an index or a trigger uses the column', async () => {
      await runner.dropCheckConstraint('people', 'adult, or small')
      expect(await messageOf(runner.dropColumn('people', 'age'))).to.equal(uses('view', 'adults', 'age'))
      expect(await messageOf(runner.dropColumn('people', 'team_id'))).to.equal(
        uses('index', 'people_initial', 'team_id'),
      )
      expect(await messageOf(runner.dropColumn('people', 'size'))).to.equal(
        uses('trigger', 'log_people', 'size'),
      )
    })

    it('if a check or a generated column uses the column', async () => {
      expect(await messageOf(runner.dropColumn('people', 'login'))).to.equal(
        'SQLite cannot drop the column "login" of "people", because these parts of the table use it: ' +
          'GENERATED ALWAYS AS (substr(login, 1, 1)) VIRTUAL. Drop these constraints and columns first.',
      )
      expect(await messageOf(runner.dropColumn('people', 'size'))).to.include(
        "CONSTRAINT 'adult, or small' CHECK (age > 17 OR size < 150)",
      )
    })

    it('while a view is broken', async () => {
      await runner.query('CREATE VIEW broken AS SELECT * FROM none')
      expect(await messageOf(runner.renameColumn('people', 'age', 'years'))).to.equal(
        'SQLite cannot change the table "people", because the view "broken" refers to something that does not exist ' +
          `(no such table: main.none). ${remedy('view')}`,
      )
    })

    it('if the column or the table does not exist', async () => {
      const missing = 'The table "people" has no column "nme".'
      expect(await messageOf(runner.dropColumn('people', 'nme'))).to.equal(missing)
      expect(await messageOf(runner.renameColumn('people', 'nme', 'name'))).to.equal(missing)
      expect(await messageOf(runner.dropColumn('peple', 'nme'))).to.equal(
        'The database has no table "peple".',
      )
    })

    it('if the rows need a value for a new column', async () => {
      const rank = new TableColumn({ name: 'rank', type: 'integer' })
      expect(await messageOf(runner.addColumn('people', rank))).to.equal(
        'The rows that "people" already has need a value for the new column "rank". ' +
          'Give the column a default, or make it nullable, and fill it.',
      )
      await runner.addColumn('people', Object.assign(rank, { default: '0' }))
      expect(await runner.query('SELECT "rank" FROM people WHERE id = 1')).to.deep.equal([{ rank: 0 }])
    })

    it('outside of a migration, where foreign keys are on', async () => {
      await runner.query('PRAGMA foreign_keys')
      await runner.rollbackTransaction()
      await runner.query('PRAGMA foreign_keys = ON')
      await runner.startTransaction()
      expect(await messageOf(runner.dropForeignKey('people', 'of a team'))).to.equal(
        'SQLite changes the table "people" in this way only by creating it again, and would delete the rows that refer ' +
          'to its rows. Make the change in a migration, which turns foreign keys off.',
      )
    })
  })
})
