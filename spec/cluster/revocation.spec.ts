import { expect } from 'chai'
import { Column, Entity, Table, type MigrationInterface, type QueryRunner } from 'typeorm'
import {
  App,
  column,
  Database,
  databaseSessions,
  Model,
  primaryKey,
  sessionsTable,
  timestamps,
  transaction,
} from '../../src/index.js'
import { authenticate, requireUser, signIn, signOut } from '../../src/auth/index.js'
import { captureLog } from '../../src/testing/index.js'
import { PostgresNode } from './support/postgres.js'
import { until } from './support/until.js'

@Entity('users')
class User extends Model {
  @Column('varchar') email!: string
  @Column('varchar') password_hash!: string
  @Column('boolean', { default: false }) suspended!: boolean
}

class CreateUsers1795000000000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    const texts = ['email', 'password_hash'].map((name) => column(runner, name, 'string'))
    const columns = [...texts, column(runner, 'suspended', 'bool', { default: false })]
    const all = [primaryKey(runner), ...columns, ...timestamps(runner)]
    await runner.createTable(new Table({ name: 'users', columns: all }))
    await runner.createTable(sessionsTable(runner))
  }
  async down(runner: QueryRunner) {
    for (const name of ['sessions', 'users']) await runner.dropTable(name)
  }
}

const secret = 'a secret of thirty-two characters'

describe('Users of two hosts whose replica is behind', () => {
  let [primary, replica] = [] as unknown as [PostgresNode, PostgresNode]
  let [first, second] = [] as unknown as [string, string]
  let database: Database
  const apps: App[] = []

  before(async () => {
    primary = await PostgresNode.primary()
    replica = await primary.replica('pg2')
    database = open()
    await database.open()
    await database.migrate()
    await database.manager.save(database.manager.create(User, { email: 'ada', password_hash: 'x' }))
    await replica.caughtUpWith(primary)
    ;[first, second] = await Promise.all([serve(), serve()])
  })

  after(async () => {
    for (const app of apps) await app.close()
    await database.close()
    await replica.remove()
    await primary.remove()
  })

  function open(): Database {
    // The replica is used all the time.
    const staging = { url: primary.url(), replicas: [replica.url()], maxLag: 600_000 }
    return new Database({ staging, models: [User], migrations: [CreateUsers1795000000000] }, 'staging')
  }

  async function serve(): Promise<string> {
    const { logger, text } = captureLog()
    const own = open()
    const app = new App({ env: 'staging', secret, logger, sessionStore: databaseSessions(own) })
    apps.push(app)
    app.use(transaction(own))
    app.use(authenticate(own, User, { isActive: (user) => !user.suspended }))
    app.post('/session', async (ctx) => {
      signIn(ctx, await ctx.findOneBy(User, { email: 'ada' }))
      ctx.status = 204
    })
    app.delete('/session', (ctx) => {
      signOut(ctx)
      ctx.status = 204
    })
    app.use(requireUser())
    app.get('/', async (ctx) => {
      const [row]: object[] = await ctx.tx.query('SELECT inet_server_port() AS port, suspended FROM users')
      ctx.body = row
    })
    const url = await app.listen(0)
    await until(() => text().includes('is used.'))
    return url
  }

  async function send(url: string, method: string, path: string, cookie = ''): Promise<Response> {
    return fetch(url + path, { method, headers: { accept: 'application/json', cookie } })
  }

  /** Signs in at the first host. Returns the session's cookie. */
  async function enter(): Promise<string> {
    const response = await send(first, 'POST', '/session')
    const session = response.headers.getSetCookie().find((one) => one.startsWith('_kit_session='))
    return session?.split(';')[0] ?? ''
  }

  it('are out with the next request when the session ends, the password changes, or they are suspended', async () => {
    await replica.query('SELECT pg_wal_replay_pause()')
    const statuses = async (cookie: string): Promise<number[]> =>
      Promise.all([first, second].map(async (url) => (await send(url, 'GET', '/', cookie)).status))

    const ended = await enter()
    expect(await statuses(ended)).to.deep.equal([200, 200])
    await send(second, 'DELETE', '/session', ended)
    expect(await statuses(ended)).to.deep.equal([401, 401])

    const other = await enter()
    await database.manager.update(User, { email: 'ada' }, { password_hash: 'y' })
    expect(await statuses(other)).to.deep.equal([401, 401])

    const suspended = await enter()
    expect(await (await send(second, 'GET', '/', suspended)).json()).to.deep.equal({
      port: replica.port,
      suspended: false,
    })
    await database.manager.update(User, { email: 'ada' }, { suspended: true })
    expect(await statuses(suspended)).to.deep.equal([401, 401])
  })
})
