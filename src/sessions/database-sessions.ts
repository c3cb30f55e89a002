import { Table } from 'typeorm'
import type { ObjectLiteral, QueryRunner, SelectQueryBuilder } from 'typeorm'
import { asciiJson } from '../common/ascii-json.js'
import { column } from '../database/columns.js'
import type { Database } from '../database/database.js'
import { engineOf } from '../database/engines/engines.js'
import { ExpiringTable } from '../database/expiring-table.js'
import { ServiceUnavailable } from '../errors.js'
import { readSession, type KeepOptions, type SessionData, type SessionStore } from './session-store.js'

/** The options of `databaseSessions()`. */
export interface DatabaseSessionsOptions {
  /** The name of the table (`sessions`). A migration creates it with `sessionsTable()`. */
  table?: string
  /** Milliseconds between two clean-ups of expired sessions (10 minutes). */
  cleanUpEvery?: number
  /** Returns the time in milliseconds (`Date.now`). */
  now?: () => number
}

/**
 * Keeps sessions in the application's own database.
 *
 * @example
 * const app = new App({ sessionName: '_blog_session', sessionStore: databaseSessions(database) })
 */
export function databaseSessions(database: Database, options: DatabaseSessionsOptions = {}): SessionStore {
  return new DatabaseSessions(database, options)
}

/**
 * The table of sessions, for a migration.
 *
 * @example
 * export class CreateSessions1795132900000 implements MigrationInterface {
 *   async up(runner: QueryRunner) {
 *     await runner.createTable(sessionsTable(runner))
 *   }
 *   async down(runner: QueryRunner) {
 *     await runner.dropTable('sessions')
 *   }
 * }
 */
export function sessionsTable(runner: QueryRunner, name = 'sessions'): Table {
  return new Table({
    name,
    columns: [
      // The hash of an id, 43 characters.
      column(runner, 'id', 'string', { isPrimary: true, length: '64' }),
      column(runner, 'content', 'text'),
      // Milliseconds since 1970: the same in every engine and time zone.
      column(runner, 'expires_at', 'bigint'),
      column(runner, 'used_at', 'bigint'),
      // The value `user_id` of the session.
      column(runner, 'user_id', 'string', { isNullable: true, length: '64' }),
    ],
    indices: ['expires_at', 'user_id'].map((it) => ({ name: `${name}_${it}`, columnNames: [it] })),
  })
}

/** Milliseconds after which the time of a session's last use is written again. */
const useInterval = 60 * 60 * 1000

/** A row of the table, as the driver returns it. */
interface Row {
  content: string
  used_at: string | number
  user_id: string | null
}

class DatabaseSessions extends ExpiringTable implements SessionStore {
  constructor(database: Database, { table: name = 'sessions', cleanUpEvery, now }: DatabaseSessionsOptions) {
    const loss = 'This ends all sessions.'
    super(database, { name, describe: sessionsTable, expiresAt: 'expires_at', cleanUpEvery, now, loss })
  }

  async get(id: string): Promise<SessionData | undefined> {
    const now = this.now()
    const query = this.database
      .createQueryBuilder()
      .select(['session.content AS content', 'session.used_at AS used_at', 'session.user_id AS user_id'])
      .from(this.table, 'session')
      .where('session.id = :id AND session.expires_at > :now', { id, now })
    const row = await this.run(() => this.read(query))
    // Only for sessions of users. A failure to write the time of the last use does not affect the request.
    if (row?.user_id && Number(row.used_at) <= now - useInterval)
      await this.update(id, { used_at: now }).catch(() => undefined)
    return row && readSession(row.content)
  }

  /** Reads a row. On a cluster, the query waits until this node has the writes of the others. */
  private async read(query: SelectQueryBuilder<ObjectLiteral>): Promise<Row | undefined> {
    const afterOthers = engineOf(this.database).afterOthers?.(this.database)
    if (afterOthers === undefined) return query.getRawOne<Row>()
    const [sql, values] = query.getQueryAndParameters()
    const [row]: Row[] = await this.database.query(afterOthers + sql, values)
    return row
  }

  async set(id: string, data: SessionData, { maxAge, isNew }: KeepOptions): Promise<boolean> {
    const now = this.now()
    const row = { content: asciiJson(data), expires_at: now + maxAge, used_at: now, user_id: userIdOf(data) }
    if (!isNew) return this.update(id, row)
    await this.insert({ id, ...row })
    await this.cleanUp()
    return true
  }

  destroy(id: string): Promise<void> {
    return this.delete(id)
  }

  async check(): Promise<void> {
    if (!(await this.database.ping())) throw new ServiceUnavailable('The database does not respond.', 5)
  }
}

/** The id of the user of a session. */
function userIdOf(data: SessionData): string | null {
  const id: unknown = Object(data['content'])['user_id']
  return typeof id === 'string' && id.length <= 64 ? id : null
}
