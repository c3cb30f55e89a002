import { expect } from 'chai'
import { Table, TableColumn } from 'typeorm'
import type { MigrationInterface, QueryRunner } from 'typeorm'
import { Database } from '../../../src/database/database.js'
import { column } from '../../../src/index.js'
import { newDatabase } from '../../support/databases.js'
import { engine } from '../../support/engine.js'
import { failure } from '../../support/failure.js'

/** A migration that creates a table with enums of these names and values. */
function creates(table: string, enums: Record<string, string[]>): new () => MigrationInterface {
  return class CreateTable1700000000000 implements MigrationInterface {
    async up(runner: QueryRunner): Promise<void> {
      const columns = Object.entries(enums).map(([name, values]) =>
        column(runner, name, 'enum', { enum: values }),
      )
      await runner.createTable(new Table({ name: table, columns }))
    }

    async down(runner: QueryRunner): Promise<void> {
      await runner.dropTable(table)
    }
  }
}

const PUBLIC = creates('members', { state: ['public', 'draft'] })
const PRIVATE = creates('members', { state: ['private', 'draft'] })

describe('The enum of a migration', () => {
  let url: string

  beforeEach(async () => {
    url = await newDatabase()
  })

  async function open(...migrations: (new () => MigrationInterface)[]): Promise<Database> {
    return new Database({ test: { url }, migrations }, 'test').open()
  }

  /** Runs a migration in another process. */
  async function migrate(migration: new () => MigrationInterface): Promise<void> {
    const database = await open(migration)
    await database.migrate().finally(() => database.close())
  }

  it('has the new values if the migration is rolled back, edited and run again', async () => {
    const first = await open(PUBLIC)
    await first.migrate()
    await first.rollback()
    await first.close()
    const database = await open(PRIVATE)
    await database.migrate()
    await database.query("INSERT INTO members (state) VALUES ('private')")
    expect(await failure(database.query("INSERT INTO members (state) VALUES ('public')"))).to.be.an('error')
    await database.close()
  })

  it('can have a name with the same beginning as another one', async () => {
    const table = 'quarterly_inspection_reports_of_departments'
    const [one, other] = ['responsible_manager_state', 'responsible_manager_kind']
    const database = await open(creates(table, { [one]: ['a'], [other]: ['b'] }))
    await database.migrate()
    await database.query(`INSERT INTO ${table} (${one}, ${other}) VALUES ('a', 'b')`)
    await database.rollback()
    await database.migrate()
    await database.close()
  })

  if (engine !== 'postgres') return

  describe('on PostgreSQL', () => {
    /** The types of enums that the database has. */
    async function types(database: Database): Promise<string[]> {
      const rows: { name: string }[] = await database.query(
        "SELECT typname AS name FROM pg_type WHERE typtype = 'e' ORDER BY 1",
      )
      return rows.map(({ name }) => name)
    }

    it('is not the type that another table has left', async () => {
      const database = await open()
      await database.query("CREATE TYPE members_state_enum AS ENUM ('public', 'draft')")
      const error = await failure(migrate(PRIVATE))
      expect(String(error)).to.include(
        'cannot be run: The database has a type "members_state_enum" with other values (public, draft), and no column uses ' +
          "it: it is left from a table that was dropped without its types. Drop it before, by `await runner.query('DROP TYPE " +
          '"members_state_enum"\')`. Its changes were rolled back.',
      )
      await database.query('CREATE TABLE others (state members_state_enum)')
      expect(String(await failure(migrate(PRIVATE)))).to.include(
        'and others.state uses it. Give the new type another name by the option enumName of the column. Its changes',
      )
      await migrate(PUBLIC)
      await database.close()
    })

    it('is dropped with its column, unless another column uses it', async () => {
      const database = await open(PUBLIC)
      await database.migrate()
      const runner = database.createQueryRunner()
      const [values, lists] = [['a', 'b'], ['x']]
      await runner.addColumn('members', new TableColumn({ name: 'mood', type: 'enum', enum: values }))
      const isArray = true
      await runner.addColumn('members', new TableColumn({ name: 'tags', type: 'enum', enum: lists, isArray }))
      expect(await types(database)).to.deep.equal([
        'members_mood_enum',
        'members_state_enum',
        'members_tags_enum',
      ])
      await database.query('CREATE TABLE others (moods members_mood_enum[])')
      for (const name of ['mood', 'tags']) await runner.dropColumn('members', name)
      expect(await types(database)).to.deep.equal(['members_mood_enum', 'members_state_enum'])
      await runner.dropTable('members')
      expect(await types(database)).to.deep.equal(['members_mood_enum'])
      await runner.release()
      await database.close()
    })

    it('is dropped with its table if PostgreSQL has cut its name off', async () => {
      const [table, name] = ['quarterly_inspection_reports_of_departments', 'responsible_manager_state']
      const database = await open()
      await database.query(`CREATE TYPE ${table}_${name}_enum AS ENUM ('a')`)
      await database.query(`CREATE TABLE ${table} (${name} ${table}_${name}_enum)`)
      const runner = database.createQueryRunner()
      await runner.dropTable(table)
      expect(await types(database)).to.deep.equal([])
      await runner.release()
      await database.close()
    })

    it('stays if somebody else has created its type', async () => {
      const database = await open()
      await database.query("CREATE TYPE mood AS ENUM ('a')")
      await database.query('CREATE TABLE members (mood mood)')
      const runner = database.createQueryRunner()
      await runner.dropTable('members')
      expect(await types(database)).to.deep.equal(['mood'])
      await runner.release()
      await database.close()
    })
  })
})
