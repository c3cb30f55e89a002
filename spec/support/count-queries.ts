import type { Database } from '../../src/database/database.js'

/** Returns the number of queries that some work sends to a database. */
export async function countQueries(database: Database, work: () => Promise<unknown>): Promise<number> {
  const { logger } = database
  let count = 0
  database.logger = Object.assign(Object.create(logger), { logQuery: () => (count += 1) })
  try {
    await work()
    return count
  } finally {
    database.logger = logger
  }
}
