import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js'

/** Milliseconds within which a server must respond. */
const limit = 1000

/** The members of a client of `pg` that are used here. */
export interface Client {
  connect(): Promise<void>
  query<Row>(sql: string): Promise<{ rows: Row[] }>
  /** Closes the connection, even while a query runs. */
  end(): Promise<void>
  on(event: 'error', listener: () => void): this
}

/** The connection over which the state of a server is read. Requests do not use it. */
export class Probe {
  private client: Promise<Client> | undefined

  constructor(
    private readonly driver: PostgresDriver,
    private readonly url: string,
  ) {}

  /**
   * Returns the first row of a query. After a failure, the next query opens another connection.
   *
   * @throws the error of the connection or of the query, or an error after a second without a response
   */
  async read<Row>(sql: string): Promise<Row> {
    const opening = (this.client ??= this.open())
    try {
      const { rows } = await (await opening).query<Row>(sql)
      if (rows[0]) return rows[0]
      throw new Error('it returned no row')
    } catch (error) {
      if (this.client === opening) await this.close()
      throw error
    }
  }

  async close(): Promise<void> {
    const opening = this.client
    this.client = undefined
    // A server that does not respond must not delay the caller.
    void opening?.then((client) => client.end()).catch(() => undefined)
  }

  private async open(): Promise<Client> {
    const options = { connectionString: this.url, connectionTimeoutMillis: limit, query_timeout: limit }
    // TypeORM has loaded the `pg` package.
    const client: Client = new this.driver.postgres.Client(options)
    // Without a listener, the error would end the process. The next query fails, too.
    client.on('error', () => {})
    await client.connect()
    return client
  }
}
