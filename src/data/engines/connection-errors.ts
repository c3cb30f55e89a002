import { DatabaseNotOpened, ServiceUnavailable } from '../../errors.js'
import { placeOf } from './database-url.js'

const UNTRUSTED =
  'its certificate is not trusted. Name the file of its authority (sslrootcert=...), or say sslmode=no-verify.'

const UNENCRYPTED =
  'its server offers no encryption. Take sslmode out of the url, or set the server up for TLS.'

/** What is wrong when a database cannot be opened, and what to do, by the codes of the system and of the engines. */
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
  SQLITE_IOERR: 'the disk cannot be read or written. Check it, and the rights of this process.',
  ECONNREFUSED:
    'nothing listens there. Start the database server, or correct the url (ormconfig.ts, DATABASE_URL).',
  ENOTFOUND: 'there is no such host. Correct the url (ormconfig.ts, DATABASE_URL).',
  EAI_AGAIN: 'the name of its host cannot be looked up now. Check the network, or correct the url.',
  ETIMEDOUT: 'its host does not answer. Check the network, or correct the url.',
  ECONNRESET: 'the connection was cut. Look at the log of the database server.',
  '28000': 'its server knows no such user. Correct the url (ormconfig.ts, DATABASE_URL).',
  '28P01': 'its server refuses the password. Correct the url (ormconfig.ts, DATABASE_URL).',
  '3D000': 'its server has no such database. Create it with `kit db create`, or correct the url.',
  '42501': 'its server refuses this database to the user. Correct the url, or grant it.',
  '53300': 'its server has no connection left. Lower `pool` in ormconfig.ts, or let the server have more.',
  '57P03': 'its server is starting up or shutting down. Try again in a moment.',
  PASSWORD_MISSING:
    'its server wants a password. Put it into the url: postgres://user:password@host/name (ormconfig.ts, DATABASE_URL).',
  ENCRYPTION_MISSING: UNENCRYPTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  HANDSHAKE_SSL_ERROR: UNTRUSTED,
  HANDSHAKE_NO_SSL_SUPPORT: UNENCRYPTED,
  ER_CON_COUNT_ERROR:
    'its server has no connection left. Lower `pool` in ormconfig.ts, or let the server have more.',
  ER_ACCESS_DENIED_ERROR:
    'its server refuses the user or the password. Correct the url (ormconfig.ts, DATABASE_URL).',
  // What MariaDB says of some users that it does not know.
  ER_ACCESS_DENIED_NO_PASSWORD_ERROR:
    'its server refuses the user or the password. Correct the url (ormconfig.ts, DATABASE_URL).',
  ER_DBACCESS_DENIED_ERROR: 'its server refuses this database to the user. Correct the url, or grant it.',
  ER_BAD_DB_ERROR: 'its server has no such database. Create it with `kit db create`, or correct the url.',
}

/** Says in one sentence why a database could not be opened. An error of another kind is returned as it is. */
export function explainOpening(error: unknown, url: string): unknown {
  const code = codeOf(error)
  // Codes of SQLite are more exact than this table: SQLITE_READONLY_DIRECTORY.
  const problem = PROBLEMS[code] ?? PROBLEMS[code.split('_').slice(0, 2).join('_')]
  return problem ? new DatabaseNotOpened(placeOf(url), problem, error) : error
}

/** What a driver says in words alone. better-sqlite3 looks for the folder itself, and `pg` for a password. */
const MESSAGES = [
  ['directory does not exist', 'SQLITE_CANTOPEN'],
  ['client password must be a string', 'PASSWORD_MISSING'],
  ['does not support SSL connections', 'ENCRYPTION_MISSING'],
] as const

/** The code of the error that the system or the engine has raised, however it is wrapped. */
export function codeOf(error: unknown): string {
  if (error instanceof ServiceUnavailable) return codeOf(error.cause)
  // Node tries every address of a host, and collects what went wrong.
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0])
  if (!(error instanceof Error)) return ''
  if ('code' in error && typeof error.code === 'string') return error.code
  return MESSAGES.find(([words]) => error.message.includes(words))?.[1] ?? ''
}
