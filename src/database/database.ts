import { existsSync } from 'node:fs'
import { DataSource, QueryFailedError, TypeORMError } from 'typeorm'
import type { DataSourceOptions, EntityManager, EntityMetadata, LoggerOptions, MixedList } from 'typeorm'
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js'
import { DriverPackageNotInstalledError } from 'typeorm/error/DriverPackageNotInstalledError.js'
import { currentEnvironment } from '../common/environment.js'
import { checkNumbers, longestDelay } from '../common/numbers.js'
import { DeclarationError, ServiceUnavailable } from '../errors.js'
import { socketTimeoutMargin, whileSilent, type ConnectionLimits, type Ping } from './engines/connections.js'
import { explainConnectionError } from './engines/connection-errors.js'
import { addressOf, hidePassword } from './engines/database-url.js'
import { engineForUrl, engineOf } from './engines/engines.js'
import { createRunner } from './engines/mode.js'
import { MariadbRunner } from './engines/mariadb-runner.js'
import { PostgresRunner } from './engines/postgres/query-runner.js'
import type { Replication, Servers } from './replicas/servers.js'
import { PooledSqliteQueryRunner } from './engines/sqlite/pooled-query-runner.js'
import { migrate, migrationStatus, rollback } from './migrations/run.js'
import type { MigrationState, MigrationReport } from './migrations/run.js'
import { publishStatements } from './queries/publish.js'
import { ModelSubscriber } from '../models/model-subscriber.js'

/** Milliseconds for a ping. With replicas, the check passes anyway, before balancers give up. */
const PING_TIMEOUT = 5000
const PING_TIMEOUT_WITH_REPLICAS = 500

for (const runner of [PooledSqliteQueryRunner, PostgresRunner, MariadbRunner]) publishStatements(runner)

/** The database of one environment. */
export interface DatabaseSettings {
  /** `sqlite:db/development.sqlite`, `postgres://user:password@host/name`, `mysql://...`, `mariadb://...` */
  url: string
  /** The maximum number of connections (8 on SQLite, 10 on a server). */
  pool?: number
  /** Milliseconds that a query waits for a connection, SQLite's write lock, or locked rows (10,000). */
  acquireTimeout?: number
  /** Milliseconds after which the server cancels a statement (no limit). SQLite cannot cancel one. */
  statementTimeout?: number
  /**
   * The URLs of the servers that requests may read: each PostgreSQL server of the cluster, the primary
   * included (none). The `test` environment ignores them.
   */
  replicas?: readonly string[]
  /** Milliseconds that data read from a replica may be old: 2,000 or more (5,000). */
  maxLag?: number
  /** The events that TypeORM logs to the console, for example `['query', 'error']` (none). */
  logging?: LoggerOptions
}

/** The default export of `ormconfig.ts`: the database of each environment, the models and the migrations. */
export interface DatabaseConfig {
  /** The model classes, or glob patterns of the compiled files that export them. */
  models?: MixedList<Function | string>
  migrations?: MixedList<Function | string>
  [environment: string]: DatabaseSettings | MixedList<Function | string> | undefined
}

/**
 * The application's database: TypeORM's DataSource for one environment of `ormconfig.ts`.
 *
 * @example
 * ```ts
 * export const database = new Database(config)
 * await database.open()
 * ```
 */
export class Database extends DataSource {
  /** The environment whose settings are used. */
  readonly environment: string
  /** The database's URL including its password. Messages must not contain it. */
  readonly url: string
  /** The maximum number of connections. */
  readonly pool: number
  /** Milliseconds that a query waits for a connection, or for a lock. */
  readonly acquireTimeout: number
  /**
   * The servers that requests may read, if there are any.
   *
   * @internal
   */
  readonly replication: Replication
  private readonly sendPing: Ping
  private watching: Promise<Servers | undefined> | undefined
  private opening: Promise<this> | undefined
  /** The number of parts of the application that use the database. */
  private holders: number
  private closing: Promise<void> | undefined

  /**
   * @param environment `GO_ENV`, else `NODE_ENV`, else `development`. `DATABASE_URL` and
   *   `DATABASE_REPLICA_URLS` override the URLs of its settings.
   * @throws DeclarationError when no engine supports the URL, when the engine's driver is not installed, when
   *   the engine has no replicas, or when a number is not in its range
   */
  constructor(config: DatabaseConfig, environment: string = currentEnvironment()) {
    const settings = settingsOf(config, environment)
    try {
      super(toOptions(config, settings))
    } catch (error) {
      if (error instanceof DriverPackageNotInstalledError) throw missingDriver(settings.url, error)
      throw error
    }
    this.holders = 0
    this.environment = environment
    this.url = settings.url
    const limits = limitsOf(settings)
    this.pool = limits.size
    this.acquireTimeout = limits.acquireTimeout
    this.replication = replicationOf(settings, environment, limits)
    this.sendPing = engineOf(this).adapt(this, limits)
  }

