/** The members of a `pg` connection that this folder uses. */
export interface Connection {
  query(...args: unknown[]): unknown
  /** `I` outside of a transaction; undefined in older releases of `pg`. */
  getTransactionStatus?(): string | null
}

/** The statement that begins a transaction. */
export const BEGIN = 'START TRANSACTION'

/** The connections whose next statement begins a transaction. */
const beginning = new WeakSet<Connection>()

/** Lets the next statement of a connection begin a transaction, which saves a round trip. */
export function beginWithNext(connection: Connection): void {
  beginning.add(connection)
}

/** Ends a transaction without statements. Returns false if it has begun, or if there is none. */
export function discardBegin(connection: Connection): boolean {
  return beginning.delete(connection)
}

/** Runs concurrent statements (`Promise.all`) one after the other, because pg 9 no longer queues them. */
export function prepareConnection(connection: Connection, Query: QueryClass): void {
  const query = connection.query.bind(connection)
  const Beginning = beginningQuery(Query)
  let last: Promise<unknown> = Promise.resolve()

  connection.query = (...args) => {
    const begins = beginning.delete(connection)
    // Calls with a callback, and streams, are left to pg. If the connection is lost, they fail as the beginning does.
    if (isSubmitted(args[0]) || args.some((arg) => typeof arg === 'function')) {
      if (begins) Promise.resolve(query(BEGIN)).catch(ignore)
      return query(...args)
    }
    const result = last.then(() => (begins ? begin(args) : query(...args)))
    last = result.catch(() => undefined)
    return result
  }

  /** Begins a transaction, and runs its first statement. */
  async function begin(args: unknown[]): Promise<unknown> {
    const [text, values] = args
    if (Beginning && Array.isArray(values) && values.length > 0)
      return new Promise((resolve, reject) => {
        query(
          new Beginning({ text, values }, undefined, (error, result) =>
            error ? reject(error) : resolve(result),
          ),
        )
      })
    await query(BEGIN)
    return query(...args)
  }
}

/** Whether a query sends itself, and receives its own rows and errors. */
function isSubmitted(query: unknown): boolean {
  return typeof Object(query).submit === 'function'
}

/** The statement after the beginning fails, too. */
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
  requiresPreparation(): boolean
  prepare(protocol: Protocol): void
  handleCommandComplete(message: unknown, protocol: Protocol): void
}

/** The class of a query. */
export type QueryClass = new (config: object, values: undefined, callback: Callback) => Query

/** A query that sends the beginning of a transaction with it. If the transaction cannot begin, PostgreSQL skips the query. */
function beginningQuery(Query: QueryClass): QueryClass | undefined {
  if (!('prepare' in Query.prototype)) return undefined
  return class BeginningQuery extends Query {
    private hasBegun = false

    override prepare(protocol: Protocol): void {
      protocol.parse({ text: BEGIN })
      protocol.bind()
      protocol.execute()
      super.prepare(protocol)
    }

    override handleCommandComplete(message: unknown, protocol: Protocol): void {
      if (this.hasBegun) super.handleCommandComplete(message, protocol)
      this.hasBegun = true
    }
  }
}
