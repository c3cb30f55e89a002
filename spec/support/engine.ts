import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Database } from '../../src/data/database.js'

/** The engines that the specs run on. */
export type Engine = 'sqlite' | 'postgres' | 'mariadb'

/**
 * Declares specs that do not depend on the engine, in a file that runs on each of them: they run once, on SQLite. Files
 * that run once as a whole are those that .mocharc.servers.yml does not list.
 */
export function describeOnce(title: string, specs: (this: Mocha.Suite) => void): void {
  if (engine === 'sqlite') describe(title, specs)
}

/** The same for a single spec. */
export function itOnce(title: string, spec: (this: Mocha.Context) => unknown): void {
  if (engine !== 'sqlite') return
  it(title, async function () {
    await spec.call(this)
  })
}

/** The engines that are servers. */
export type ServerEngine = Exclude<Engine, 'sqlite'>

/** The engine of this run: the one of `KIT_ENGINE`, or SQLite. */
export const engine = engineOf(process.env['KIT_ENGINE'] || 'sqlite')

/**
 * Creates an empty database and returns its url. It is empty again, or deleted, after the spec in which, or in whose `beforeEach`,
 * it was created; a database created in `before` is deleted at the end of the run.
 */
export async function newDatabase(): Promise<string> {
  const made = await create()
  if (isInSpec) ofSpec.push(made)
  return made.url
}

/**
 * The same, with tables that `create` has made, and without rows. On the servers, specs take turns with the databases of such a
 * name, because it takes longer to create tables than to empty them. A spec that changes a table needs `newDatabase()`.
 */
export async function databaseWithTables(
  name: string,
  create: (url: string) => Promise<unknown>,
): Promise<string> {
  const free = withTables.get(name) ?? []
  withTables.set(name, free)
  const made = free.pop() ?? (await createWithTables(create))
  const { empty } = made
  const release = async (): Promise<void> => {
    await empty?.()
    free.push(made)
  }
  if (isInSpec) ofSpec.push(empty ? { ...made, release } : made)
  return made.url
}

async function createWithTables(createTables: (url: string) => Promise<unknown>): Promise<Made> {
  const made = await create()
  await createTables(made.url)
  return made
}

/** Databases with tables and without rows that no spec uses now. */
const withTables = new Map<string, Made[]>()

/** Creates an empty database for several specs: it is deleted at the end of the run. */
export async function sharedDatabase(): Promise<string> {
  return (await create()).url
}

/** Mocha calls these around each spec, in each of its processes. */
export const mochaHooks = {
  beforeEach() {
    isInSpec = true
  },

  afterEach() {
    isInSpec = false
    releasing.push(...ofSpec.splice(0).map((made) => made.release()))
  },

  /** Runs after each file when mocha runs files in parallel. */
  async afterAll() {
    await Promise.all(releasing.splice(0))
  },
}

/** Mocha calls this once, before it starts the processes that run the specs. They read the run's name from their environment. */
export async function mochaGlobalSetup(): Promise<void> {
  process.env[RUN] = `kit_spec_${seconds()}_${crypto.randomUUID().slice(0, 4)}`
  if (engine === 'sqlite') deleteFolders(isLeftOver)
  else await deleteDatabases(engine, isLeftOver)
}

/** Mocha calls this once, at the end: it deletes the remaining databases of the run. */
export async function mochaGlobalTeardown(): Promise<void> {
  rmSync(folderOfRun(), { recursive: true, force: true })
  if (engine !== 'sqlite') await deleteDatabases(engine, (name) => name.startsWith(`${nameOfRun()}_`))
}

interface Made {
  url: string
  /** Deletes the database, or empties it for the next spec. */
  release(): unknown
  /** Deletes all rows, except those of migrations. Files of SQLite are created again instead. */
  empty?(): Promise<void>
}

/** The variable with the name of the run: all of its databases begin with this name. */
const RUN = 'KIT_SPEC_RUN'

let isInSpec = false
const ofSpec: Made[] = []
const releasing: unknown[] = []
let create: () => Promise<Made> = () => {
  create = engine === 'sqlite' ? sqliteFiles() : serverDatabases(engine)
  return create()
}

