import { Table, type EntityManager, type QueryRunner } from 'typeorm'
import { column } from '../../database/columns.js'
import type { Database } from '../../database/database.js'
import { engineOf } from '../../database/engines/engines.js'
import { ExpiringTable } from '../../database/expiring-table.js'
import { TransactionConflict } from '../../errors.js'

const name = 'idempotency_keys'

/** Milliseconds after which a key counts as new. */
const lifetime = 24 * 60 * 60 * 1000

/**
 * The table of `idempotency()`, for a migration.
 *
 * @example await runner.createTable(idempotencyKeysTable(runner))
 */
export function idempotencyKeysTable(runner: QueryRunner): Table {
  return new Table({
    name,
    columns: [
      // The hash of a key with its owner, and the hash of the request: 43 characters each.
      column(runner, 'id', 'string', { isPrimary: true, length: '64' }),
      column(runner, 'request', 'string', { length: '64' }),
      column(runner, 'response', 'text', { isNullable: true }),
      // Milliseconds since 1970: the same in every engine and time zone.
      column(runner, 'expires_at', 'bigint'),
    ],
    indices: [{ name: `${name}_expires_at`, columnNames: ['expires_at'] }],
  })
}

/** The request that has used a key. Until it ends, only its own transaction sees the row. */
interface Row {
  request: string
  response: string | null
  expires_at: string | number
}

/** The keys of requests with the responses. Each request changes them in its own transaction. */
export class IdempotencyKeys extends ExpiringTable {
  constructor(database: Database) {
    const loss = 'Requests that are sent again are then carried out again.'
    super(database, { name, describe: idempotencyKeysTable, expiresAt: 'expires_at', loss })
  }

  /**
   * Claims a key for a request. Waits while the transaction of another request with this key is running.
   *
   * @returns the earlier request with this key; undefined if there is none
   * @throws TransactionConflict when another request has taken the expired key at the same time
   */
  async claim(tx: EntityManager, id: string, request: string): Promise<Row | undefined> {
    const now = this.now()
    const row = { id, request, response: null, expires_at: now + lifetime }
    const insert = tx.createQueryBuilder().insert().into(name, Object.keys(row)).values(row).orIgnore()
    // The results of builders differ between the engines.
    const result = await tx.queryRunner?.query(...insert.getQueryAndParameters(), true)
    if (result?.affected === 1) return undefined
    const query = tx.createQueryBuilder().select(['request', 'response', 'expires_at']).from(name, 'previous')
    // Without the lock, the transaction may see the table as it was before the other request inserted the
    // row.
    if (engineOf(tx.dataSource).readsSnapshots) query.setLock('pessimistic_read')
    const previous = await query.where('id = :id', { id }).getRawOne<Row>()
    if (previous?.response && Number(previous.expires_at) > now) return previous
    // Takes over the row if it has expired, or has no response because middleware has turned a failed request
    // into a success.
    const update = tx.createQueryBuilder().update(name).set(row)
    update.where('id = :id AND (expires_at <= :now OR response IS NULL)', { id, now })
    if ((await update.execute()).affected === 0) throw new TransactionConflict()
    return undefined
  }
}
