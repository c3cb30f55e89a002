import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createConnection } from 'mysql2/promise'
import { freePort } from '../../support/servers/free-port.js'
import { Daemon, folderOf, runAs } from './daemon.js'
import { PROGRAMS } from './programs.js'
import { queryOnce } from './query.js'

const user = 'mysql'

/** A node of a Galera cluster. */
export class GaleraNode {
  readonly daemon: Daemon

  private constructor(
    readonly port: number,
    /** The port on which the nodes reach each other. */
    readonly peerPort: number,
    private readonly folder: string,
    private readonly transferPort: number,
    peers: readonly number[],
  ) {
    this.daemon = new Daemon({
      program: PROGRAMS.mariadbd,
      args: this.arguments(peers),
      user,
      folder,
      isReady: () => this.isReady(),
    })
  }

  /** Creates a node that has not started, with the data of another one that has stopped. */
  static async create(peers: readonly number[], peerPort: number, from?: GaleraNode): Promise<GaleraNode> {
    const folder = folderOf(user)
    const node = new GaleraNode(await freePort(), peerPort, folder, await freePort(), peers)
    if (from) runAs(user, folder, 'cp', '-r', from.data, node.data)
    else node.prepare()
    // The identity of the other node.
    if (from) rmSync(join(node.data, 'gvwstate.dat'), { force: true })
    return node
  }

  get data(): string {
    return join(this.folder, 'data')
  }

  url(database = 'mysql'): string {
    return `mysql://root@127.0.0.1:${this.port}/${database}`
  }

  /** Runs a statement in a database of this node, over its own connection. */
  query<T = Record<string, unknown>>(sql: string, database?: string): Promise<T[]> {
    return queryOnce<T>(this.url(database), sql)
  }

  /** Lets the node apply nothing that the others write until the returned function is called. It is read as usual. */
  async pause(): Promise<() => Promise<void>> {
    const connection = await createConnection(this.url())
    await connection.query('FLUSH TABLES WITH READ LOCK')
    return async () => {
      await connection.query('UNLOCK TABLES')
      await connection.end()
    }
  }

  remove(): Promise<void> {
    return this.daemon.remove()
  }

  private prepare(): void {
    const options = ['--no-defaults', `--datadir=${this.data}`, '--skip-test-db']
    runAs(user, this.folder, 'mariadb-install-db', ...options, '--auth-root-authentication-method=normal')
  }

  private arguments(peers: readonly number[]): string[] {
    const { folder, data, port, peerPort, transferPort } = this
    const provider = ['gcache.size=16M', 'gcs.fc_limit=16', 'pc.announce_timeout=PT1S']
    const own = [`gmcast.listen_addr=tcp://127.0.0.1:${peerPort}`, `ist.recv_addr=127.0.0.1:${transferPort}`]
    return [
      '--no-defaults',
      `--datadir=${data}`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      `--socket=${folder}/socket`,
      `--pid-file=${folder}/pid`,
      '--binlog-format=ROW',
      '--innodb-autoinc-lock-mode=2',
      '--innodb-buffer-pool-size=32M',
      '--innodb-flush-log-at-trx-commit=0',
      '--max-connections=200',
      '--wsrep-on=ON',
      `--wsrep-provider=${PROGRAMS.galera}`,
      `--wsrep-cluster-address=gcomm://${peers.map((peer) => `127.0.0.1:${peer}`).join(',')}`,
      '--wsrep-node-address=127.0.0.1',
      '--wsrep-slave-threads=2',
      '--wsrep-sst-method=rsync',
      `--wsrep-provider-options=${[...own, ...provider].join(';')}`,
    ]
  }

  private async isReady(): Promise<boolean> {
    const rows = await this.query<{ Value: string }>("SHOW STATUS LIKE 'wsrep_ready'").catch(() => [])
    return rows[0]?.Value === 'ON'
  }
}

/** Starts a cluster of nodes that can all write. */
export async function startGalera(count = 3): Promise<GaleraNode[]> {
  const ports: number[] = []
  while (ports.length < count) ports.push(await freePort())
  const [first = 0, ...others] = ports
  const node = await GaleraNode.create(ports, first)
  await node.daemon.start(['--wsrep-new-cluster'])
  // A copy of a node that has stopped is of the same cluster, so it joins without a transfer of all data.
  await node.daemon.stop()
  const nodes = [node]
  for (const port of others) nodes.push(await GaleraNode.create(ports, port, node))
  await node.daemon.start(['--wsrep-new-cluster'])
  for (const other of nodes.slice(1)) await other.daemon.start()
  return nodes
}
