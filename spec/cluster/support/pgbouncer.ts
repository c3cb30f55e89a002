import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../support/servers/free-port.js'
import { Daemon, folderOf, runAs } from './daemon.js'
import { postgresProgram, PROGRAMS } from './programs.js'
import { queryOnce } from './query.js'
import type { PostgresNode } from './postgres.js'

/** The user that runs it, as on Debian. */
const user = 'postgres'

/** PgBouncer in transaction mode. All other settings are those with which Debian installs it. */
export class PgBouncer {
  private constructor(
    readonly port: number,
    readonly daemon: Daemon,
    private readonly folder: string,
  ) {}

  /** @param settings further lines of its configuration */
  static async start(server: { port: number }, settings: readonly string[] = []): Promise<PgBouncer> {
    const [folder, port] = [folderOf(user), await freePort()]
    const daemon: Daemon = new Daemon({
      program: PROGRAMS.pgbouncer,
      args: [join(folder, 'pgbouncer.ini')],
      user,
      folder,
      isReady: async (): Promise<boolean> => bouncer.responds(),
    })
    const bouncer: PgBouncer = new PgBouncer(port, daemon, folder)
    bouncer.configure(server, settings)
    await daemon.start()
    return bouncer
  }

  url(database: string): string {
    return `postgres://postgres@127.0.0.1:${this.port}/${database}`
  }

  /** Runs a statement on the server, through one of its connections. */
  query<T = Record<string, unknown>>(sql: string, database: string): Promise<T[]> {
    return queryOnce<T>(this.url(database), sql)
  }

  /** Runs a command of its console: `SHOW POOLS`, `PAUSE`, `RELOAD`. */
  console(command: string): string {
    const address = ['-h', '127.0.0.1', '-p', String(this.port), '-U', 'postgres', '-d', 'pgbouncer']
    return runAs(user, this.folder, postgresProgram('psql'), ...address, '-Atc', command)
  }

  /** Leads new connections to another server. */
  leadTo(node: PostgresNode, settings: readonly string[] = []): void {
    this.configure(node, settings)
    this.console('RELOAD')
  }

  remove(): Promise<void> {
    return this.daemon.remove()
  }

  private configure({ port }: { port: number }, settings: readonly string[]): void {
    const { folder } = this
    writeFileSync(join(folder, 'users.txt'), '"postgres" ""\n')
    writeFileSync(
      join(folder, 'pgbouncer.ini'),
      `[databases]
* = host=127.0.0.1 port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${this.port}
unix_socket_dir =
auth_type = trust
auth_file = ${folder}/users.txt
admin_users = postgres
pool_mode = transaction
${settings.join('\n')}
`,
    )
  }

  private responds(): boolean {
    try {
      this.console('SHOW VERSION')
      return true
    } catch {
      return false
    }
  }
}
