import { expect } from 'chai'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { newDatabase } from '../../support/databases.js'
import { engine } from '../../support/engine.js'
import { kit, kitProcess, newApplication, root, type Run } from '../../support/kit.js'

describe(`kit query on ${engine}`, () => {
  let application: Awaited<ReturnType<typeof newApplication>>
  const env: NodeJS.ProcessEnv = {}

  before(async () => {
    const db = { sqlite: 'sqlite', postgres: 'postgres', mariadb: 'mysql' }[engine]
    application = await newApplication('--db', db)
    for (const folder of ['src/models', 'migrations']) {
      cpSync(join(root, 'examples/blog', folder), join(application.folder, folder), { recursive: true })
    }
    if (engine !== 'sqlite') env['DATABASE_URL'] = await newDatabase()
    await kit(application.folder, ['db', 'migrate'], { env })
    const lines = [1, 2, 3].map((n) => `await database.manager.save(Post, { title: 'Post ${n}' })`)
    await kit(application.folder, ['console'], { env, input: lines.join('\n') })
  })
  after(() => application.remove())

  const query = (...args: string[]): Promise<Run> => kit(application.folder, ['query', ...args], { env })
  const rowsOf = ({ output, errors }: Run): unknown => {
    expect(errors).to.equal('')
    return JSON.parse(output)
  }

  it('prints the rows of a statement as JSON, without a terminal', async () => {
    const sql = 'select title, description from posts order by title'
    expect(rowsOf(await query(sql))).to.deep.equal(
      [1, 2, 3].map((n) => ({ title: `Post ${n}`, description: null })),
    )
    expect(rowsOf(await query(`${sql};`, '--limit', '2'))).to.have.length(2)
  })

  it('explains a statement', async () => {
    expect(JSON.stringify(rowsOf(await query('select * from posts', '--explain')))).to.match(/posts/i)
  })

  it('hides secrets, unless they are asked for', async () => {
    const sql = "select 'x' as password_digest, 'y' as title, null as token"
    expect(rowsOf(await query(sql))).to.deep.equal([
      { password_digest: '[FILTERED]', title: 'y', token: null },
    ])
    expect(rowsOf(await query(sql, '--show-secrets'))).to.deep.equal([
      { password_digest: 'x', title: 'y', token: null },
    ])
  })

  it('changes nothing, whatever the statement is', async () => {
    const before = rowsOf(await query('select * from posts order by id'))
    expect(writes()).to.have.length.above(100)
    for (const sql of writes()) {
      const { status, errors } = await query(sql)
      if (status !== 0) expect(errors, sql).to.match(/\S/)
    }
    expect(rowsOf(await query('select * from posts order by id'))).to.deep.equal(before)
    expect((await query("delete from posts where title = 'Post 1'")).errors).to.equal(
      'kit query only runs statements that read, like "select * from posts". To change records, or to run anything else, use `kit console`.',
    )
    expect((await query('select 1; delete from posts')).errors).to.match(/^kit query runs one statement/)
  })

  it('names the mistake of a statement', async () => {
    const { status, errors } = await query('select * from nothing')
    expect(status).to.equal(1)
    expect(errors).to.match(/nothing/)
    expect(errors).not.to.match(/ at /)
  })

  it('ends a statement that runs for too long', async () => {
    const { status, errors } = await kitProcess(
      application.folder,
      ['query', endless, '--timeout', '1 second'],
      { env },
    )
    expect(status).not.to.equal(0)
    expect(errors).to.equal('The statement was ended after 1 s. Pass --timeout to let it run for longer.')
  })
})

const endless =
  engine === 'sqlite'
    ? 'with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n'
    : engine === 'postgres'
      ? 'select count(*) from generate_series(1, 100000) a, generate_series(1, 100000) b'
      : 'select count(*) from information_schema.columns a, information_schema.columns b, information_schema.columns c'

/** Statements that would write, in several spellings. */
function writes(): string[] {
  const plain = [
    "insert into posts (id, title) values ('1', 'x')",
    "update posts set title = 'x'",
    'delete from posts',
    'drop table posts',
    'alter table posts add column x int',
    'truncate table posts',
    "replace into posts (id, title) values ('1', 'x')",
    'create table copies as select * from posts',
  ]
  const disguised = [
    'with gone as (delete from posts returning id) select * from gone',
    "with gone as (update posts set title = 'x' returning id) select * from gone",
    'with gone as (select 1) delete from posts',
    'explain analyze delete from posts',
    'explain analyze select * from posts where id in (select id from posts)',
    'pragma writable_schema = on',
    'pragma user_version = 7',
    'pragma query_only = off',
    'show tables',
    'values (1)',
    'select * into copies from posts',
    'select * from posts for update',
    "select title into outfile '/dev/full' from posts",
    'describe posts',
    'table posts',
  ]
  const comments = plain.flatMap((sql) => [
    `-- a comment\n${sql}`,
    `/* select */ ${sql}`,
    `select 1; ${sql}`,
    ` ${sql};`,
    `(${sql})`,
    sql.toUpperCase(),
  ])
  const elsewhere = [
    "select setval('posts_id_seq', 7)",
    "select nextval('posts_id_seq')",
    'select pg_advisory_lock(1)',
    "select set_config('transaction_read_only', 'off', false)",
    'set transaction read write; delete from posts',
    'set session characteristics as transaction read write',
    'set global read_only = 0',
    'start transaction read write',
    'set @title = 1',
    'do $$ begin delete from posts; end $$',
    'do sleep(0)',
    'call rename_posts()',
    'copy posts to stdout',
    "copy posts from program 'echo 1'",
    'prepare gone as delete from posts',
    'execute gone',
    "execute immediate 'delete from posts'",
    'create temporary table copies as select * from posts',
    'create view copies as select * from posts',
    'create index posts_copies on posts (title)',
    'drop index posts_title',
    'rename table posts to copies',
    'alter table posts rename to copies',
    'lock tables posts write',
    "attach database 'copies.sqlite' as copies",
    "vacuum into 'copies.sqlite'",
    'vacuum',
    'reindex',
    'analyze posts',
    'optimize table posts',
    'grant all on posts to public',
    "comment on table posts is 'x'",
    'notify posts',
    'merge into posts using posts p on false when not matched then do nothing',
    'with gone as materialized (delete from posts returning id) select * from gone',
  ]
  const ends = ['commit', 'begin', 'rollback; delete from posts', '']
  return [...plain, ...disguised, ...comments, ...elsewhere, ...ends]
}