  /**
   * Opens the database. Concurrent calls open it once, and a call after a failure tries again.
   *
   * @throws DeclarationError when a model is wrong, for example a column with a type that the engine lacks, a
   *   property with `@RelationIds` that does not belong to a many-to-many relation, or a lazy relation
   * @throws DatabaseNotOpened when it cannot be opened; the message contains the file or the host, the cause
   *   and the remedy
   */
  async open(): Promise<this> {
    await this.closing
    this.opening ??= this.openOnce().catch((error: unknown) => {
      this.opening = undefined
      throw explainConnectionError(error, this.url)
    })
    await this.opening
    this.entityMetadatas.forEach(rejectLazyRelations)
    return this
  }

  /** Closes the database, if it is open. */
  async close(): Promise<void> {
    this.closing ??= this.closeOnce().finally(() => {
      this.closing = undefined
    })
    return this.closing
  }

  /** Opens the database for a part of the application, as `open` does: a middleware, a session store. */
  async hold(): Promise<void> {
    this.holders += 1
    await this.open()
  }

  /** Closes the database, unless another part of the application still uses it. */
  async release(): Promise<void> {
    this.holders = Math.max(0, this.holders - 1)
    if (this.holders === 0) await this.close()
  }

  /** Whether the database responds. */
  async ping(): Promise<boolean> {
    return this.check().then(
      () => true,
      () => false,
    )
  }

  /**
   * Checks that the database responds: its primary, or a replica that requests read.
   *
   * @throws ServiceUnavailable when it does not, or on SQLite when the database file has been deleted or
   *   replaced
   */
  async check(): Promise<void> {
    if (!this.isInitialized) throw new ServiceUnavailable('The database is not open.', 5)
    const servers = await this.watching
    const signal = AbortSignal.timeout(servers?.hasReplica ? PING_TIMEOUT_WITH_REPLICAS : PING_TIMEOUT)
    await this.sendPing(signal).catch((cause: unknown) => {
      if (servers?.hasReplica) return
      if (cause instanceof ServiceUnavailable) throw cause
      const reason = signal.aborted ? `did not respond within ${PING_TIMEOUT / 1000} s` : 'does not respond'
      throw new ServiceUnavailable(`The database ${reason}.`, 5, { cause })
    })
  }

  /**
   * Runs a statement over a connection that requests do not use.
   *
   * @internal
   */
  runBeside(sql: string): Promise<void> {
    // A ping has its own connection.
    return this.sendPing(AbortSignal.timeout(PING_TIMEOUT), sql)
  }

  /**
   * Runs a short read outside of a request's transaction, for example before slow work. Call it before the
   * first query of `ctx.tx`, because it uses a second connection: requests that already have one could wait
   * for each other. The abilities of policies receive the transaction of the request instead.
   *
   * @example const user = await database.read((tx) => tx.findOneBy(User, { email: 'ada@example.com' }))
   */
  async read<T>(work: (tx: EntityManager) => Promise<T>): Promise<T> {
    const runner = createRunner(this, 'read')
    try {
      return await work(runner.manager)
    } finally {
      await runner.release()
    }
  }

  /**
   * Begins to watch the database's servers, if it has several, until the database is closed. The replicas of
   * PostgreSQL are also watched before it is open, which needs the primary.
   *
   * @param log receives a sentence about each change of the servers
   * @internal
   */
  async watch(log: (change: string) => void): Promise<Servers | undefined> {
    return (this.watching ??= this.findServers(log))
  }

  private async findServers(log: (change: string) => void): Promise<Servers | undefined> {
    if (this.replication.urls.length > 0) {
      const { Replicas } = await import('./replicas/replicas.js')
      // Type assertion: only PostgreSQL has replicas.
      return new Replicas(this.driver as PostgresDriver, this.replication, log)
    }
    const afterOthers = engineOf(this).afterOthers?.(this)
    return afterOthers === undefined ? undefined : (await import('./replicas/galera.js')).nodes(afterOthers)
  }

  /** Runs the pending migrations and returns their names. `report` is called after each of them. */
  migrate(report?: MigrationReport): Promise<string[]> {
    return migrate(this, report)
  }

  /** Undoes the last migrations and returns their names. `report` is called after each of them. */
  rollback(steps = 1, report?: MigrationReport): Promise<string[]> {
    return rollback(this, steps, report)
  }

  /** Returns all migrations, and whether each of them has been run. */
  migrationStatus(): Promise<MigrationState[]> {
    return migrationStatus(this)
  }

  private async openOnce(): Promise<this> {
    await whileSilent(this.acquireTimeout, () => this.initialize()).catch((error: unknown) => {
      throw mistakeInModel(error) ?? error
    })
    return this
  }

