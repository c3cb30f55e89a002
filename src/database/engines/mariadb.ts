import type { DataSource } from 'typeorm'
import type { MysqlDriver } from 'typeorm/driver/mysql/MysqlDriver.js'
import {
  connectTimeout,
  limiterOf,
  pingConnections,
  type ConnectionLimits,
  type Ping,
} from './connections.js'
import { addressOf } from './database-url.js'
import { encryptionOf } from './encryption.js'
import type { ColumnDetails, Engine, EngineErrors, Server } from './engine.js'
import {
  clusters,
  configureMysqlDriver,
  ignore,
  isMariadb,
  lockTimeouts,
  statementTimeouts,
  SERVER,
  type MysqlConnection,
} from './mysql-driver.js'
import { noteReadOnly, ServerWatch, watchedConnections } from './server-watch.js'

type Driver = DataSource['driver']

/** The message of a failed check. MariaDB checks a JSON column by a constraint like `posts.notes`. */
const CHECK = /^CONSTRAINT `[^`.]+\.([^`]+)` failed/

/** The error names of mysql2, and numbers for errors that have no name there, or a wrong one. */
const errors: EngineErrors = {
  codes: {
    unique: ['ER_DUP_ENTRY', 'ER_DUP_KEY'],
    reference: ['ER_NO_REFERENCED_ROW', 'ER_NO_REFERENCED_ROW_2'],
    referenced: ['ER_ROW_IS_REFERENCED', 'ER_ROW_IS_REFERENCED_2'],
    null: ['ER_BAD_NULL_ERROR', 'ER_NO_DEFAULT_FOR_FIELD'],
    length: ['ER_DATA_TOO_LONG', 'ER_NET_PACKET_TOO_LARGE', 'ER_TOO_BIG_ROWSIZE'],
    range: ['ER_WARN_DATA_OUT_OF_RANGE', 'ER_DATA_OUT_OF_RANGE'],
    type: [
      'ER_TRUNCATED_WRONG_VALUE_FOR_FIELD',
      'ER_TRUNCATED_WRONG_VALUE',
      'WARN_DATA_TRUNCATED',
      'ER_INVALID_JSON_TEXT',
    ],
    check: ['ER_CHECK_CONSTRAINT_VIOLATED', 'ER_CONSTRAINT_FAILED', '4025'],
    conflict: ['ER_LOCK_DEADLOCK', 'ER_CHECKREAD'],
    busy: ['ER_LOCK_WAIT_TIMEOUT', 'ER_LOCK_TABLE_FULL', 'ER_LOCK_NOWAIT'],
    slow: ['ER_QUERY_INTERRUPTED', 'ER_QUERY_TIMEOUT', '1969'],
    lost: [
      'ER_SERVER_SHUTDOWN',
      'ER_CLIENT_INTERACTION_TIMEOUT',
      '1927',
      'PROTOCOL_CONNECTION_LOST',
      'PROTOCOL_SEQUENCE_TIMEOUT',
    ],
    down: [
      'ER_CON_COUNT_ERROR',
      'ER_TOO_MANY_USER_CONNECTIONS',
      'ER_DISK_FULL',
      'ER_RECORD_FILE_FULL',
      // A node of a Galera cluster that is not ready.
      'ER_UNKNOWN_COM_ERROR',
    ],
    readonly: [
      'ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION',
      'ER_OPTION_PREVENTS_STATEMENT',
      'ER_READ_ONLY_MODE',
    ],
    missing: ['ER_NO_SUCH_TABLE', 'ER_BAD_FIELD_ERROR'],
    exists: ['ER_DB_CREATE_EXISTS'],
    absent: ['ER_DB_DROP_EXISTS', 'ER_BAD_DB_ERROR'],
    denied: ['ER_DBACCESS_DENIED_ERROR', 'ER_ACCESS_DENIED_ERROR'],
  },
  messages: [[/connection is in closed state/, 'lost']],
  unsent: /connection is in closed state/,
  names: {
    columns: [
      /FOREIGN KEY \(`([^`]+)`\)/,
      /(?:[Cc]olumn|Field) [`'"]([^`'"]+)[`'"](?: at row| cannot| doesn)/,
      /for column .*[`']([^`']+)[`'] at row/,
      CHECK,
    ],
    index: [/for key '(?:[^.']+\.)?([^']+)'/],
    checkedColumn: [CHECK],
  },
  opening: {
    HANDSHAKE_SSL_ERROR: 'untrusted',
    HANDSHAKE_NO_SSL_SUPPORT: 'unencrypted',
    ER_CON_COUNT_ERROR: 'too_many_connections',
    ER_ACCESS_DENIED_ERROR: 'access_denied',
    // MariaDB sends this code for some unknown users.
    ER_ACCESS_DENIED_NO_PASSWORD_ERROR: 'access_denied',
    ER_DBACCESS_DENIED_ERROR: 'denied',
    ER_BAD_DB_ERROR: 'absent',
  },
}

