import type { Socket } from 'node:net'
import { memoizeByObject } from '../../../common/memoize.js'
import type { ConnectionLimits } from '../connections.js'
import type { WatchedConnection } from '../server-watch.js'

/** The members of a `pg` connection that this folder uses. */
export interface PgConnection {
  query(...args: unknown[]): unknown
  on(event: 'error', listener: () => void): unknown
  /** The id of the server's process, as the handshake has named it. A pooler invents the id. */
  processID?: number | null
  /** Undefined in the native client. */
  connection?: { stream: Socket }
  /** `I` outside of a transaction; undefined in older releases of `pg`. */
  getTransactionStatus?(): string | null
}

/** The statement that begins a transaction. */
export const BEGIN = 'START TRANSACTION'

const COMMIT = 'COMMIT'

/** Reads a position that comes after everything that is committed, even if not on disk yet. */
export const POSITION = 'SELECT pg_current_wal_insert_lsn()::text AS position'

/** The parts that a connection sends together with its next statements, which saves round trips. */
interface Additions {
  /** The statement that begins a transaction. */
  begin?: string | undefined
  /** Receives the position after the next commit, if it got an answer. Without it, none is read. */
  notePosition?: ((position: string) => void) | undefined
}

/** The additions of a connection. */
export const additionsOf = memoizeByObject((_connection: PgConnection): Additions => ({}))

/** The SQL for the server that a connection leads to, even through a pooler: its address and start. */
export const SERVER =
  "concat_ws(' ', inet_server_addr(), inet_server_port(), extract(epoch FROM pg_postmaster_start_time()))"

/**
 * Limits how long the statements of a new connection run and wait for locks, by settings of the connection.
 * Behind a pooler, which gives the server's connection with its settings to other clients, each transaction
 * sets the limits instead. Startup parameters are not used, because a pooler rejects them.
 *
 * @returns the server, the default isolation level, and the statements that must follow the beginning of each
 *   transaction behind a pooler
 */
export async function limitTimes(
  connection: PgConnection,
  limits: ConnectionLimits,
): Promise<{ server: string; isolation: string; settings: readonly string[] }> {
  const { acquireTimeout, statementTimeout: limit } = limits
  const times = Object.entries({ lock_timeout: acquireTimeout, ...(limit && { statement_timeout: limit }) })
  const set = times.map(([name, time]) => `set_config('${name}', '${time}', false)`).join(' || ')
  // Behind a pooler, the process has another id, and nothing is set. A pooler may send a second statement to
  // another process.
  const { rows } = (await connection.query(
    `SELECT CASE WHEN pg_backend_pid() = ${connection.processID ?? 0} THEN ${set} END IS NULL AS pooled, ` +
      `${SERVER} AS server, current_setting('default_transaction_isolation') AS isolation`,
  )) as { rows: [{ pooled: boolean; server: string; isolation: string }] }
  const [{ pooled, server, isolation }] = rows
  return {
    server,
    isolation,
    settings: pooled ? times.map(([name, time]) => `SET LOCAL ${name} = ${time}`) : [],
  }
}

/**
 * Lets a connection send its additions, and reports its statements to the watch. Runs concurrent statements
 * (`Promise.all`) one after the other, because pg 9 no longer queues them.
 *
 * @param settings the statements that follow the beginning of each transaction
 */
export function prepareConnection(
  connection: PgConnection,
  Query: QueryClass,
  watched: WatchedConnection,
  settings: readonly string[],
): void {
  const queue = new StatementQueue(connection, Query, watched, settings)
  connection.query = (...args) => queue.send(args)
}

/** The statements of a connection, in the order in which they are sent. */
class StatementQueue {
  private readonly query: PgConnection['query']
  private readonly Beginning: ReturnType<typeof beginningQuery>
  private readonly Committing: ReturnType<typeof committingQuery>
  private readonly additions: Additions
  private last: Promise<unknown> = Promise.resolve()

  constructor(
    connection: PgConnection,
    Query: QueryClass,
    private readonly watched: WatchedConnection,
    private readonly settings: readonly string[],
  ) {
    this.query = connection.query.bind(connection)
    this.Beginning = beginningQuery(Query)
    this.Committing = committingQuery(Query)
    this.additions = additionsOf(connection)
  }

