import { Database } from '../../src/database/database.js'
import type { ServerEngine } from './engine.js'

/** The url of the server of an engine, for an administrator. */
export function serverUrl(engine: ServerEngine): string {
  const { variable, url } = servers[engine]
  return process.env[variable] || url
}

/** A database other than that of the application under test: it ignores `DATABASE_URL`. */
export function openElsewhere(url: string): Promise<Database> {
  const { DATABASE_URL: before } = process.env
  delete process.env['DATABASE_URL']
  const database = new Database({ server: { url, pool: 2, acquireTimeout: 100_000 } }, 'server')
  // Before anything else runs: specs run while a database is opened.
  if (before !== undefined) process.env['DATABASE_URL'] = before
  return database.open()
}

/** The server of an engine: its variable and default url, and its statements. */
export interface Server {
  variable: string
  url: string
  names: string
  create(server: Database, name: string): Promise<unknown>
  drop(server: Database, name: string): Promise<unknown>
  /** Makes later statements fail that change a table, if the server can do that. */
  protectTables?(url: string): Promise<unknown>
  /** Deletes all rows of a database. */
  deleteRows(server: Database, url: string, name: string): Promise<void>
  /** Deletes everything in a database, if that is faster than to delete the database and create it again. */
  empty?(server: Database, url: string, name: string): Promise<void>
}

/** Commits on PostgreSQL do not wait for the disk: no spec needs its records after a crash of the server. */
const COMMITS = 'synchronous_commit = off'

export const servers: Record<ServerEngine, Server> = {
  postgres: {
    variable: 'KIT_POSTGRES_URL',
    url: 'postgres://postgres@127.0.0.1:5432/postgres',
    names: 'SELECT datname AS name FROM pg_database',
    async create(server, name) {
      await server.query(`CREATE DATABASE ${quoted(name)}`)
      await server.query(`ALTER DATABASE ${quoted(name)} SET ${COMMITS}`)
    },
    drop: (server, name) => server.query(`DROP DATABASE IF EXISTS ${quoted(name)} WITH (FORCE)`),
    protectTables: (url) =>
      inDatabase(url, (database) =>
        // Only superusers may create such triggers.
        database.query(`DO $$
          BEGIN
            IF current_setting('is_superuser') = 'on' THEN
              CREATE FUNCTION refuse_change() RETURNS event_trigger LANGUAGE plpgsql AS $function$
                BEGIN
                  RAISE 'Other specs use these tables, too. Use newDatabase() in a spec that changes tables.';
                END
              $function$;
              CREATE EVENT TRIGGER refuse_changes ON ddl_command_start EXECUTE FUNCTION refuse_change();
            END IF;
          END $$`),
      ),
    async deleteRows(server, url, name) {
      await disconnectPostgres(server, name)
      await inDatabase(url, (database) =>
        // TRUNCATE waits for the disk. A table whose rows others refer to is deleted in the next round.
        database.query(`DO $$
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
          END $$`),
      )
    },
    async empty(server, url, name) {
      await disconnectPostgres(server, name)
      await server.query(`ALTER DATABASE ${quoted(name)} RESET ALL`)
      await server.query(`ALTER DATABASE ${quoted(name)} SET ${COMMITS}`)
      await inDatabase(url, async (database) => {
        const schemas: { name: string }[] = await database.query(
          "SELECT nspname AS name FROM pg_namespace WHERE nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%'",
        )
        for (const schema of schemas) await database.query(`DROP SCHEMA "${schema.name}" CASCADE`)
        await database.query('CREATE SCHEMA public')
      })
    },
  },
  mariadb: {
    variable: 'KIT_MARIADB_URL',
    url: 'mysql://root@127.0.0.1:3306/',
    names: 'SELECT schema_name AS name FROM information_schema.schemata',
    create: (server, name) =>
      server.query(`CREATE DATABASE ${ticked(name)} CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin`),
    async deleteRows(server, _url, name) {
      await disconnectMariadb(server, name)
      const tables: { name: string }[] = await server.query(
        "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = ? AND table_name <> 'migrations'",
        [name],
      )
      const runner = server.createQueryRunner()
      try {
        await runner.query('SET foreign_key_checks = 0')
        for (const table of tables) await runner.query(`DELETE FROM ${ticked(name)}.${ticked(table.name)}`)
        await runner.query('SET foreign_key_checks = 1')
      } finally {
        await runner.release()
      }
    },
    async drop(server, name) {
      await disconnectMariadb(server, name)
      await server.query(`DROP DATABASE IF EXISTS ${ticked(name)}`)
    },
  },
}

async function inDatabase(url: string, work: (database: Database) => Promise<unknown>): Promise<void> {
  const database = await openElsewhere(url)
  try {
    await work(database)
  } finally {
    await database.close()
  }
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

// The specs of kit db use names with spaces and quotes.

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function ticked(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}