/** The names of the collation that compares text exactly. */
const COLLATIONS = { mariadb: 'utf8mb4_nopad_bin', mysql: 'utf8mb4_0900_bin' }

/** The lock belongs to the whole server, so its name contains a digest of the database's name. */
const LOCK_NAME = "CONCAT('migrations-', SHA1(DATABASE()))"

/** Connections that `inspection` has protected, whose rows are read with a time limit. */
const protectedConnections = new WeakSet<object>()

/** The beginning of a statement that waits until its node has what the others have committed. */
const AFTER_OTHERS = 'SET STATEMENT wsrep_sync_wait = 1 FOR '

/** MariaDB and MySQL, by the driver `mysql2`. */
export const mariadb: Engine = {
  name: 'mariadb',
  driverPackage: 'mysql2',
  defaultPool: 10,
  errors,
  conflictRollsBack: true,
  schemaChangesCommit: true,
  readsSnapshots: true,
  now: 'CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)',
  skipLocked: 'FOR UPDATE SKIP LOCKED',

  options(url, limits) {
    // TypeORM reads fewer parts of a URL than `addressOf`.
    const { parameters, ...address } = addressOf(url)
    const socketPath = parameters.get('socketPath')
    const ssl = encryptionOf({ parameters, ...address })
    return {
      type: url.startsWith('mysql:') ? 'mysql' : 'mariadb',
      poolSize: limits.size + pingConnections,
      connectTimeout: connectTimeout(limits),
      ...address,
      ...(socketPath && { socketPath }),
      ...(ssl && { ssl }),
      // Datetimes are stored in UTC, a date has no time zone, and a bigint is a string, so that it keeps all
      // digits.
      timezone: 'Z',
      dateStrings: ['DATE'],
      bigNumberStrings: true,
      // Only TypeORM parses JSON. If mysql2 parsed it too, the JSON string `"12"` would become a number.
      extra: { jsonStrings: true },
    }
  },

  adapt(dataSource, limits) {
    // Type assertion: the members are those of TypeORM's MysqlDriver.
    const driver = dataSource.driver as MysqlDriver
    configureMysqlDriver(driver, limits, new ServerWatch(dataSource, SERVER, refusesWrites))
    return limitConnections(driver, limits)
  },

  async beginReadOnly(runner, isolation) {
    try {
      await runner.query('SET TRANSACTION READ ONLY')
    } catch (error) {
      // In a test that rolls back, the request's transaction is a savepoint of one that has already begun.
      if (Reflect.get(Object(error), 'code') !== 'ER_CANT_CHANGE_TX_CHARACTERISTICS') throw error
    }
    await runner.startTransaction(isolation)
    noteReadOnly(await runner.connect())
  },

  // InnoDB does not delete a row that refers to itself.
  beforeDelete({ dataSource: { driver }, tablePath, foreignKeys, target }) {
    const [table, id] = [driver.escape(tablePath), driver.escape('id')]
    return foreignKeys.flatMap(({ columns, referencedColumns, referencedEntityMetadata }) => {
      const [[column, second], [referenced]] = [columns, referencedColumns]
      if (referencedEntityMetadata.target !== target || !column?.isNullable || !referenced || second)
        return []
      const [key, own] = [column, referenced].map(({ databaseName }) => driver.escape(databaseName))
      return `UPDATE ${table} SET ${key} = NULL WHERE ${id} = ? AND ${key} = ${own}`
    })
  },

  async limitLocks(runner, milliseconds) {
    withShorterLimit.add(await runner.connect())
    await runner.query(`SET ${lockTimeouts(milliseconds)}`)
  },

  async *rows(runner, sql, values) {
    const connection: MysqlConnection = await runner.connect()
    runner.dataSource.logger.logQuery(sql, values, runner)
    // The reader may pause, so the statement has no time limit. `configureMysqlDriver` gives mysql2's own
    // limit to strings only.
    const unlimited = protectedConnections.has(connection)
      ? ''
      : '/*M!100100 SET STATEMENT max_statement_time = 0 FOR */ '
    const query = { sql: unlimited + sql, values }
    const stream = connection.query(query).stream({ highWaterMark: 100 })
    // mysql2 reports a lost connection to the callbacks of its statements. A stream has none.
    const fail = (error: Error): unknown => stream.destroy(error)
    connection.on('error', fail)
    try {
      for await (const row of stream) yield [row]
    } finally {
      connection.off('error', fail)
    }
  },

  inspection: {
    explain: 'EXPLAIN',
    async protect(runner, milliseconds) {
      protectedConnections.add(await runner.connect())
      await runner.query(`SET ${statementTimeouts(milliseconds)}`)
    },
  },

  async discard(runner) {
    if (runner.isReleased) return
    const connection: MysqlConnection = await runner.connect()
    connection.destroy()
  },

  server: {
    databases: [undefined],
    async create(server, name) {
      const collation = COLLATIONS[(await isMariadb(server)) ? 'mariadb' : 'mysql']
      await server.query(`CREATE DATABASE ${ticked(name)} CHARACTER SET utf8mb4 COLLATE ${collation}`)
    },
    async drop(server, name) {
      await endConnections(server, name)
      await server.query(`DROP DATABASE ${ticked(name)}`)
    },
  },

  columnDetails(driver, kind) {
    if (kind === 'updated_at') return { onUpdate: driver.mappedDataTypes.updateDateDefault }
    if (kind === 'string' || kind === 'text') return textDetails(driver)
    // Without a precision, fractions of a second are lost.
    if (kind === 'time') return { precision: 6 }
    // MySQL, and MariaDB before 10.7, have no type for UUIDs.
    if (kind === 'uuid' && driver.normalizeType({ type: 'uuid' }) === 'varchar') return { length: '36' }
    return {}
  },

  rowLocks: {
    mode: () => ({ mode: 'pessimistic_write' }),
    likeKey: () => ' LOCK IN SHARE MODE',
    likeUpdate: () => ' FOR UPDATE',
  },

  parameterOf({ type, srid, entityMetadata }, parameter) {
    if (!entityMetadata.dataSource.driver.spatialTypes.includes(type)) return undefined
    return `ST_GeomFromText(${parameter}${srid === undefined ? '' : `, ${srid}`})`
  },

  // The first comparisons use an index, even with a collation that ignores case. The range of LIKE in an
  // index ends at U+FFFF, so another range finds texts that go on with an emoji. The last comparison is
  // case-sensitive, and uses no index.
  prefix: {
    parameters: (text) => [`${escapeLike(text)}%`, `${text}\u{10000}`, text + '\u{10ffff}'.repeat(100), text],
    sql: (column, [pattern, from, to, exact]) =>
      `((${column} LIKE ${pattern} ESCAPE '!' OR ${column} BETWEEN ${from} AND ${to}) AND ` +
      `LOCATE(CAST(${exact} AS BINARY), CAST(${column} AS BINARY)) = 1)`,

    async createIndex(runner, name, table, column) {
      const [row]: { type: string }[] = await runner.query(
        'SELECT data_type AS type FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ? AND column_name = ?',
        [table, column],
      )
      // An index of a column of type text requires a length.
      const length = row?.type.endsWith('text') ? '(191)' : ''
      return `CREATE INDEX ${ticked(name)} ON ${ticked(table)} (${ticked(column)}${length})`
    },
  },

  contains: {
    parameters: (text) => [`%${escapeLike(text)}%`],
    sql: (column, [pattern]) => `LOWER(${column}) LIKE LOWER(${pattern}) COLLATE utf8mb4_bin ESCAPE '!'`,
  },

  async findIndexes(runner, table) {
    const rows: { columns: string; hasPrefixOnly: unknown }[] = await runner.query(
      `SELECT GROUP_CONCAT(column_name ORDER BY seq_in_index) AS \`columns\`,
         MAX(sub_part IS NOT NULL AND seq_in_index = 1) AS hasPrefixOnly
       FROM information_schema.statistics
       WHERE table_schema = DATABASE() AND table_name = ? AND index_type = 'BTREE' GROUP BY index_name`,
      [table],
    )
    return rows.map(({ columns, hasPrefixOnly }) => ({
      columns: columns.split(','),
      findsPrefixes: true,
      // An index of the first characters of a column cannot sort it.
      sorts: Number(hasPrefixOnly) === 0,
    }))
  },

  async datetimeDigits(runner, table, column) {
    const [row]: { digits: number | string | null }[] = await runner.query(
      'SELECT datetime_precision AS digits FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ? AND column_name = ?',
      [table, column],
    )
    return row?.digits == null ? undefined : Number(row.digits)
  },

  afterOthers: (dataSource) => (clusters.has(dataSource) ? AFTER_OTHERS : undefined),
  migrationLock: {
    acquire: `GET_LOCK(${LOCK_NAME}, 0)`,
    release: `RELEASE_LOCK(${LOCK_NAME})`,
    // GET_LOCK locks on one node only.
    isPartial: (dataSource) => clusters.has(dataSource),
  },
}

