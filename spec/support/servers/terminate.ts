import type { Socket } from 'node:net'
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

/** A connection of mysql2 or of pg, which has its stream in its own connection. */
interface DriverConnection {
  stream?: Socket
  connection?: { stream: Socket }
}

/** Makes the server end the connection of a request's transaction, and waits until the driver has noticed it. */
export async function terminateOwn(database: Database, ctx: Context): Promise<void> {
  const connection: DriverConnection = await ctx.tx.queryRunner?.connect()
  const stream = connection.stream ?? connection.connection?.stream
  const closed = new Promise((close) => stream?.once('close', close))
  await terminate(database, await connectionOf(ctx))
  await closed
  await new Promise(setImmediate)
}
