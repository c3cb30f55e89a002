import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../../support/servers/free-port.js'
import { Daemon, folderOf, runAs } from './daemon.js'
import { postgresProgram } from './programs.js'
import { queryOnce } from './query.js'

const user = 'postgres'

/** A node of a PostgreSQL cluster: a primary, or a replica that streams from one. */
export class PostgresNode {
  readonly daemon: Daemon

  private constructor(
    /** The name by which `synchronous_standby_names` finds it. */
    readonly name: string,
    readonly port: number,
    private readonly folder: string,
  ) {
    const settings = ['listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`]
    this.daemon = new Daemon({
      program: postgresProgram('postgres'),
      args: ['-D', this.data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
      user,
      folder,
      isReady: () => this.responds(),
    })
  }

  /** Starts a primary. */
  static async primary(settings: readonly string[] = []): Promise<PostgresNode> {
    const node = await PostgresNode.create('pg1')
    const initdb = ['-D', node.data, '-A', 'trust', '-U', user, '-E', 'UTF8', '--no-sync']
    runAs(user, node.folder, postgresProgram('initdb'), ...initdb)
    node.configure('fsync = off', 'max_connections = 200', 'wal_keep_size = 256', ...settings)
    await node.daemon.start()
    return node
  }

  /**
   * Starts a replica of this node.
   *
   * @param settings lines of its configuration, for example `recovery_min_apply_delay = 3s`
   */
  async replica(name: string, settings: readonly string[] = []): Promise<PostgresNode> {
    const node = await PostgresNode.create(name)
    await node.follow(this, settings)
    return node
  }

  /** Copies another node, and streams from it. Its earlier data is deleted. */
  async follow(primary: PostgresNode, settings: readonly string[] = []): Promise<void> {
    await this.daemon.stop('SIGKILL')
    rmSync(this.data, { recursive: true, force: true })
    const from = `host=127.0.0.1 port=${primary.port} user=${user} application_name=${this.name}`
    const options = ['-D', this.data, '-d', from, '--checkpoint=fast', '--no-sync', '-X', 'stream', '-R']
    runAs(user, this.folder, postgresProgram('pg_basebackup'), ...options)
    this.configure(...settings)
    await this.daemon.start()
  }

  get data(): string {
    return join(this.folder, 'data')
  }

  /** The url of a database of this node. */
  url(database = 'postgres'): string {
    return `postgres://${user}@127.0.0.1:${this.port}/${database}`
  }

  /** Runs a statement in a database of this node, over its own connection. */
  query<T = Record<string, unknown>>(sql: string, database?: string): Promise<T[]> {
    return queryOnce<T>(this.url(database), sql)
  }

  /** Changes the configuration of the running server. */
  async set(setting: string, value: string): Promise<void> {
    await this.query(`ALTER SYSTEM SET ${setting} = '${value}'`)
    await this.query('SELECT pg_reload_conf()')
  }

  /** Makes a replica the primary. */
  async promote(): Promise<void> {
    await this.query('SELECT pg_promote(true, 60)')
  }

  /** Waits until a replica has replayed everything that its primary has written. */
  async caughtUpWith(primary: PostgresNode): Promise<void> {
    const [row] = await primary.query<{ at: string }>('SELECT pg_current_wal_flush_lsn() AS at')
    const sql = `SELECT pg_last_wal_replay_lsn() >= '${row?.at}' AS has`
    while (!(await this.query<{ has: boolean }>(sql))[0]?.has) await delay(20)
  }

  remove(): Promise<void> {
    return this.daemon.remove()
  }

  private static async create(name: string): Promise<PostgresNode> {
    return new PostgresNode(name, await freePort(), folderOf(user))
  }

  private configure(...settings: string[]): void {
    appendFileSync(join(this.data, 'postgresql.conf'), `\n${settings.join('\n')}\n`)
  }

  private async responds(): Promise<boolean> {
    return this.query('SELECT 1').then(
      () => true,
      () => false,
    )
  }
}
