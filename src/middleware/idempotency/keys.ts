import { Table, type EntityManager, type QueryRunner } from 'typeorm'
import { column } from '../../data/attributes/columns.js'
import type { Database } from '../../data/database.js'
import { engineOf } from '../../data/engines/engines.js'
import { ExpiringTable } from '../../data/expiring-table.js'
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
      // The hash of a key and its owner, and that of the request: 43 characters each.
      column(runner, 'id', 'string', { isPrimary: true, length: '64' }),
      column(runner, 'request', 'string', { length: '64' }),
      column(runner, 'response', 'text', { isNullable: true }),
      // Milliseconds since 1970: the same in every engine and time zone.
      column(runner, 'expires_at', 'bigint'),
    ],
    indices: [{ name: `${name}_expires_at`, columnNames: ['expires_at'] }],
  })
}

/** The request that has used a key. It has a response when it has ended, and until then only its own transaction sees the row. */
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
   * Lets a request have a key. While the transaction of another request with this key is running, it waits for the end.
   *
   * @returns the earlier request with this key; undefined if there is none
   * @throws TransactionConflict when another request has taken the expired key at the same time
   */
  async claim(tx: EntityManager, id: string, request: string): Promise<Row | undefined> {
    const now = Date.now()
    const row = { id, request, response: null, expires_at: now + lifetime }
    const insert = tx.createQueryBuilder().insert().into(name, Object.keys(row)).values(row).orIgnore()
    // The results of builders differ between the engines.
    const inserted = await tx.queryRunner?.query(...insert.getQueryAndParameters(), true)
    if (inserted?.affected === 1) return undefined
    const query = tx.createQueryBuilder().select(['request', 'response', 'expires_at']).from(name, 'kept')
    // The transaction may see the table as it was before the row.
    if (engineOf(tx.dataSource).readsSnapshots) query.setLock('pessimistic_read')
    const known = await query.where('id = :id', { id }).getRawOne<Row>()
    if (known?.response && Number(known.expires_at) > now) return known
    // A row without a response is left over if a middleware has made a success of a failed request.
    const renew = tx.createQueryBuilder().update(name).set(row)
    renew.where('id = :id AND (expires_at <= :now OR response IS NULL)', { id, now })
    if ((await renew.execute()).affected === 0) throw new TransactionConflict()
    return undefined
  }
}
