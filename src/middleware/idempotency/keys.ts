import { Table, type EntityManager, type QueryRunner } from 'typeorm'
import { asciiJson } from '../../common/ascii-json.js'
import { column } from '../../data/attributes/columns.js'
import type { Database } from '../../data/database.js'
import { engineOf } from '../../data/engines/engines.js'
import { ExpiringTable } from '../../data/expiring-table.js'
import { TransactionConflict } from '../../errors.js'
import type { KeptResponse } from './kept-response.js'

/** Milliseconds after which a key counts as new. */
const lifetime = 24 * 60 * 60 * 1000

const name = 'idempotency_keys'

/**
 * The table of `idempotency()`, for a migration.
 *
 * @example
 * export class CreateIdempotencyKeys1795132900000 implements MigrationInterface {
 *   async up(runner: QueryRunner) {
 *     await runner.createTable(idempotencyKeysTable(runner))
 *   }
 *   async down(runner: QueryRunner) {
 *     await runner.dropTable('idempotency_keys')
 *   }
 * }
 */
export function idempotencyKeysTable(runner: QueryRunner): Table {
  return new Table({
    name,
    columns: [
      // The hash of a key and its owner, 43 characters.
      column(runner, 'id', 'string', { isPrimary: true, length: '64' }),
      // The hash of the request.
      column(runner, 'request', 'string', { length: '64' }),
      // Until the request has ended, only its own transaction sees the row.
      column(runner, 'response', 'text', { isNullable: true }),
      // Milliseconds since 1970: the same in every engine and time zone.
      column(runner, 'expires_at', 'bigint'),
    ],
    indices: [{ name: `${name}_expires_at`, columnNames: ['expires_at'] }],
  })
}

/** An earlier request with the same key. */
export interface KnownRequest {
  /** The digest of what it has asked for. */
  request: string
  response: KeptResponse
}

/** A row of the table, as the driver returns it. */
interface Row {
  request: string
  response: string | null
  expires_at: string | number
}

/** The keys of requests and the responses to them. Each request changes them in its own transaction. */
export class IdempotencyKeys {
  private readonly rows: ExpiringTable

  constructor(private readonly database: Database) {
    this.rows = new ExpiringTable(database, {
      name,
      describe: idempotencyKeysTable,
      expiresAt: 'expires_at',
      cleanUpEvery: undefined,
      loss: 'Requests that are sent again are then carried out again.',
    })
  }

  /**
   * Lets a request have a key. While the transaction of another request with this key is running, it waits for the end.
   *
   * @returns the earlier request with this key; undefined if there is none
   * @throws TransactionConflict when another request has taken the expired key at the same time
   */
  async claim(tx: EntityManager, id: string, request: string): Promise<KnownRequest | undefined> {
    const now = Date.now()
    const expires_at = now + lifetime
    if (await this.insert(tx, { id, request, response: null, expires_at })) return undefined
    const known = await this.find(tx, id)
    if (known?.response && Number(known.expires_at) > now)
      return { request: known.request, response: JSON.parse(known.response) }
    // A row without a response is left over if a middleware made a success of a failed request.
    const renew = tx.createQueryBuilder().update(name).set({ request, response: null, expires_at })
    const { affected } = await renew
      .where('id = :id AND (expires_at <= :now OR response IS NULL)', { id, now })
      .execute()
    if (affected === 0) throw new TransactionConflict()
    return undefined
  }

  /** Keeps the response to the request with a key. */
  async keep(tx: EntityManager, id: string, response: KeptResponse): Promise<void> {
    const query = tx
      .createQueryBuilder()
      .update(name)
      .set({ response: asciiJson(response) })
    await query.where('id = :id', { id }).execute()
  }

  /** Forgets a key, so that the request can be sent again. */
  async forget(tx: EntityManager, id: string): Promise<void> {
    await tx.createQueryBuilder().delete().from(name).where('id = :id', { id }).execute()
  }

  /** Deletes some expired keys if it is time to. */
  cleanUp(): Promise<void> {
    return this.rows.cleanUp(Date.now())
  }

  start(): Promise<void> {
    return this.rows.start()
  }

  /** Inserts a row, unless the id is taken. The type of the result differs between the engines, except for `affected`. */
  private async insert(tx: EntityManager, row: object): Promise<boolean> {
    const insert = tx.createQueryBuilder().insert().into(name, Object.keys(row)).values(row).orIgnore()
    const [sql, values] = insert.getQueryAndParameters()
    const result = await tx.queryRunner?.query(sql, values, true)
    return result?.affected === 1
  }

  /** Reads the row that has prevented an insert, also if the transaction sees the table as it was before. */
  private find(tx: EntityManager, id: string): Promise<Row | undefined> {
    const query = tx.createQueryBuilder().select(['request', 'response', 'expires_at']).from(name, 'kept')
    if (engineOf(this.database).readsSnapshots) query.setLock('pessimistic_read')
    return query.where('id = :id', { id }).getRawOne<Row>()
  }
}
