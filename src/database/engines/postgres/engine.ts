import type { DataSource } from 'typeorm'
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js'
import {
  connectTimeout,
  limiterOf,
  pingConnections,
  socketTimeoutMargin,
  type ConnectionLimits,
  type Ping,
  type PooledConnection,
} from '../connections.js'
import type { Engine, EngineErrors } from '../engine.js'
import { noteReadOnly, ServerWatch, watchedConnections, type WatchedConnection } from '../server-watch.js'
import {
  additionsOf,
  limitTimes,
  prepareConnection,
  SERVER,
  type PgConnection,
  type QueryClass,
} from './connection.js'
import { PostgresRunner } from './query-runner.js'

/** The databases with another default isolation level than READ COMMITTED. A server or user can have one. */
const strict = new WeakSet<DataSource>()

/** The databases that are reached through a pooler. */
const pooled = new WeakSet<DataSource>()

/** The number of cursors so far, for their names: a transaction can have several, one after the other. */
let cursors = 0

/** Returns a connection to its pool, or closes it because of an error. */
export type Release = (error?: unknown) => void

/** The code of a statement that a read-only transaction or server rejects. */
const READ_ONLY = '25006'

/** SQLSTATE codes. */
const errors: EngineErrors = {
  codes: {
    unique: ['23505'],
    // Both sides of a foreign key have the same code; the detail distinguishes them.
    reference: ['23503'],
    referenced: ['23001'],
    null: ['23502'],
    length: ['22001', '54000'],
    range: ['22003'],
    type: ['22P02', '22007', '22008', '22021', '22P05', '22P03'],
    check: ['23514'],
    exclusion: ['23P01'],
    conflict: ['40001', '40P01'],
    busy: ['55P03'],
    slow: ['57014'],
    lost: ['08000', '08003', '08006', '57P01', '57P02', '57P05', '25P03'],
    down: ['08001', '08004', '53100', '53200', '53300', '57P03'],
    readonly: [READ_ONLY],
    aborted: ['25P02'],
    // 42809: if the column is missing, "post"."rank" is a call of the aggregate `rank`.
    missing: ['42P01', '42703', '42809'],
    exists: ['42P04'],
    absent: ['3D000'],
    denied: ['42501'],
  },
  messages: [[/^Connection terminated|not queryable|^Client was closed|^Query read timeout/, 'lost']],
  unsent: /not queryable/,
  names: { columns: [/^Key \(([^)]+)\)/] },
  opening: {
    '28000': 'unknown_user',
    '28P01': 'wrong_password',
    '3D000': 'absent',
    '42501': 'denied',
    '53300': 'too_many_connections',
    '57P03': 'starting',
  },
  openingTexts: [
    ['client password must be a string', 'password_missing'],
    ['does not support SSL connections', 'unencrypted'],
    // PgBouncer's errors have one code for all.
    ['SASL authentication failed', 'access_denied'],
    ['no such user', 'unknown_user'],
    ['no such database', 'absent'],
  ],
}

