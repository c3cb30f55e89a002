import { openElsewhere } from '../../support/servers.js'

/** Runs a statement over its own connection. */
export async function queryOnce<T = Record<string, unknown>>(url: string, sql: string): Promise<T[]> {
  const server = await openElsewhere(url)
  try {
    return await server.query(sql)
  } finally {
    await server.close()
  }
}
