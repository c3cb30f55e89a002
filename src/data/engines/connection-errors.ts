import { DatabaseNotOpened, ServiceUnavailable } from '../../errors.js'
import { placeOf } from './database-url.js'

const UNTRUSTED =
  'its certificate is not trusted. Set sslrootcert to the file of its certificate authority, or set sslmode=no-verify.'

const UNENCRYPTED =
  'its server does not support encryption. Remove sslmode from the url, or configure the server for TLS.'

/** What is wrong when a database cannot be opened, and what to do, by the codes of the system and of the engines. */
const PROBLEMS: Record<string, string> = {
  EACCES: 'its folder or its file is not writable. Grant this process the permission, or set DATABASE_URL.',
  EROFS: 'its folder is read-only. Choose another one in ormconfig.ts, or set DATABASE_URL.',
  ENOTDIR: 'a part of its path is a file. Choose another path in ormconfig.ts, or set DATABASE_URL.',
  EEXIST: 'a part of its path is a file. Choose another path in ormconfig.ts, or set DATABASE_URL.',
  SQLITE_CANTOPEN:
    'it is a folder, or this process lacks the permission to read and write it. Check both, or set DATABASE_URL.',
  SQLITE_READONLY: 'it is read-only. Grant this process the permission to write the file and its folder.',
  SQLITE_NOTADB: "it isn't a SQLite database. Move the file away, or set DATABASE_URL to another one.",
  SQLITE_CORRUPT: 'it is damaged. Restore it from a backup.',
  SQLITE_BUSY: 'another process has locked it. Stop that process, or end its transaction.',
  SQLITE_FULL: 'the disk is full. Free some space.',
  SQLITE_IOERR: 'the disk cannot be read or written. Check the disk and the permissions of this process.',
  ECONNREFUSED:
    'nothing listens there. Start the database server, or correct the url (ormconfig.ts, DATABASE_URL).',
  ENOTFOUND: 'the host does not exist. Correct the url (ormconfig.ts, DATABASE_URL).',
  EAI_AGAIN: 'its host name cannot be resolved now. Check the network, or correct the url.',
  ETIMEDOUT: 'its host does not respond. Check the network, or correct the url.',
  ECONNRESET: 'the connection was closed. See the log of the database server.',
  '28000': 'its server has no such user. Correct the url (ormconfig.ts, DATABASE_URL).',
  '28P01': 'its server rejects the password. Correct the url (ormconfig.ts, DATABASE_URL).',
  '3D000': 'its server has no such database. Create it with `kit db create`, or correct the url.',
  '42501': 'the user has no access to this database. Correct the url, or grant the access.',
  '53300':
    'its server has no free connections. Lower `pool` in ormconfig.ts, or allow more connections on the server.',
  '57P03': 'its server is starting up or shutting down. Try again in a moment.',
  PASSWORD_MISSING:
    'its server requires a password. Add it to the url: postgres://user:password@host/name (ormconfig.ts, DATABASE_URL).',
  ENCRYPTION_MISSING: UNENCRYPTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  HANDSHAKE_SSL_ERROR: UNTRUSTED,
  HANDSHAKE_NO_SSL_SUPPORT: UNENCRYPTED,
  ER_CON_COUNT_ERROR:
    'its server has no free connections. Lower `pool` in ormconfig.ts, or allow more connections on the server.',
  ER_ACCESS_DENIED_ERROR:
    'its server rejects the user or the password. Correct the url (ormconfig.ts, DATABASE_URL).',
  // What MariaDB says of some users that it does not know.
  ER_ACCESS_DENIED_NO_PASSWORD_ERROR:
    'its server rejects the user or the password. Correct the url (ormconfig.ts, DATABASE_URL).',
  ER_DBACCESS_DENIED_ERROR: 'the user has no access to this database. Correct the url, or grant the access.',
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