  send(args: unknown[]): unknown {
    const { additions, query } = this
    if (args[0] === BEGIN) args[0] = this.withSettings(BEGIN)
    const { begin } = additions
    additions.begin = undefined
    const note = args[0] === COMMIT ? additions.notePosition : undefined
    // Calls with a callback, and streams, are left to pg. If the connection is lost, they fail as the
    // beginning does.
    if (isSubmitted(args[0]) || args.some((arg) => typeof arg === 'function')) {
      if (begin) Promise.resolve(query(this.withSettings(begin))).catch(ignore)
      return query(...args)
    }
    const result = this.last.then(() => {
      this.watched.sent()
      return begin ? this.runFirst(begin, args) : note ? this.commit(note) : query(...args)
    })
    this.last = result.then(this.answered, this.failed)
    return result
  }

  private readonly answered = (): void => this.watched.answered()

  private readonly failed = (error: unknown): void => this.watched.answered(error)

  private withSettings(begin: string): string {
    return [begin, ...this.settings].join('; ')
  }

  /** Begins a transaction, and runs its first statement. */
  private async runFirst(begin: string, args: unknown[]): Promise<unknown> {
    const { Beginning, query } = this
    const [text, values] = args
    // Only a query with values uses the extended protocol, in which `BeginningQuery` adds statements.
    if (Beginning && Array.isArray(values) && values.length > 0)
      return new Promise((resolve, reject) => {
        const config = { text, values, before: [begin, ...this.settings] }
        query(new Beginning(config, undefined, (error, result) => (error ? reject(error) : resolve(result))))
      })
    await query(this.withSettings(begin))
    return query(...args)
  }

  /** Commits. The response to `COMMIT` alone decides whether the transaction is committed. */
  private commit(note: (position: string) => void): Promise<unknown> {
    this.additions.notePosition = undefined
    return new Promise((resolve, reject) => {
      const both = new this.Committing({ text: `${COMMIT}; ${POSITION}` }, undefined, (error, results) => {
        if (error && !both.hasCommitted) return reject(error)
        // Two statements have two results.
        const [committed, position] = error ? [] : (results as { rows: { position: string }[] }[])
        const text = position?.rows[0]?.position
        if (text !== undefined) note(text)
        resolve(committed)
      })
      this.query(both)
    })
  }
}

/** Whether a query sends itself, and receives its own rows and errors. */
function isSubmitted(query: unknown): boolean {
  return typeof Object(query).submit === 'function'
}

/** If the beginning fails, so does the statement after it. */
function ignore(): void {}

type Callback = (error: unknown, result: unknown) => void

/** A connection's protocol, as a query of `pg` uses it. */
interface Protocol {
  parse(statement: { text: string }): void
  bind(): void
  execute(): void
}

/** A query of `pg`. The native client has another class without `prepare`. */
interface Query {
  prepare(protocol: Protocol): void
  handleCommandComplete(message: unknown, protocol: Protocol): void
}

/** The class of a query. */
export type QueryClass = new (config: object, values: undefined, callback: Callback) => Query

/** The class of a query that first begins a transaction. If that fails, PostgreSQL skips the query. */
function beginningQuery(Query: QueryClass) {
  if (!('prepare' in Query.prototype)) return undefined
  return class BeginningQuery extends Query {
    private readonly before: readonly string[]
    /** The number of results that precede the result of the query. */
    private remaining: number

    constructor(config: { before: readonly string[] }, values: undefined, callback: Callback) {
      super(config, values, callback)
      this.before = config.before
      this.remaining = config.before.length
    }

    override prepare(protocol: Protocol): void {
      for (const text of this.before) {
        protocol.parse({ text })
        protocol.bind()
        protocol.execute()
      }
      super.prepare(protocol)
    }

    override handleCommandComplete(message: unknown, protocol: Protocol): void {
      if (this.remaining === 0) super.handleCommandComplete(message, protocol)
      else this.remaining -= 1
    }
  }
}

/** Makes the class of a query that commits first, and notes whether the commit has succeeded. */
function committingQuery(Query: QueryClass) {
  return class CommittingQuery extends Query {
    hasCommitted = false

    override handleCommandComplete(message: unknown, protocol: Protocol): void {
      this.hasCommitted = true
      super.handleCommandComplete(message, protocol)
    }
  }
}