  private async closeOnce(): Promise<void> {
    const { opening } = this
    await opening?.catch(() => undefined)
    await (await this.watching)?.stop()
    this.watching = undefined
    if (this.isInitialized) await this.destroy()
    this.opening = undefined
  }
}

/** @throws DeclarationError when the environment has no database, or when a number is not in its range */
function settingsOf(config: DatabaseConfig, environment: string): DatabaseSettings {
  const { models: _models, migrations: _migrations, ...environments } = config
  const settings = environments[environment]
  const url = process.env['DATABASE_URL'] || (isSettings(settings) ? settings.url : undefined)
  if (!url) {
    throw new DeclarationError(
      `ormconfig.ts has no database for the environment "${environment}". ` +
        `Configured: ${Object.keys(environments).join(', ') || 'none'}. Add the environment, or set DATABASE_URL.`,
    )
  }
  const checked = { ...(isSettings(settings) && settings), url }
  checkNumbers('the database', checked, {
    pool: { min: 1, isWhole: true },
    acquireTimeout: { min: 1, max: longestDelay },
    statementTimeout: { min: 1, max: longestDelay - socketTimeoutMargin },
    maxLag: { min: 2000 },
  })
  return checked
}

/** @throws DeclarationError when the engine has no replicas, or when one belongs to another engine */
function replicationOf(
  settings: DatabaseSettings,
  environment: string,
  limits: ConnectionLimits,
): Replication {
  const listed = process.env['DATABASE_REPLICA_URLS']?.split(',') ?? settings.replicas ?? []
  const urls = environment === 'test' ? [] : listed.map((url) => url.trim()).filter((url) => url !== '')
  const { maxLag = 5000 } = settings
  if (urls.length > 0 && !engineForUrl(settings.url).hasReplicas) {
    const place = hidePassword(settings.url)
    throw new DeclarationError(
      `Only PostgreSQL databases have replicas, and the url is ${place}. Remove them.`,
    )
  }
  for (const url of urls) {
    if (engineForUrl(url) !== engineForUrl(settings.url))
      throw new DeclarationError(`The replica ${hidePassword(url)} is not a PostgreSQL database.`)
    // Throws if the URL is malformed.
    addressOf(url)
  }
  return { urls, maxLag, limits }
}

function isSettings(value: DatabaseConfig[string]): value is DatabaseSettings {
  return typeof value === 'object' && 'url' in value && typeof value.url === 'string'
}

function toOptions(config: DatabaseConfig, settings: DatabaseSettings): DataSourceOptions {
  return {
    ...engineForUrl(settings.url).options(settings.url, limitsOf(settings)),
    entities: withLiteralFolders(config.models),
    migrations: withLiteralFolders(config.migrations),
    subscribers: [ModelSubscriber],
    synchronize: false,
    logging: settings.logging ?? false,
  }
}

/** Escapes existing folders of patterns: in `/srv/shop (1)/src/models/*.js`, parentheses are no pattern. */
function withLiteralFolders(list: MixedList<Function | string> = []): (Function | string)[] {
  return Object.values<Function | string>(list).map((one) => {
    const folder = typeof one === 'string' ? /^[^*]*\//.exec(one)?.[0] : undefined
    if (folder === undefined || !existsSync(folder)) return one
    return folder.replaceAll(/[()[\]{}!?+@]/g, '\\$&') + String(one).slice(folder.length)
  })
}

function limitsOf({
  url,
  pool,
  acquireTimeout = 10_000,
  statementTimeout,
}: DatabaseSettings): ConnectionLimits {
  return { size: pool ?? engineForUrl(url).defaultPool, acquireTimeout, statementTimeout }
}

/** TypeORM checks the models before it connects, and explains a mistake in one sentence. */
function mistakeInModel(error: unknown): DeclarationError | undefined {
  if (!(error instanceof TypeORMError) || error instanceof QueryFailedError) return undefined
  return new DeclarationError(error.message, { cause: error })
}

function missingDriver(url: string, cause: Error): DeclarationError {
  const name = engineForUrl(url).driverPackage
  return new DeclarationError(
    `The database ${hidePassword(url)} needs the package "${name}". Run \`npm install ${name}\`.`,
    { cause },
  )
}

/** Rejects a model with a lazy relation. TypeORM would load it outside of the request's work. */
function rejectLazyRelations({ lazyRelations: [relation], targetName }: EntityMetadata): void {
  if (!relation) return
  const { propertyName } = relation
  throw new DeclarationError(
    `${targetName} has the lazy relation "${propertyName}", whose value is a promise. Responses and transactions do not ` +
      `support lazy relations. Declare its type without Promise, and load it by ctx.load(record, '${propertyName}').`,
  )
}