/** PostgreSQL, by the driver `pg`. */
export const postgres: Engine = {
  name: 'postgres',
  driverPackage: 'pg',
  defaultPool: 10,
  errors,
  failureAborts: true,
  now: 'floor(extract(epoch from statement_timestamp()) * 1000)::bigint',
  skipLocked: 'FOR UPDATE SKIP LOCKED',
  updatesInQueries: true,

  options: (url, limits) => ({
    type: 'postgres',
    url,
    poolSize: limits.size + pingConnections,
    connectTimeoutMS: connectTimeout(limits),
    // TCP keepalive detects a host that disappears without closing the connection.
    extra: {
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      ...(limits.statementTimeout && { query_timeout: limits.statementTimeout + socketTimeoutMargin }),
    },
  }),

  adapt(dataSource, limits) {
    // Type assertion: `adapt` is called for this engine's own driver.
    const driver = dataSource.driver as PostgresDriver
    keepDatetimesInUtc(driver)
    driver.createQueryRunner = (mode) => new PostgresRunner(driver, mode)
    return limitConnections(driver, limits)
  },

  hasReplicas: true,

  readsCommitted: (dataSource, isolation) =>
    isolation === undefined ? !strict.has(dataSource) : isolation === 'READ COMMITTED',

  async beginReadOnly(runner, isolation) {
    await runner.startTransaction(isolation)
    // Type assertion: `adapt` makes the driver create such runners only.
    await (runner as PostgresRunner).readOnly()
    noteReadOnly(await runner.connect())
  },

  limitLocks: (runner, milliseconds) => runner.query(`SET LOCAL lock_timeout = ${milliseconds}`),

  // The end of the transaction closes the cursor.
  async *rows(runner, sql, values) {
    const cursor = `kit_rows_${(cursors += 1)}`
    await runner.query(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${sql}`, values)
    for (;;) {
      const rows: unknown[] = await runner.query(`FETCH 100 FROM ${cursor}`)
      if (rows.length === 0) return
      yield rows
    }
  },

  inspection: {
    explain: 'EXPLAIN',
    protect: (runner, milliseconds) => runner.query(`SET LOCAL statement_timeout = ${milliseconds}`),
  },

  server: {
    databases: ['postgres', 'template1'],
    create: (server, name) =>
      server.query(`CREATE DATABASE ${quoted(name)} TEMPLATE template0 ENCODING 'UTF8'`),
    drop: (server, name) => server.query(`DROP DATABASE ${quoted(name)} WITH (FORCE)`),
  },

  rowLocks: {
    // PostgreSQL cannot lock the optional side of a join.
    mode: ({ tableNameWithoutPrefix }) => ({ mode: 'pessimistic_write', tables: [tableNameWithoutPrefix] }),
    likeKey: (alias) => ` FOR KEY SHARE OF ${alias}`,
    likeUpdate: (alias) => ` FOR NO KEY UPDATE OF ${alias}`,
  },

  parameterOf({ type, srid, entityMetadata }, parameter) {
    if (!entityMetadata.dataSource.driver.spatialTypes.includes(type)) return undefined
    const shape = `ST_GeomFromGeoJSON(${parameter})`
    return `${srid === undefined ? shape : `ST_SetSRID(${shape}, ${srid})`}::${String(type)}`
  },

  // The conversion makes the comparison of a citext case-sensitive.
  prefix: {
    parameters: (text) => [`${escapeLike(text)}%`],
    sql: (column, [pattern]) => `${column}::text LIKE ${pattern}`,
    createIndex: (_runner, name, table, column) =>
      `CREATE INDEX ${quoted(name)} ON ${quoted(table)} (${quoted(column)} text_pattern_ops)`,
  },

  contains: {
    parameters: (text) => [`%${escapeLike(text)}%`],
    sql: (column, [pattern]) => `${column} ILIKE ${pattern}`,
  },

  comparesRows: true,

  async findIndexes(runner, table) {
    const rows: { columns: string[]; class: string; collation: string | null }[] = await runner.query(
      INDEXES,
      [quoted(table)],
    )
    return rows.map(({ columns, class: operators, collation }) => {
      const isPattern = operators.endsWith('_pattern_ops')
      return {
        columns,
        findsPrefixes: isPattern || collation === 'C' || collation === 'POSIX',
        sorts: !isPattern,
      }
    })
  },

  async datetimeDigits(runner, table, column) {
    const [row]: { digits: number | null }[] = await runner.query(
      `SELECT datetime_precision AS digits FROM information_schema.columns
       WHERE table_schema = current_schema() AND table_name = $1 AND column_name = $2`,
      [table, column],
    )
    return row?.digits ?? undefined
  },

  // An arbitrary number. The lock belongs to one database.
  migrationLock: {
    acquire: 'pg_try_advisory_lock(7231903)',
    release: 'pg_advisory_unlock(7231903)',
    isPartial: (dataSource) => pooled.has(dataSource),
  },
}

/** A table's full B-tree indexes: columns, and the first one's operator class and collation. */
const INDEXES = `
  SELECT array_agg(a.attname::text ORDER BY k.position) AS columns, min(o.opcname::text) AS class,
    min(CASE WHEN c.collname = 'default' THEN d.datcollate ELSE c.collname::text END)
      FILTER (WHERE k.position = 1) AS collation
  FROM pg_index i
  JOIN pg_class r ON r.oid = i.indexrelid
  JOIN pg_am m ON m.oid = r.relam AND m.amname = 'btree'
  CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k (number, position)
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
  JOIN pg_opclass o ON o.oid = i.indclass[0]
  LEFT JOIN pg_collation c ON c.oid = i.indcollation[0]
  JOIN pg_database d ON d.datname = current_database()
  WHERE i.indrelid = to_regclass($1) AND i.indisvalid AND i.indpred IS NULL
  GROUP BY i.indexrelid`

/** Escapes the wildcards of LIKE. */
function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, '\\$&')
}

/**
 * Limits the connections of a driver: that of the primary, or of a replica.
 *
 * @param isExpected whether new connections may lead to this server
 */
export function limitConnections(
  driver: PostgresDriver,
  limits: ConnectionLimits,
  isExpected: (server: string) => boolean = () => true,
): Ping {
  // TypeORM's type allows any function for the release.
  const connect = driver.obtainMasterConnection.bind(driver) as () => Promise<[PgConnection, Release]>
  const { Query }: { Query: QueryClass } = driver.postgres
  const refusesWrites = (error: unknown): boolean => Reflect.get(Object(error), 'code') === READ_ONLY
  const watch = new ServerWatch(driver, `SELECT ${SERVER} AS server`, refusesWrites)
  const { acquire, ping } = limiterOf(limits, take)

  async function take(): Promise<PooledConnection<PgConnection>> {
    const [connection, release] = await connect()
    try {
      const watched = watchedConnections.get(connection) ?? (await setUp(connection))
      return { connection, watched, query: (sql) => connection.query(sql), release }
    } catch (error) {
      release(error)
      throw error
    }
  }

  async function setUp(connection: PgConnection): Promise<WatchedConnection> {
    // While the connection is set up, and after it is closed, pg has no listener, and an error would end the
    // process.
    connection.on('error', () => {})
    const watched = watch.add(connection.connection?.stream)
    watched.sent()
    const { server, isolation, settings } = await limitTimes(connection, limits).finally(() =>
      watched.answered(),
    )
    if (!isExpected(server)) throw new Error('The connection leads to another server.')
    if (settings.length > 0) pooled.add(driver.dataSource)
    if (isolation !== 'read committed') strict.add(driver.dataSource)
    watch.noteServer((watched.server = server))
    prepareConnection(connection, Query, watched, settings)
    watchedConnections.set(connection, watched)
    return watched
  }

  driver.obtainMasterConnection = async () => {
    const { connection, release } = await acquire()
    return [
      connection,
      (error?: unknown) => {
        additionsOf(connection).begin = undefined
        release(error ?? unendedTransaction(connection))
      },
    ]
  }
  return ping
}

/** The reason to close a connection whose transaction has not ended: the next request would continue it. */
function unendedTransaction(connection: PgConnection): Error | undefined {
  const status = connection.getTransactionStatus?.() ?? 'I'
  return status === 'I' ? undefined : new Error('The transaction of the connection was not ended.')
}

/** By default a Date loses its time zone, so that a server in another zone reads another datetime. */
function keepDatetimesInUtc(driver: PostgresDriver): void {
  const normalizeType = driver.normalizeType.bind(driver)
  driver.normalizeType = (column) =>
    column.type === Date ? 'timestamp with time zone' : normalizeType(column)
  const [type, precision] = ['timestamptz', 3] as const
  Object.assign(driver.mappedDataTypes, { createDate: type, updateDate: type, deleteDate: type })
  Object.assign(driver.mappedDataTypes, {
    createDatePrecision: precision,
    updateDatePrecision: precision,
    deleteDatePrecision: precision,
  })
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
