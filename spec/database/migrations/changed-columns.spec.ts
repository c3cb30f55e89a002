import { expect } from 'chai'
import { Table, TableColumn, TableIndex } from 'typeorm'
import type { QueryRunner } from 'typeorm'
import { Database } from '../../../src/database/database.js'
import { column } from '../../../src/index.js'
import { newDatabase } from '../../support/databases.js'
import { engine } from '../../support/engine.js'
import { failure } from '../../support/failure.js'

describe('A migration that changes a column', () => {
  let database: Database
  let runner: QueryRunner

  beforeEach(async () => {
    database = await new Database({ test: { url: await newDatabase() } }, 'test').open()
    runner = database.createQueryRunner()
    await runner.beforeMigration()
    const columns = [
      { name: 'id', type: 'int', isPrimary: true },
      column(runner, 'code', 'string', { length: '20', isNullable: true, default: "'7'" }),
      column(runner, 'size', 'int', { isNullable: true }),
      column(runner, 'state', 'enum', { enum: ['open', 'done'], isNullable: true }),
    ]
    await runner.createTable(new Table({ name: 'parts', columns }))
    await runner.createIndex('parts', new TableIndex({ name: 'parts_code', columnNames: ['code', 'size'] }))
    await database.query("INSERT INTO parts (id, code, size, state) VALUES (1, '12', 5, 'open')")
  })

  afterEach(async () => {
    await runner.release()
    await database.close()
  })

  async function change(
    name: string,
    details: Parameters<typeof column>[3] & { type?: string },
  ): Promise<void> {
    const found = (await runner.getTable('parts'))?.findColumnByName(name) ?? new TableColumn()
    await runner.changeColumn('parts', name, Object.assign(found.clone(), details))
  }

  async function row(): Promise<unknown> {
    const [first]: object[] = await database.query('SELECT code, size, state FROM parts WHERE id = 1')
    return first
  }

  it('keeps its values and indexes if the length or the type is another one', async () => {
    await change('code', { length: '40' })
    await change('size', { type: 'varchar', length: '10' })
    expect(await row()).to.deep.equal({ code: '12', size: '5', state: 'open' })
    const { indices = [], columns = [] } = (await runner.getTable('parts')) ?? {}
    expect(indices.map(({ name }) => name)).to.include('parts_code')
    expect(columns.find(({ name }) => name === 'code')).to.include({ length: '40', default: "'7'" })
    await database.query('INSERT INTO parts (id) VALUES (2)')
  })

  it('keeps its values if it becomes an enum, or is none any more', async () => {
    await change('state', { type: 'varchar', length: '10', enum: undefined, enumName: undefined })
    await database.query("UPDATE parts SET state = 'lost'")
    expect(await row()).to.include({ state: 'lost' })
    const { type, ...details } = column(runner, 'code', 'enum', { enum: ['7', '12'] })
    await change('code', { ...details, type, length: '' })
    expect(await row()).to.include({ code: '12' })
    await database.query('INSERT INTO parts (id) VALUES (2)')
    expect(await database.query('SELECT code FROM parts WHERE id = 2')).to.deep.equal([{ code: '7' }])
  })

  it('keeps its check and its collation, and can make it unique', async () => {
    const collation = { sqlite: 'NOCASE', postgres: '"C"', mariadb: 'utf8mb4_unicode_ci' }[engine]
    await database.query(
      `CREATE TABLE users (login varchar(20) COLLATE ${collation} CHECK (login <> 'root'), age int CHECK (age > 17))`,
    )
    const table = await runner.getTable('users')
    const { type, collation: before } = table?.findColumnByName('login') ?? new TableColumn()
    const changed = new TableColumn({ name: 'login', type, length: '30', isUnique: true })
    await runner.changeColumn('users', 'login', changed)
    const after = (await runner.getTable('users'))?.findColumnByName('login')
    expect(after).to.include({ length: '30' })
    if (engine !== 'sqlite') expect(after).to.include({ collation: before })
    const age = table?.findColumnByName('age') ?? changed
    await runner.changeColumn('users', 'age', Object.assign(age.clone(), { isNullable: false }))
    const insert = (login: string, years: number) =>
      database.query(`INSERT INTO users (login, age) VALUES ('${login}', ${years})`)
    await insert('ada', 20)
    for (const [login, years] of [
      ['ada', 21],
      ['root', 21],
      ['bob', 5],
    ] as const)
      expect(await failure(insert(login, years)), login).to.be.an('error')
    if (engine !== 'postgres') expect(await failure(insert('ADA', 21))).to.be.an('error')
  })

  it('can be renamed', async () => {
    await runner.renameColumn('parts', 'code', 'number')
    await runner.renameColumn('parts', 'state', 'phase')
    expect(await database.query('SELECT number, phase FROM parts')).to.deep.equal([
      { number: '12', phase: 'open' },
    ])
    const { indices = [] } = (await runner.getTable('parts')) ?? {}
    expect(indices.find(({ name }) => name === 'parts_code')?.columnNames).to.have.members(['number', 'size'])
  })

  if (engine !== 'postgres') return

  it('still counts its rows', async () => {
    await database.query('CREATE TABLE counts (id serial PRIMARY KEY, note text)')
    const id = (await runner.getTable('counts'))?.findColumnByName('id') ?? new TableColumn()
    await runner.changeColumn('counts', 'id', Object.assign(id.clone(), { type: 'bigint' }))
    await database.query("INSERT INTO counts (note) VALUES ('one')")
    expect(await database.query('SELECT id FROM counts')).to.deep.equal([{ id: '1' }])
  })
})
