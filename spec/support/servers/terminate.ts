import type { Database } from '../../../src/index.js'
import type { Context } from '../../../src/index.js'
import { engine } from '../engine.js'

/** The server's number for the connection of a request's transaction. */
export async function connectionOf(ctx: Context): Promise<number> {
  const sql = engine === 'postgres' ? 'SELECT pg_backend_pid() AS id' : 'SELECT CONNECTION_ID() AS id'
  const [row]: { id: number }[] = await ctx.tx.query(sql)
  return Number(row?.id)
}

/** Makes the server end a connection, as an administrator does. */
export async function terminate(database: Database, connection: number): Promise<void> {
  const sql = engine === 'postgres' ? `SELECT pg_terminate_backend(${connection})` : `KILL ${connection}`
  await database.query(sql)
}