/** Escapes the wildcards of LIKE by `!`, because the server's `sql_mode` can redefine a backslash. */
function escapeLike(text: string): string {
  return text.replaceAll(/[!%_]/g, '!$&')
}

/** Text whose case, accents and trailing spaces count as on the other engines, whatever the default. */
function textDetails({ options: { type } }: Driver): ColumnDetails {
  return { charset: 'utf8mb4', collation: COLLATIONS[type === 'mariadb' ? 'mariadb' : 'mysql'] }
}

/** The connections whose limit for locks is shorter than that of their database. */
const withShorterLimit = new WeakSet<MysqlConnection>()

/** The query of a ping. A node of a cluster that is not ready rejects this query, but accepts `SELECT 1`. */
const PING = 'SELECT 1 FROM (SELECT 1) AS one'

/** The errors of a server that does not accept writes. */
const REFUSALS = ['ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION', 'ER_READ_ONLY_MODE', 'ER_UNKNOWN_COM_ERROR']

function refusesWrites(error: unknown): boolean {
  const { code = '', message = '' }: { code?: string; message?: string } = Object(error)
  // ER_OPTION_PREVENTS_STATEMENT names the option, which may be another one than `read-only`.
  return REFUSALS.includes(code) || (code === 'ER_OPTION_PREVENTS_STATEMENT' && message.includes('read-only'))
}