function engineOf(name: string): Engine {
  if (name === 'sqlite' || name === 'postgres' || name === 'mariadb') return name
  throw new Error(`KIT_ENGINE is "${name}". Known engines: sqlite, postgres, mariadb.`)
}

function nameOfRun(): string {
  const name = process.env[RUN]
  if (!name) throw new Error('The specs need spec/support/setup.ts: npx mocha finds it in .mocharc.json.')
  return name
}

/** The folder of the SQLite files of this run. */
function folderOfRun(): string {
  return join(folderOfRuns(), nameOfRun())
}

function folderOfRuns(): string {
  return hasSpaceInMemory() ? MEMORY : tmpdir()
}

function deleteFolders(isOver: (name: string) => boolean): void {
  for (const name of readdirSync(folderOfRuns()))
    if (isOver(name)) rmSync(join(folderOfRuns(), name), { recursive: true, force: true })
}

/** The folder of Linux whose files are in memory. No transaction waits for a disk there. */
const MEMORY = '/dev/shm'

/** Containers may have only a few megabytes. */
function hasSpaceInMemory(): boolean {
  const { blocks, bsize } = existsSync(MEMORY) ? statfsSync(MEMORY) : { blocks: 0, bsize: 0 }
  return blocks * bsize >= 2 ** 30
}

function sqliteFiles(): () => Promise<Made> {
  const folder = folderOfRun()
  mkdirSync(folder, { recursive: true })
  return async () => {
    const file = join(folder, `${crypto.randomUUID()}.sqlite`)
    const release = () => ['', '-wal', '-shm'].forEach((ending) => rmSync(file + ending, { force: true }))
    return { url: `sqlite:${file}`, release }
  }
}

/** The server of an engine: its variable and default url, and its statements. */
interface Server {
  variable: string
  url: string
  names: string
  create(server: Database, name: string): Promise<unknown>
  drop(server: Database, name: string): Promise<unknown>
  /** Deletes all rows of a database. */
  deleteRows(server: Database, url: string, name: string): Promise<void>
  /** Deletes everything in a database, if that is faster than to delete the database and create it again. */
  empty?(server: Database, url: string, name: string): Promise<void>
}

/** Commits on PostgreSQL do not wait for the disk: no spec needs its records after a crash of the server. */
const COMMITS = 'synchronous_commit = off'

const SERVERS: Record<ServerEngine, Server> = {
  postgres: {
    variable: 'KIT_POSTGRES_URL',
    url: 'postgres://postgres@127.0.0.1:5432/postgres',
    names: 'SELECT datname AS name FROM pg_database',
    async create(server, name) {
      await server.query(`CREATE DATABASE ${name}`)
      await server.query(`ALTER DATABASE ${name} SET ${COMMITS}`)
    },
    drop: (server, name) => server.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
    async deleteRows(server, url, name) {
      await disconnectPostgres(server, name)
      const database = await openElsewhere(url)
      try {
        // TRUNCATE waits for the disk. A table whose rows others refer to is deleted in the next round.
        await database.query(`DO $$
          DECLARE
            name text;
            again boolean := true;
            rounds int := 0;
          BEGIN
            WHILE again LOOP
              again := false;
              rounds := rounds + 1;
              IF rounds > 20 THEN
                RAISE 'The rows of two tables refer to each other. Use newDatabase() in this spec.';
              END IF;
              FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'migrations' LOOP
                BEGIN
                  EXECUTE format('DELETE FROM %I', name);
                EXCEPTION WHEN foreign_key_violation THEN
                  again := true;
                END;
              END LOOP;
            END LOOP;
          END $$`)
      } finally {
        await database.close()
      }
    },
    async empty(server, url, name) {
      await disconnectPostgres(server, name)
      await server.query(`ALTER DATABASE ${name} RESET ALL`)
      await server.query(`ALTER DATABASE ${name} SET ${COMMITS}`)
      const database = await openElsewhere(url)
      try {
        const schemas: { name: string }[] = await database.query(
          "SELECT nspname AS name FROM pg_namespace WHERE nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%'",
        )
        for (const schema of schemas) await database.query(`DROP SCHEMA "${schema.name}" CASCADE`)
        await database.query('CREATE SCHEMA public')
      } finally {
        await database.close()
      }
    },
  },
  mariadb: {
    variable: 'KIT_MARIADB_URL',
    url: 'mysql://root@127.0.0.1:3306/',
    names: 'SELECT schema_name AS name FROM information_schema.schemata',
    create: (server, name) =>
      server.query(`CREATE DATABASE ${name} CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin`),
    async deleteRows(server, _url, name) {
      await disconnectMariadb(server, name)
      const tables: { name: string }[] = await server.query(
        "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = ? AND table_name <> 'migrations'",
        [name],
      )
      const runner = server.createQueryRunner()
      try {
        await runner.query('SET foreign_key_checks = 0')
        for (const table of tables) await runner.query(`DELETE FROM ${name}.\`${table.name}\``)
        await runner.query('SET foreign_key_checks = 1')
      } finally {
        await runner.release()
      }
    },
    async drop(server, name) {
      await disconnectMariadb(server, name)
      await server.query(`DROP DATABASE IF EXISTS ${name}`)
    },
  },
}

