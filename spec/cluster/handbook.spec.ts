import { join } from 'node:path'
import { expect } from 'chai'
import { codeBlocks } from '../support/documentation/code-blocks.js'
import { freePort } from '../support/servers/free-port.js'
import { Daemon, folderOf, writeFor } from './support/daemon.js'
import { notes } from './support/notes.js'
import { PostgresNode } from './support/postgres.js'
import { PROGRAMS } from './support/programs.js'
import { queryOnce } from './support/query.js'
import { until } from './support/until.js'

/** A configuration of docs/scaling.md, with other addresses. Every replacement must be needed. */
function configuration(name: string, replacements: Record<string, string>): string {
  const blocks = codeBlocks().filter(({ page }) => page === 'docs/scaling.md')
  const block = blocks.find(({ code }) => code.split('\n')[0]?.includes(name))
  let text = block?.code ?? ''
  for (const [old, own] of Object.entries(replacements)) {
    expect(text, name).to.include(old)
    text = text.replace(old, own)
  }
  return text
}

describe('The configuration in docs/scaling.md', () => {
  const running: { remove(): Promise<void> }[] = []

  after(async () => {
    for (const one of running.toReversed()) await one.remove()
  })

  function use<T extends { remove(): Promise<void> }>(one: T): T {
    running.push(one)
    return one
  }

  async function pooler(port: number): Promise<string> {
    const [user, own] = ['postgres', await freePort()]
    const folder = folderOf(user)
    const file = join(folder, 'pgbouncer.ini')
    const replacements = {
      'port=5432': `port=${port}`,
      'listen_addr = *': 'listen_addr = 127.0.0.1\nunix_socket_dir =',
      'listen_port = 6432': `listen_port = ${own}`,
      'auth_type = scram-sha-256': 'auth_type = trust',
      '/etc/pgbouncer/userlist.txt': join(folder, 'users.txt'),
    }
    writeFor(user, join(folder, 'users.txt'), '"postgres" ""\n')
    writeFor(user, file, configuration('pgbouncer.ini', replacements))
    const url = `postgres://postgres@127.0.0.1:${own}/blog`
    const isReady = (): Promise<boolean> => queryOnce(url, 'SELECT 1').then(Boolean, () => false)
    await use(new Daemon({ program: PROGRAMS.pgbouncer, args: [file], user, folder, isReady })).start()
    return url
  }

  async function balancer(hosts: readonly string[]): Promise<string> {
    const [user, own] = ['nobody', await freePort()]
    const folder = folderOf(user)
    const file = join(folder, 'haproxy.cfg')
    const [first = '', second = ''] = hosts.map((url) => new URL(url).host)
    const replacements = {
      'bind :443 ssl crt /etc/haproxy/blog.pem alpn h2,http/1.1': `bind 127.0.0.1:${own}`,
      '10.0.0.11:3000': first,
      '10.0.0.12:3000': second,
    }
    writeFor(user, file, configuration('haproxy.cfg', replacements))
    const url = `http://127.0.0.1:${own}`
    const isReady = (): Promise<boolean> =>
      fetch(`${url}/up`).then(
        ({ ok }) => ok,
        () => false,
      )
    const args = ['-db', '-f', file]
    await use(new Daemon({ program: PROGRAMS.haproxy, args, user, folder, isReady })).start()
    return url
  }

  it('serves two hosts by HAProxy, PgBouncer, a primary and a replica, and a host that is gone fails no read', async () => {
    const primary = use(await PostgresNode.primary())
    const replica = use(await primary.replica('pg2'))
    await primary.query('CREATE DATABASE blog')
    const url = await pooler(primary.port)
    const settings = { url, replicas: [primary.url('blog'), replica.url('blog')] }
    const [first, second] = [notes(settings), notes(settings)]
    await first.database.open()
    await first.database.migrate()
    await replica.caughtUpWith(primary)
    const hosts = [await first.app.listen(0), await second.app.listen(0)]
    for (const { app } of [first, second]) running.push({ remove: () => app.close() })
    for (const { log } of [first, second]) await until(() => log.text().includes('is used.'))
    const site = await balancer(hosts)

    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    const body = JSON.stringify({ text: 'one', count: 0 })
    const created = await fetch(`${site}/notes`, { method: 'POST', headers, body })
    expect(created.status).to.equal(201)
    const { id } = (await created.json()) as { id: string }
    const cookie = created.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const read = (): Promise<Response> => fetch(`${site}/notes/${id}`, { headers: { ...headers, cookie } })
    for (let count = 0; count < 10; count += 1) expect((await read()).status).to.equal(200)
    const server = await fetch(`${site}/servers`, { headers })
    expect(await server.json()).to.deep.equal({ port: replica.port })

    await second.app.close()
    for (let count = 0; count < 10; count += 1) expect((await read()).status).to.equal(200)
    const lines = [first, second].map(({ log }) => log.lines.filter(({ method }) => method === 'GET').length)
    expect(Math.min(...lines)).to.be.greaterThan(0)
  })
})
