import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Database } from '../../src/data/database.js'

/** The engines that the specs run on. */
export type Engine = 'sqlite' | 'postgres' | 'mariadb'

/** The engine of this run: that of `KIT_ENGINE`, SQLite without it. */
export const engine = engineOf(process.env['KIT_ENGINE'] || 'sqlite')

/**
 * Makes a database, empty, and returns its url. It is deleted when the spec has ended in which, or in whose
 * `beforeEach`, it was made; one that was made in `before`, at the end of the run.
 */
export function newDatabase(): Promise<string> {
  return isInSpec ? create(ofSpec) : sharedDatabase()
}

/** The same for a database that several specs use: it is deleted at the end of the run. */
export function sharedDatabase(): Promise<string> {
  return create(ofRun)
}

/** What mocha does around all specs: it deletes their databases. */
export const mochaHooks = {
  beforeEach() {
    isInSpec = true
  },

  afterEach() {
    isInSpec = false
    drop(ofSpec)
  },

  async afterAll() {
    drop(ofRun)
    await Promise.all(dropping)
    await (await making)?.end()
  },
}

interface Made {
  url: string
  drop(): unknown
}

/** Makes databases on one engine, until it is ended. */
interface Maker {
  create(): Promise<Made>
  end(): unknown
}

let isInSpec = false
const ofSpec: Made[] = []
const ofRun: Made[] = []
const dropping: unknown[] = []
let making: Promise<Maker> | undefined

function engineOf(name: string): Engine {
  if (name === 'sqlite' || name === 'postgres' || name === 'mariadb') return name
  throw new Error(`KIT_ENGINE is "${name}". Known engines: sqlite, postgres, mariadb.`)
}

async function create(databases: Made[]): Promise<string> {
  making ??= engine === 'sqlite' ? Promise.resolve(sqliteFiles()) : serverDatabases(engine)
  const made = await (await making).create()
  databases.push(made)
  return made.url
}

/** Deletes databases, while the next spec goes on. */
function drop(databases: Made[]): void {
  dropping.push(...databases.splice(0).map((made) => made.drop()))
}

function sqliteFiles(): Maker {
  const folder = mkdtempSync(join(tmpdir(), 'kit-spec-'))
  let count = 0
  return {
    async create() {
      const file = join(folder, `${++count}.sqlite`)
      const drop = () => ['', '-wal', '-shm'].forEach((ending) => rmSync(file + ending, { force: true }))
      return { url: `sqlite:${file}`, drop }
    },
    end: () => rmSync(folder, { recursive: true }),
  }
}

/** The server of an engine: where it is unless the environment says otherwise, and what it is told. */
interface Server {
  variable: string
  url: string
  names: string
  create(name: string): string
  drop(database: Database, name: string): Promise<unknown>
}

const SERVERS: Record<Exclude<Engine, 'sqlite'>, Server> = {
  postgres: {
    variable: 'KIT_POSTGRES_URL',
    url: 'postgres://postgres@127.0.0.1:5432/postgres',
    names: 'SELECT datname AS name FROM pg_database',
    create: (name) => `CREATE DATABASE ${name}`,
    drop: (database, name) => database.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  },
  mariadb: {
    variable: 'KIT_MARIADB_URL',
    url: 'mysql://root@127.0.0.1:3306/',
    names: 'SELECT schema_name AS name FROM information_schema.schemata',
    create: (name) => `CREATE DATABASE ${name} CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin`,
    async drop(database, name) {
      // A transaction that somebody has left open would keep the tables.
      const others: { id: string }[] = await database.query(
        'SELECT id FROM information_schema.processlist WHERE db = ?',
        [name],
      )
      for (const { id } of others) await database.query(`KILL ${id}`).catch(() => undefined)
      await database.query(`DROP DATABASE IF EXISTS ${name}`)
    },
  },
}

/** The url of the server of an engine, as an administrator reaches it. */
export function serverUrl(engine: Exclude<Engine, 'sqlite'>): string {
  const { variable, url } = SERVERS[engine]
  return process.env[variable] || url
}

async function serverDatabases(engine: Exclude<Engine, 'sqlite'>): Promise<Maker> {
  const { names, create, drop } = SERVERS[engine]
  const url = serverUrl(engine)
  const server = await openElsewhere(url)
  const rows: { name: string }[] = await server.query(names)
  for (const { name } of rows) if (isLeftOver(name)) await drop(server, name)
  return {
    async create() {
      const name = `kit_spec_${seconds()}_${crypto.randomUUID().slice(0, 8)}`
      await server.query(create(name))
      const own = new URL(url)
      own.pathname = `/${name}`
      return { url: own.href, drop: () => drop(server, name) }
    },
    end: () => server.close(),
  }
}

/** A database that is none of the application under test: `DATABASE_URL` is not asked. */
async function openElsewhere(url: string): Promise<Database> {
  const { DATABASE_URL: before } = process.env
  delete process.env['DATABASE_URL']
  try {
    return await new Database({ server: { url, pool: 2 } }, 'server').open()
  } finally {
    if (before !== undefined) process.env['DATABASE_URL'] = before
  }
}

/** Whether a run that was killed has made a database of this name: no run takes an hour. */
function isLeftOver(name: string): boolean {
  const [, made] = /^kit_spec_(\d+)_/.exec(name) ?? []
  return made !== undefined && Number(made) < seconds() - 3600
}

function seconds(): number {
  return Math.floor(Date.now() / 1000)
}