function limitConnections(driver: MysqlDriver, limits: ConnectionLimits): Ping {
  const connect: () => Promise<MysqlConnection> = driver.obtainMasterConnection.bind(driver)
  const { acquire, ping } = limiterOf(
    limits,
    async () => {
      const connection = await connect()
      const release = (error?: unknown): void => (error ? connection.destroy() : connection.release())
      const query = (sql: string): unknown => connection.promise().query(sql)
      return { connection, watched: watchedConnections.get(connection), query, release }
    },
    PING,
  )

  driver.obtainMasterConnection = async () => {
    const { connection, release: leave } = await acquire()
    // Not a bound function, which would be bound again at each use, and take longer each time.
    const { release } = connection
    connection.release = () => {
      connection.release = release
      // A connection runs its queries in the order in which they are sent, so this query runs before those of
      // the next request.
      if (withShorterLimit.delete(connection))
        connection.query(`SET ${lockTimeouts(limits.acquireTimeout)}`, ignore)
      leave()
    }
    return connection
  }
  return ping
}

/** Ends the other connections to a database. A drop would wait for them, up to a day. */
async function endConnections(server: Server, name: string): Promise<void> {
  const escaped = name.replaceAll(/['\\]/g, '\\$&')
  const rows = await server.query(
    `SELECT id FROM information_schema.processlist WHERE db = '${escaped}' AND id <> CONNECTION_ID()`,
  )
  // A connection may have ended by now. The server only lists those of other users if the user has the
  // privilege.
  for (const { id } of rows as { id: string }[]) await server.query(`KILL ${id}`).catch(() => undefined)
  // If others remain, the drop waits for ten seconds only.
  await server.query('SET SESSION lock_wait_timeout = 10')
}

function ticked(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}
