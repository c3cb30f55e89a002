import { Table, type EntityManager, type QueryRunner } from 'typeorm'
import { ExpiringTable } from '../../extension.js'
import { column, type Database } from '../../index.js'
import type { LimitCount, LimitStore } from './limit-store.js'

/** The options of `databaseLimits()`. */
export interface DatabaseLimitsOptions {
  /** The name of the table (`rate_limits`). A migration creates it with `rateLimitsTable()`. */
  table?: string
  /** Milliseconds between two clean-ups of expired counts (10 minutes). */
  cleanUpEvery?: number
  /** The clock. */
  now?: () => number
}

/**
 * Keeps the counts of rate limits in the application's database, for all of its processes. Each request is
 * counted in a short transaction of its own, before the request's transaction begins.
 *
 * @example rateLimit({ name: 'sign-in', to: 10, within: '3 minutes', store: databaseLimits(database) })
 */
export function databaseLimits(database: Database, options: DatabaseLimitsOptions = {}): LimitStore {
  return new DatabaseLimits(database, options)
}

/** The table of rate limits, for a migration. */
export function rateLimitsTable(runner: QueryRunner, name = 'rate_limits'): Table {
  return new Table({
    name,
    columns: [
      // The key: a hash of 43 characters.
      column(runner, 'id', 'string', { isPrimary: true, length: '64' }),
      column(runner, 'requests', 'int'),
      // Milliseconds since 1970: the same in every engine and time zone.
      column(runner, 'ends_at', 'bigint'),
    ],
    indices: [{ name: `${name}_ends_at`, columnNames: ['ends_at'] }],
  })
}

interface Row {
  requests: number
  ends_at: number | string
}

class DatabaseLimits extends ExpiringTable implements LimitStore {
  constructor(database: Database, { table: name = 'rate_limits', cleanUpEvery, now }: DatabaseLimitsOptions) {
    const loss = 'This sets all counts to zero.'
    super(database, { name, describe: rateLimitsTable, expiresAt: 'ends_at', cleanUpEvery, now, loss })
  }

  async increment(id: string, window: number): Promise<LimitCount> {
    const row = (await this.count(id, window)) ?? (await this.addNew(id, window))
    await this.cleanUp()
    return { count: Number(row.requests), milliseconds: Math.max(0, Number(row.ends_at) - this.now()) }
  }

  async decrement(id: string): Promise<void> {
    await this.update(id, { requests: () => 'CASE WHEN requests > 0 THEN requests - 1 ELSE 0 END' })
  }

  reset(id: string): Promise<void> {
    return this.delete(id)
  }

  /** Counts a request of a key that has a row. The update locks the row, so it is read unchanged. */
  private count(id: string, window: number): Promise<Row | undefined> {
    const now = this.now()
    const increment = async (tx: EntityManager): Promise<Row | undefined> => {
      const update = tx.createQueryBuilder().update(this.table)
      const { affected } = await update
        .set({
          requests: () => 'CASE WHEN ends_at > :now THEN requests + 1 ELSE 1 END',
          ends_at: () => 'CASE WHEN ends_at > :now THEN ends_at ELSE :ends END',
        })
        .where('id = :id', { id })
        .setParameters({ now, ends: now + window })
        .execute()
      if (affected === 0) return undefined
      const query = tx.createQueryBuilder().select('requests', 'requests').addSelect('ends_at', 'ends_at')
      return query.from(this.table, 'row').where('id = :id', { id }).getRawOne<Row>()
    }
    return this.run(() => this.database.transaction(increment))
  }

  /** Adds the row of a key. If another request has added the row first, counts this request in that row. */
  private async addNew(id: string, window: number): Promise<Row> {
    const row = { id, requests: 0, ends_at: this.now() + window }
    const insert = this.database.createQueryBuilder().insert().into(this.table).values(row).orIgnore()
    await this.run(() => insert.execute())
    const counted = await this.count(id, window)
    // A reset or a clean-up may have deleted the row again.
    return counted ?? { requests: 1, ends_at: row.ends_at }
  }
}
