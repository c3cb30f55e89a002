import { expect } from 'chai'
import { startGalera } from './support/galera.js'
import { HaProxy } from './support/haproxy.js'
import { PgBouncer } from './support/pgbouncer.js'
import { PostgresNode } from './support/postgres.js'
import { openElsewhere } from '../support/servers.js'

/** The servers of the other specs do what those rely on. */
describe('The servers of the cluster specs', () => {
  const running: { remove(): Promise<void> }[] = []
  const use = <T extends { remove(): Promise<void> }>(server: T): T => {
    running.push(server)
    return server
  }

  afterEach(async () => {
    for (const server of running.splice(0).toReversed()) await server.remove()
  })

  it('PostgreSQL: replicas receive what the primary writes, one of them late, and one is promoted', async () => {
    const primary = use(await PostgresNode.primary())
    const [near, late] = [
      use(await primary.replica('pg2')),
      use(await primary.replica('pg3', ['recovery_min_apply_delay = 3s'])),
    ]
    await primary.query('CREATE TABLE one (id int)')
    await near.caughtUpWith(primary)
    expect(await near.query('SELECT * FROM one')).to.deep.equal([])
    expect(await late.query("SELECT to_regclass('one') AS name")).to.deep.equal([{ name: null }])
    await primary.daemon.stop('SIGKILL')
    await near.promote()
    await near.query('INSERT INTO one VALUES (1)')
    await primary.follow(near)
    expect(await primary.query('SELECT * FROM one')).to.deep.equal([{ id: 1 }])
  })

  it('PgBouncer and HAProxy lead to PostgreSQL, and HAProxy to another one on command', async () => {
    const primary = use(await PostgresNode.primary())
    const replica = use(await primary.replica('pg2'))
    const bouncer = use(await PgBouncer.start(primary))
    expect(bouncer.console('SHOW CONFIG')).to.contain('pool_mode|transaction')
    const proxy = use(await HaProxy.tcp(primary.port, replica.port))
    const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`
    const isReplica = async (): Promise<unknown> => {
      const database = await openElsewhere(url)
      const rows = await database.query('SELECT pg_is_in_recovery() AS so')
      await database.close()
      return rows[0].so
    }
    expect(await isReplica()).to.equal(false)
    await proxy.leadTo(1, 2)
    expect(await isReplica()).to.equal(true)
  })

  it('Galera: each of three nodes writes what the others read', async () => {
    const nodes = (await startGalera()).map(use)
    const [first, second, third] = nodes
    await first?.query('CREATE DATABASE shared')
    await second?.query('CREATE TABLE one (id int PRIMARY KEY)', 'shared')
    await third?.query('INSERT INTO one VALUES (1)', 'shared')
    const sql = 'SET STATEMENT wsrep_sync_wait = 1 FOR SELECT id FROM one'
    for (const node of nodes) expect(await node.query(sql, 'shared')).to.deep.equal([{ id: 1 }])
  })
})
