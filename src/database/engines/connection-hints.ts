/** The cause and the remedy for each reason why a database cannot be opened. */
export const HINTS = {
  unreadable:
    'it is a folder, or this process lacks the permission to read and write it. Check both, or set DATABASE_URL.',
  readonly: 'it is read-only. Grant this process the permission to write the file and its folder.',
  not_a_database: "it isn't a SQLite database. Move the file away, or set DATABASE_URL to another one.",
  corrupt: 'it is damaged. Restore it from a backup.',
  locked: 'another process has locked it. Stop that process, or end its transaction.',
  disk_full: 'the disk is full. Free some space.',
  disk_error: 'the disk cannot be read or written. Check the disk and the permissions of this process.',
  unknown_user: 'its server has no such user. Correct the url (ormconfig.ts, DATABASE_URL).',
  wrong_password: 'its server rejects the password. Correct the url (ormconfig.ts, DATABASE_URL).',
  access_denied: 'its server rejects the user or the password. Correct the url (ormconfig.ts, DATABASE_URL).',
  password_missing:
    'its server requires a password. Add it to the url: postgres://user:password@host/name (ormconfig.ts, DATABASE_URL).',
  absent: 'its server has no such database. Create it with `kit db create`, or correct the url.',
  denied: 'the user has no access to this database. Correct the url, or grant the access.',
  too_many_connections:
    'its server has no free connections. Lower `pool` in ormconfig.ts, or allow more connections on the server.',
  starting: 'its server is starting up or shutting down. Try again in a moment.',
  unencrypted:
    'its server does not support encryption. Remove sslmode from the url, or configure the server for TLS.',
  untrusted:
    'its certificate is not trusted. Set sslrootcert to the file of its certificate authority, or set sslmode=no-verify.',
}

/** A reason why a database cannot be opened, by the engine. `SYSTEM_HINTS` has those of the system. */
export type ConnectionProblem = keyof typeof HINTS

/** The cause and the remedy for each error code of the operating system and of TLS. */
export const SYSTEM_HINTS: Record<string, string> = {
  EACCES: 'its folder or its file is not writable. Grant this process the permission, or set DATABASE_URL.',
  EROFS: 'its folder is read-only. Choose another one in ormconfig.ts, or set DATABASE_URL.',
  ENOTDIR: 'a part of its path is a file. Choose another path in ormconfig.ts, or set DATABASE_URL.',
  EEXIST: 'a part of its path is a file. Choose another path in ormconfig.ts, or set DATABASE_URL.',
  ECONNREFUSED:
    'nothing listens there. Start the database server, or correct the url (ormconfig.ts, DATABASE_URL).',
  ENOTFOUND: 'the host does not exist. Correct the url (ormconfig.ts, DATABASE_URL).',
  EAI_AGAIN: 'its host name cannot be resolved now. Check the network, or correct the url.',
  ETIMEDOUT: 'its host does not respond. Check the network, or correct the url.',
  ECONNRESET: 'the connection was closed. See the log of the database server.',
  DEPTH_ZERO_SELF_SIGNED_CERT: HINTS.untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: HINTS.untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: HINTS.untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: HINTS.untrusted,
}
