import { DataSource, type EntityManager } from 'typeorm'
import { Post } from './post.js'

/** TypeORM on better-sqlite3, with the settings that the framework gives to SQLite. */
export const dataSource = new DataSource({
  type: 'better-sqlite3',
  database: (process.env['DATABASE_URL'] ?? '').replace(/^sqlite:/, ''),
  entities: [Post],
  enableWAL: true,
  prepareDatabase: (database) => {
    database.pragma('synchronous = NORMAL')
    database.pragma('foreign_keys = ON')
  },
})

let last: Promise<unknown> = Promise.resolve()

/** Does work in a transaction, one at a time: TypeORM has one SQLite connection for all. */
export function write<T>(work: (tx: EntityManager) => Promise<T>): Promise<T> {
  const next = last.then(() => dataSource.transaction(work))
  last = next.catch(() => undefined)
  return next
}
