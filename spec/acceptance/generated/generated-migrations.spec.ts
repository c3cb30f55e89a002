import { expect } from 'chai'
import { Database } from '../../../src/database/database.js'
import { newDatabase } from '../../support/databases.js'
import { Application, withFilledBranch } from '../../support/applications/generated.js'
import { kit } from '../../support/kit.js'

describe('kit generate migration, and kit db migrate', () => {
  let app: Application

  beforeEach(() => (app = Application.web()))
  afterEach(() => app.remove())

  it('add a boolean to a table with rows, which is false for them, and remove it', async () => {
    const env = { DATABASE_URL: await newDatabase() }
    app.linkPackages()
    for (const args of [
      ['generate', 'resource', 'post', 'title', 'shown:bool'],
      ['db', 'migrate'],
    ])
      expect(await kit(app.folder, args, { env })).to.include({ status: 0, errors: '' })
    const database = await new Database({ test: { url: env.DATABASE_URL } }, 'test').open()
    const rows = (columns: string): Promise<object[]> => database.query(`SELECT ${columns} FROM posts`)
    const yes = await database.query('SELECT 1 = 1 AS value').then(([{ value }]) => value)
    await database.query(
      "INSERT INTO posts (id, title, shown) VALUES ('0193b6a2-7c3e-7000-8000-00000000000a', 'A', true)",
    )

    expect((await kit(app.folder, ['g', 'migration', 'add_admin_to_posts', 'admin:bool'])).output).to.match(
      /^ +create +migrations\/\d+_add_admin_to_posts.ts$/,
    )
    await kit(app.folder, ['g', 'migration', 'remove_shown_from_posts', 'shown:bool'])
    expect(await kit(app.folder, ['db', 'migrate'], { env })).to.include({ status: 0, errors: '' })
    const [post] = await rows('title, admin = false AS is_false')
    expect(post).to.deep.equal({ title: 'A', is_false: yes })

    const back = await kit(app.folder, ['db', 'rollback', '--steps', '2'], { env })
    expect(back).to.include({ status: 0, errors: '' })
    expect(await rows('title, shown = false AS is_false')).to.deep.equal([{ title: 'A', is_false: yes }])
    await database.close()
  })

  it('add a branch to the rows of a finished resource, as docs/teams.md says', async () => {
    const env = { DATABASE_URL: await newDatabase() }
    app.linkPackages()
    const run = async (...args: string[]) =>
      expect(await kit(app.folder, args, { env }), args.join(' ')).to.include({ status: 0, errors: '' })
    await run('g', 'model', 'branch', 'name')
    await run('g', 'resource', 'supplier', 'name')
    await run('db', 'migrate')
    const database = await new Database({ test: { url: env.DATABASE_URL } }, 'test').open()
    const [oldest, other, supplier] = ['a', 'b', 'c'].map(
      (end) => `0193b6a2-7c3e-7000-8000-00000000000${end}`,
    )
    for (const [id, day] of [
      [other, '2026-02-02'],
      [oldest, '2026-01-01'],
    ])
      await database.query(`INSERT INTO branches (id, name, created_at) VALUES ('${id}', 'x', '${day}')`)
    await database.query(`INSERT INTO suppliers (id, name) VALUES ('${supplier}', 'A')`)
    const made = await kit(app.folder, ['g', 'migration', 'add_branch_to_suppliers', 'branch:references'])
    const [path = ''] = /migrations\/\S+/.exec(made.output) ?? []
    app.write(path, withFilledBranch(app.read(path)))
    await run('db', 'migrate')
    expect(await database.query('SELECT branch_id FROM suppliers')).to.deep.equal([{ branch_id: oldest }])
    const without = await database
      .query(`INSERT INTO suppliers (id, name) VALUES ('${other}', 'B')`)
      .catch(String)
    expect(without).to.match(/branch_id/)
    const inUse = await database.query(`DELETE FROM branches WHERE id = '${oldest}'`).catch(String)
    expect(inUse).to.match(/foreign key/i)
    await run('db', 'rollback')
    await run('db', 'migrate')
    await database.close()
  })

  it('add references with long names to a table, and remove those of its first migration', async () => {
    const env = { DATABASE_URL: await newDatabase() }
    app.linkPackages()
    const table = 'quarterly_inspection_reports'
    for (const args of [
      ['g', 'model', 'author', 'name'],
      ['g', 'model', 'quarterly_inspection_report', 'author:references', 'editor:nulls.references:author'],
      ['db', 'migrate'],
      ['g', 'migration', `add_people_to_${table}`, 'responsible_department_manager:nulls.references:author'],
      [
        'g',
        'migration',
        `remove_people_from_${table}`,
        'author:references',
        'editor:nulls.references:author',
      ],
      ['db', 'migrate'],
      ['db', 'rollback', '--steps', '2'],
      ['db', 'migrate'],
    ])
      expect(await kit(app.folder, args, { env }), args.join(' ')).to.include({ status: 0, errors: '' })
    app.delete('node_modules')
    expect(await app.unformatted()).to.deep.equal([])
    const database = await new Database({ test: { url: env.DATABASE_URL } }, 'test').open()
    const runner = database.createQueryRunner()
    const keys = (await runner.getTable(table))?.foreignKeys ?? []
    expect(keys.map(({ columnNames }) => columnNames)).to.deep.equal([['responsible_department_manager_id']])
    await runner.release()
    await database.close()
  })

  it('create the index of a list that is sorted by an enum', async () => {
    const env = { DATABASE_URL: await newDatabase() }
    app.linkPackages()
    for (const args of [
      ['g', 'resource', 'product', 'title', 'mood:nulls.enum:good,bad', '--sort', 'mood'],
      ['db', 'migrate'],
      ['db', 'check'],
    ])
      expect(await kit(app.folder, args, { env }), args.join(' ')).to.include({ status: 0, errors: '' })
  })

  it('create a table with two enums and two indexes whose long names have the same beginning', async () => {
    const env = { DATABASE_URL: await newDatabase() }
    app.linkPackages()
    const name = 'quarterly_inspection_of_a_large_department_report'
    const [state, kind] = ['responsible_department_manager_state', 'responsible_department_manager_kind']
    const [brief, brand] = ['responsible_department_manager_brief', 'responsible_department_manager_brand']
    const words = [`${state}:enum:a,b`, `${kind}:enum:c,d`, brief, brand]
    for (const args of [
      ['g', 'resource', name, ...words, '--sort', `${state},${kind}`, '--filter', `${brief},${brand}`],
      ['db', 'migrate'],
      ['db', 'check'],
      ['db', 'rollback'],
      ['db', 'migrate'],
    ])
      expect(await kit(app.folder, args, { env }), args.join(' ')).to.include({ status: 0, errors: '' })
    const database = await new Database({ test: { url: env.DATABASE_URL } }, 'test').open()
    const runner = database.createQueryRunner()
    const found = await runner.getTable(`${name}s`)
    expect(found?.columns.flatMap(({ enum: values }) => values ?? [])).to.have.members(['a', 'b', 'c', 'd'])
    for (const column of [state, kind, brief, brand])
      expect(
        found?.indices.some((index) => index.columnNames.includes(column)),
        column,
      ).to.equal(true)
    await runner.release()
    await database.close()
  })
})
