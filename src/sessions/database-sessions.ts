import { Table } from 'typeorm'
import type { QueryRunner } from 'typeorm'
import { column } from '../data/columns.js'
import type { Database } from '../data/database.js'
import { explainMissingTable } from '../data/migrations/pending.js'
import { ServiceUnavailable } from '../errors.js'
import { readSession, type KeepOptions, type SessionData, type SessionStore } from './session-store.js'

/** The options of `databaseSessions()`. */
export interface DatabaseSessionsOptions {
  /** The name of the table (`sessions`). A migration creates it with `sessionsTable()`. */
  table?: string
  /** Milliseconds between two clean-ups of expired sessions (10 minutes). */
  cleanUpEvery?: number
  /** The clock. */
  now?: () => number
}

/** The number of expired sessions that are deleted at a time, so that the request that does it is not delayed. */
const cleanUpLimit = 500

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
    ],
    indices: [{ name: `${name}_expires_at`, columnNames: ['expires_at'] }],
  })
}

/** A row of the table. */
interface Row {
  content: string
}

class DatabaseSessions implements SessionStore {
  private readonly table: string
  private readonly cleanUpEvery: number
  private readonly now: () => number
  private cleanedUp = 0

  constructor(
    private readonly database: Database,
    { table = 'sessions', cleanUpEvery = 10 * 60 * 1000, now = Date.now }: DatabaseSessionsOptions,
  ) {
    this.table = table
    this.cleanUpEvery = cleanUpEvery
    this.now = now
  }

  async get(id: string): Promise<SessionData | undefined> {
    const row = await this.ask(() =>
      this.database
        .createQueryBuilder()
        .select('session.content', 'content')
        .from(this.table, 'session')
        .where('session.id = :id AND session.expires_at > :now', { id, now: this.now() })
        .getRawOne<Row>(),
    )
    return row && readSession(row.content)
  }

  async set(id: string, data: SessionData, { maxAge, isNew }: KeepOptions): Promise<boolean> {
    const row = { content: asciiJson(data), expires_at: this.now() + maxAge }
    if (isNew) {
      await this.ask(() =>
        this.database
          .createQueryBuilder()
          .insert()
          .into(this.table)
          .values({ id, ...row })
          .execute(),
      )
      await this.cleanUp()
      return true
    }
    const update = this.database.createQueryBuilder().update(this.table).set(row).where('id = :id', { id })
    const { affected } = await this.ask(() => update.execute())
    return affected !== 0
  }

  async destroy(id: string): Promise<void> {
    await this.ask(() =>
      this.database.createQueryBuilder().delete().from(this.table).where('id = :id', { id }).execute(),
    )
  }

  async start(): Promise<void> {
    await this.database.open()
  }

  stop(): Promise<void> {
    return this.database.close()
  }

  async check(): Promise<void> {
    if (!(await this.database.ping())) throw new ServiceUnavailable('The database does not respond.', 5)
  }

  /** Deletes some expired sessions from time to time, when a session begins. A failure does not affect that session. */
  private async cleanUp(): Promise<void> {
    const now = this.now()
    if (now < this.cleanedUp + this.cleanUpEvery) return
    this.cleanedUp = now
    const count = await this.deleteExpired(now).catch(() => 0)
    // There may be more, which are deleted when the next session begins.
    if (count === cleanUpLimit) this.cleanedUp = 0
  }

  private async deleteExpired(now: number): Promise<number> {
    const expired = await this.database
      .createQueryBuilder()
      .select('session.id', 'id')
      .from(this.table, 'session')
      .where('session.expires_at <= :now', { now })
      .limit(cleanUpLimit)
      .getRawMany<{ id: string }>()
    const ids = expired.map(({ id }) => id)
    if (ids.length === 0) return 0
    const query = this.database.createQueryBuilder().delete().from(this.table)
    // The condition is repeated, because a process whose clock is slow may have used one of them meanwhile.
    await query.where('id IN (:...ids) AND expires_at <= :now', { ids, now }).execute()
    return ids.length
  }

  private async ask<T>(query: () => Promise<T>): Promise<T> {
    try {
      return await query()
    } catch (error) {
      throw await explainMissingTable(this.database, error)
    }
  }
}

/** Writes JSON in ASCII, which every character set of a database can store. */
function asciiJson(data: SessionData): string {
  return JSON.stringify(data).replaceAll(
    /[\u0080-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
