import Sqlite from 'better-sqlite3'
import { expect } from 'chai'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { kit, newApplication, type Run } from '../../support/kit.js'

describe('kit db check', () => {
  let application: Awaited<ReturnType<typeof newApplication>>

  before(async () => {
    application = await newApplication()
    const queries = ['--filter', 'title,votes', '--sort', 'title,votes', '--search', 'title']
    const made = await kit(application.folder, [
      'generate',
      'resource',
      'post',
      'title',
      'votes:int',
      ...queries,
    ])
    expect(made.status, made.errors).to.equal(0)
  })
  after(() => application.remove())

  const check = (): Promise<Run> => kit(application.folder, ['db', 'check'])

  function run(sql: string): void {
    const database = new Sqlite(join(application.folder, 'db/development.sqlite'))
    database.exec(sql)
    database.close()
  }

  const missing = (what: string, names: string) =>
    `PostsResource.list: It ${what}, which has no index for that. Add one in a migration: await runner.createIndex('posts', new TableIndex({ columnNames: [${names}] })).`

  it('reports a missing database', async () => {
    const { status, errors } = await check()
    expect([status, errors]).to.deep.equal([
      1,
      'The database db/development.sqlite does not exist. Create it with `kit db migrate`.',
    ])
  })

  it('finds nothing in a generated application', async () => {
    await kit(application.folder, ['db', 'migrate'])
    expect(await check()).to.deep.equal({
      status: 0,
      output: 'The database has all indexes that the lists need.',
      errors: '',
    })
  })

  it('finds nothing in a list of records with an owner that is filtered by an id and by yes or no', async () => {
    const columns = 'code:uuid flag:bool placed_at:datetime author:references'.split(' ')
    const lists = ['--filter', 'code,flag', '--sort', 'placed_at']
    await kit(application.folder, ['generate', 'resource', 'author', 'name'])
    await kit(application.folder, ['generate', 'resource', 'order', ...columns, ...lists])
    await kit(application.folder, ['db', 'migrate'])
    run('DROP INDEX orders_placed_at; CREATE INDEX orders_placed_at ON orders (author_id, placed_at, id)')
    expect(await check()).to.include({ status: 0, errors: '' })
  })

  it('names each index that is missing, and fails', async () => {
    run('DROP INDEX posts_title; DROP INDEX posts_title_prefix; DROP INDEX posts_votes')
    expect(await check()).to.deep.equal({
      status: 1,
      output: [
        "PostsResource.list: It finds the beginning of posts.title, which has no index for that. Add one in a migration: await prefixIndex(runner, 'posts', 'title').",
        missing('sorts by posts.title', "'title', 'id'"),
        missing('sorts by posts.votes', "'votes', 'id'"),
      ].join('\n'),
      errors: 'The database has 3 problems.',
    })
  })

  it('accepts an index whose first column is that of the list', async () => {
    run('CREATE INDEX other ON posts (votes, title); CREATE INDEX another ON posts (title)')
    const { status, output } = await check()
    expect([status, output]).to.deep.equal([0, 'The database has all indexes that the lists need.'])
  })

  it('counts references to records of another parent, and fails, and names unique indexes over all parents', async () => {
    const below = ['--parent', 'branch']
    await kit(application.folder, ['generate', 'resource', 'branch', 'name'])
    await kit(application.folder, ['generate', 'resource', 'customer', 'name', ...below])
    await kit(application.folder, ['generate', 'resource', 'rental', 'customer:references', ...below])
    await kit(application.folder, ['db', 'migrate'])
    const now = "'2026-01-01 00:00:00.000', '2026-01-01 00:00:00.000'"
    run(`
      INSERT INTO branches (id, name, created_at, updated_at) VALUES ('a', 'A', ${now}), ('b', 'B', ${now});
      INSERT INTO customers (id, name, branch_id, created_at, updated_at) VALUES ('c', 'C', 'a', ${now});
      INSERT INTO rentals (id, customer_id, branch_id, created_at, updated_at)
        VALUES ('d', 'c', 'a', ${now}), ('e', 'c', 'b', ${now}), ('f', 'c', 'b', ${now});
      CREATE UNIQUE INDEX customers_name ON customers (name);
    `)
    expect(await check()).to.deep.equal({
      status: 1,
      output: [
        'Rental.customer: 2 stored references lead out of the parent (see @Within). No request can store such a reference, but pages show the record to visitors who may see it. Correct it with SQL or in the console.',
        'Note: The values of name in customers are unique over all parents (customers_name), so a conflict tells what others have. If they need only be unique within one, let the index begin with branch_id.',
      ].join('\n'),
      errors: 'The database has 1 problem.',
    })
    run("DELETE FROM rentals WHERE branch_id = 'b'")
    const { status, output } = await check()
    expect([status, output.split('\n').at(-1)]).to.deep.equal([
      0,
      'The database has all indexes that the lists need.',
    ])
  })

  it('reports a declaration that does not fit the model', async () => {
    const file = join(application.folder, 'src/actions/posts.ts')
    writeFileSync(file, readFileSync(file, 'utf8').replace("search: ['title']", "search: ['votes']"))
    const { status, errors } = await check()
    expect(status).to.equal(1)
    expect(errors).to.contain('searches in "votes", which has the kind int.')
  })
})
