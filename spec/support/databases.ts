import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { engine, type ServerEngine } from './engine.js'
import { deleteFolders, isLeftOver, runFolderInMemory, runName } from './run.js'
import { openElsewhere, servers, serverUrl } from './servers.js'

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
 * name, because it takes longer to create tables than to empty them. A spec that changes a table needs `newDatabase()`: on
 * PostgreSQL, the statement fails.
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
  await made.protectTables?.()
  return made
}

/** Waits for databases that are made and emptied in the background, whose statements a spec would count. */
export async function databasesAreReady(): Promise<void> {
  await Promise.all(unfinished)
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
    unfinished.push(...ofSpec.splice(0).map((made) => made.release()))
  },

  /** Runs after each file when mocha runs files in parallel. */
  async afterAll() {
    await Promise.all(unfinished.splice(0))
  },
}

/** Mocha calls this once, before it starts the processes that run the specs. */
export async function mochaGlobalSetup(): Promise<void> {
  await deleteRuns(isLeftOver)
}

/** Mocha calls this once, at the end. */
export async function mochaGlobalTeardown(): Promise<void> {
  await deleteRuns((name) => name === runName || name.startsWith(`${runName}_`))
}

async function deleteRuns(isOver: (name: string) => boolean): Promise<void> {
  deleteFolders(isOver)
  if (engine !== 'sqlite') await deleteDatabases(engine, isOver)
}

interface Made {
  url: string
  /** Deletes the database, or empties it for the next spec. */
  release(): unknown
  /** Makes statements fail that change a table. */
  protectTables?(): unknown
  /** Deletes all rows, except those of migrations. Files of SQLite are created again instead. */
  empty?(): Promise<void>
}

let isInSpec = false
const ofSpec: Made[] = []
/** Databases that are being created or released. */
const unfinished: unknown[] = []
let create: () => Promise<Made> = () => {
  create = engine === 'sqlite' ? sqliteFiles() : serverDatabases(engine)
  return create()
}

function sqliteFiles(): () => Promise<Made> {
  const folder = runFolderInMemory()
  return async () => {
    const file = join(folder, `${crypto.randomUUID()}.sqlite`)
    const release = () => ['', '-wal', '-shm'].forEach((ending) => rmSync(file + ending, { force: true }))
    return { url: `sqlite:${file}`, release }
  }
}

/**
 * Creates databases on a server, always one in advance: the next spec does not wait. PostgreSQL takes 0.2 seconds to create
 * and delete a database, so that the specs take turns with a few of them.
 */
function serverDatabases(engine: ServerEngine): () => Promise<Made> {
  const { create, drop, empty, deleteRows, protectTables, names } = servers[engine]
  const url = serverUrl(engine)
  const server = openElsewhere(url)
  const emptied: string[] = []
  let next = make()
  return () => {
    const made = next
    next = make()
    // The spec that uses the database gets its error. The end of the run deletes the databases that exist then.
    unfinished.push(next.catch(() => undefined))
    return made
  }

  async function make(): Promise<Made> {
    const name = emptied.pop() ?? (await created())
    const own = new URL(url)
    own.pathname = `/${name}`
    return {
      url: own.href,
      release: () => release(own.href, name),
      protectTables: () => protectTables?.(own.href),
      empty: async () => deleteRows(await server, own.href, name),
    }
  }

  async function created(): Promise<string> {
    const name = `${runName}_${crypto.randomUUID().slice(0, 8)}`
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
  const { names, drop } = servers[engine]
  const server = await openElsewhere(serverUrl(engine))
  try {
    const rows: { name: string }[] = await server.query(names)
    for (const { name } of rows) if (isOver(name)) await drop(server, name)
  } finally {
    await server.close()
  }
}
