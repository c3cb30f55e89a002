import type { DataSourceOptions } from 'typeorm'
import { DatabaseNotOpened, ServiceUnavailable } from '../errors.js'

/** What is wrong when a database can not be opened, and what to do, by the codes of the system and of the engines. */
const PROBLEMS: Record<string, string> = {
  EACCES: 'its folder or its file may not be written. Give this process the right to, or set DATABASE_URL.',
  EROFS: 'its folder can only be read. Choose another one in ormconfig.ts, or set DATABASE_URL.',
  ENOTDIR: 'a part of its path is a file. Choose another path in ormconfig.ts, or set DATABASE_URL.',
  EEXIST: 'a part of its path is a file. Choose another path in ormconfig.ts, or set DATABASE_URL.',
  SQLITE_CANTOPEN:
    'it is a folder, or may not be read and written. Check it and the rights of this process, or set DATABASE_URL.',
  SQLITE_READONLY: 'it can only be read. Give this process the right to write it and its folder.',
  SQLITE_NOTADB: 'it is no SQLite database. Move the file away, or set DATABASE_URL to another one.',
  SQLITE_CORRUPT: 'it is damaged. Restore it from a backup.',
  SQLITE_BUSY: 'another process keeps it locked. End that process, or its transaction.',
  SQLITE_FULL: 'the disk is full. Make room on it.',
  SQLITE_IOERR: 'the disk can not be read or written. Check it, and the rights of this process.',
  ECONNREFUSED:
    'nothing listens there. Start the database server, or correct the url (ormconfig.ts, DATABASE_URL).',
  ENOTFOUND: 'there is no such host. Correct the url (ormconfig.ts, DATABASE_URL).',
  EAI_AGAIN: 'the name of its host can not be looked up now. Check the network, or correct the url.',
  ETIMEDOUT: 'its host does not answer. Check the network, or correct the url.',
  ECONNRESET: 'the connection was cut. Look at the log of the database server.',
  '28000': 'its server knows no such user. Correct the url (ormconfig.ts, DATABASE_URL).',
  '28P01': 'its server refuses the password. Correct the url (ormconfig.ts, DATABASE_URL).',
  '3D000': 'its server has no such database. Create it, or correct the url.',
  ER_ACCESS_DENIED_ERROR:
    'its server refuses the user or the password. Correct the url (ormconfig.ts, DATABASE_URL).',
  ER_DBACCESS_DENIED_ERROR: 'its server refuses this database to the user. Correct the url, or grant it.',
  ER_BAD_DB_ERROR: 'its server has no such database. Create it, or correct the url.',
}

/** Says in one sentence why a database could not be opened. An error of another kind is returned as it is. */
export function explainOpening(error: unknown, options: DataSourceOptions): unknown {
  const code = codeOf(error)
  // Codes of SQLite are more exact than this table: SQLITE_READONLY_DIRECTORY.
  const problem = PROBLEMS[code] ?? PROBLEMS[code.split('_').slice(0, 2).join('_')]
  return problem ? new DatabaseNotOpened(databasePlace(options), problem, error) : error
}

/** The error that the system or the engine has raised, however it is wrapped. */
function codeOf(error: unknown): string {
  if (error instanceof ServiceUnavailable) return codeOf(error.cause)
  // Node tries every address of a host, and collects what went wrong.
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0])
  if (!(error instanceof Error)) return ''
  if ('code' in error && typeof error.code === 'string') return error.code
  // better-sqlite3 looks for the folder itself.
  return error.message.includes('directory does not exist') ? 'SQLITE_CANTOPEN' : ''
}

/** The file, or the host, port and name of a database; never a password. */
export function databasePlace(options: DataSourceOptions): string {
  if (options.type === 'better-sqlite3') return options.database
  if (!('url' in options) || !options.url) return options.type
  const { protocol, hostname, port, pathname } = new URL(options.url)
  return `${protocol}//${hostname}:${port || (protocol.startsWith('postgres') ? 5432 : 3306)}${pathname}`
}
