import { statSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import type { Database } from '../../src/index.js'
import { engine } from './engine.js'

/** The connections of an application, as its database server or the file of SQLite shows them. */
export interface Connections {
  connections: number
  transactions: number
  /** The bytes of the write-ahead log of SQLite, which cannot begin again while a reader holds it. */
  log: number
}

/** Counts the connections to a database, without the one that counts them, and their open transactions. */
export async function countConnections(database: Database, url: string): Promise<Connections> {
  if (engine === 'sqlite') {
    const file = url.slice('sqlite:'.length)
    return { connections: 0, transactions: isLocked(file) ? 1 : 0, log: statSync(`${file}-wal`).size }
  }
  const [row]: Record<string, string>[] = await database.query(
    engine === 'postgres'
      ? `SELECT COUNT(*) AS connections, COUNT(*) FILTER (WHERE xact_start IS NOT NULL) AS transactions
         FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`
      : `SELECT COUNT(*) AS connections, COUNT(t.trx_id) AS transactions
         FROM information_schema.processlist p
         LEFT JOIN information_schema.innodb_trx t ON t.trx_mysql_thread_id = p.id
         WHERE p.db = DATABASE() AND p.id <> CONNECTION_ID()`,
  )
  return { connections: Number(row?.['connections']), transactions: Number(row?.['transactions']), log: 0 }
}

/** Whether somebody writes to a file of SQLite. */
function isLocked(file: string): boolean {
  const other = new Sqlite(file, { timeout: 0 })
  try {
    other.exec('BEGIN IMMEDIATE; ROLLBACK')
    return false
  } catch {
    return true
  } finally {
    other.close()
  }
}