async function disconnectPostgres(server: Database, name: string): Promise<void> {
  await server.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name])
}

/** A transaction that was left open would lock the tables. */
async function disconnectMariadb(server: Database, name: string): Promise<void> {
  const others: { id: string }[] = await server.query(
    'SELECT id FROM information_schema.processlist WHERE db = ?',
    [name],
  )
  for (const { id } of others) await server.query(`KILL ${id}`).catch(() => undefined)
}

/** The url of the server of an engine, for an administrator. */
export function serverUrl(engine: ServerEngine): string {
  const { variable, url } = SERVERS[engine]
  return process.env[variable] || url
}

/**
 * Creates databases on a server, always one in advance: the next spec does not wait. PostgreSQL takes 0.2 seconds to create
 * and delete a database, so that the specs take turns with a few of them.
 */
function serverDatabases(engine: ServerEngine): () => Promise<Made> {
  const { create, drop, empty, deleteRows, names } = SERVERS[engine]
  const url = serverUrl(engine)
  const server = openElsewhere(url)
  const emptied: string[] = []
  let next = make()
  return () => {
    const made = next
    next = make()
    // The spec that uses the database gets its error.
    next.catch(() => undefined)
    return made
  }

  async function make(): Promise<Made> {
    const name = emptied.pop() ?? (await created())
    const own = new URL(url)
    own.pathname = `/${name}`
    return {
      url: own.href,
      release: () => release(own.href, name),
      empty: async () => deleteRows(await server, own.href, name),
    }
  }

  async function created(): Promise<string> {
    const name = `${nameOfRun()}_${crypto.randomUUID().slice(0, 8)}`
    await create(await server, name)
    return name
  }

  async function release(url: string, name: string): Promise<void> {
    if (!empty) return void (await drop(await server, name))
    const rows: { name: string }[] = await (await server).query(names)
    // A spec may have deleted its database.
    if (!rows.some((row) => row.name === name)) return
    await empty(await server, url, name)
    emptied.push(name)
  }
}

async function deleteDatabases(engine: ServerEngine, isOver: (name: string) => boolean): Promise<void> {
  const { names, drop } = SERVERS[engine]
  const server = await openElsewhere(serverUrl(engine))
  try {
    const rows: { name: string }[] = await server.query(names)
    for (const { name } of rows) if (isOver(name)) await drop(server, name)
  } finally {
    await server.close()
  }
}

/** A database other than that of the application under test: it ignores `DATABASE_URL`. */
function openElsewhere(url: string): Promise<Database> {
  const { DATABASE_URL: before } = process.env
  delete process.env['DATABASE_URL']
  const database = new Database({ server: { url, pool: 2, acquireTimeout: 100_000 } }, 'server')
  // Before anything else runs: specs run while a database is opened.
  if (before !== undefined) process.env['DATABASE_URL'] = before
  return database.open()
}

/** Whether a database of this name belongs to a run that was killed: no run takes an hour. */
function isLeftOver(name: string): boolean {
  const [, made] = /^kit_spec_(\d+)_/.exec(name) ?? []
  return made !== undefined && Number(made) < seconds() - 3600
}

function seconds(): number {
  return Math.floor(Date.now() / 1000)
}
